# amaranth: UnusedElaboratable=no
"""Registers: AXI4-Lite in any order with any stalls, and every mutant is caught."""

from typing import Any

import pytest
from amaranth.hdl import Value

from eightfold.hw.control.registers import Registers
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")

CONFIG: dict[str, Any] = {"lanes": 5, "width": 6, "port": 8, "vector_lanes": 4, "tables": 4}


def run_registers(build, simulator, seed, accesses=200):
    return run_bench(
        lambda: build(AcceleratorConfig(**CONFIG)),
        "eightfold.sim.benches.registers",
        simulator,
        parameters={"config": CONFIG, "accesses": accesses},
        seed=seed,
    )


@pytest.mark.parametrize("seed", [0])
def test_hold_what_is_written_and_show_what_is_reported(simulator, seed):
    run_registers(Registers, simulator, seed)


class IgnoresStrobes(Registers):
    """Writes whole words."""

    def _store(self, m, register, word, mask):
        super()._store(m, register, word, ~(mask & 0))


class StoresActs(Registers):
    """Keeps the bits of the write-one registers."""

    def _value(self, register):
        if register.name in self.acts.shape().members:
            return Value.cast(self.acts[register.name]) | register.offset
        return super()._value(register)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("mutant", [IgnoresStrobes, StoresActs])
def test_bench_catches(mutant):
    with pytest.raises(BenchFailed, match="assert"):
        run_registers(mutant, "icarus", 1)
