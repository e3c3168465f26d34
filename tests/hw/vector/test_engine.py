# amaranth: UnusedElaboratable=no
"""The vector engine leaves the scratchpad that the model leaves."""

from functools import partial

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from eightfold.hw.array.mac_array import MacArray
from eightfold.hw.blocks.component import Component
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.vector.engine import VectorEngine
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.row_cases import row_case, row_cases
from tests.support.hardware.unit_bench import run_unit

NARROW = {"lanes": 4, "width": 4, "port": 4, "scratchpad": 4096}


class VectorHarness(Component):
    """A vector engine whose sums the lanes of a MAC array without vectors requantize.

    Its ports are those of the engine, without ``requantizer``.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config, self.unit = config, VectorEngine(config)
        ports = dict(self.unit.signature.members)
        del ports["requantizer"]
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = self.unit
        m.submodules.array = array = MacArray(self.config)
        connect(m, engine.requantizer, array.vector)
        for name, member in self.signature.members.items():
            if member.is_signature:
                connect(m, flipped(getattr(self, name)), getattr(engine, name))
            else:
                m.d.comb += getattr(self, name).eq(getattr(engine, name))
        return m


def run_engine(
    simulator,
    config,
    seed,
    commands,
    latency=Scratchpad.READ_LATENCY,
    bench="vector_engine",
    rows=(),
    testcase=None,
):
    more = {"commands": commands, "latency": latency, "rows": rows or row_cases(seed)}
    make = partial(VectorHarness, AcceleratorConfig(**config))
    return run_unit(make, bench, simulator, seed, testcase, config=config, **more)


# The digits run on configurations with all of these sizes in `tests/sim/system`.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "config", "latency", "seed", "commands"),
    [
        ("verilator", {"vector_lanes": 2}, Scratchpad.READ_LATENCY, 6, 12),
        ("verilator", {"vector_lanes": 2}, Scratchpad.READ_LATENCY, 0, 40),
        ("icarus", {"vector_lanes": 2}, Scratchpad.READ_LATENCY, 5, 10),
        ("verilator", {"vector_lanes": 1}, 2, 2, 12),
        ("verilator", {"vector_lanes": 4, "tables": 4}, Scratchpad.READ_LATENCY, 1, 40),
        ("verilator", {"vector_lanes": 2, "lanes": 8}, 12, 3, 40),
        (
            "verilator",
            {"vector_lanes": 8, "lanes": 16, "scratchpad": 8192},
            Scratchpad.READ_LATENCY,
            4,
            40,
        ),
    ],
)
@pytest.mark.usual
def test_matches_the_model_under_stalls(simulator, config, latency, seed, commands):
    run_engine(simulator, NARROW | config, seed, commands, latency)


@pytest.mark.parametrize(
    ("lanes", "config"),
    [
        # The estimate, which says the same, agrees with the RTL in tests/sim/system.
        pytest.param(8, {}, marks=pytest.mark.long),
        # A chunk is one beat: results are longest on their way, counted in chunks.
        pytest.param(4, {"lanes": 4, "width": 4, "port": 4}, marks=pytest.mark.slow),
    ],
)
def test_takes_the_stated_cycles(lanes, config):
    rows = [row_case("SOFTMAX", 0.1)]
    config = config | {"vector_lanes": lanes}
    cycles = run_engine("verilator", config, 0, 0, bench="vector_cycles", rows=rows).report
    vector = AcceleratorConfig(**config).vector
    most = {
        "add_16384": 16384 // min(lanes, vector // 2) + 50,  # two words are read for one
        "table_4096": 4096 // lanes + 50,
        "max_pool_16x16x32": 8 * 8 * 4 * 32 // lanes + 50,
        "sum_8x512": 8 * 512 // lanes + 100,
        "largest_8x512": 8 * 512 // lanes + 100,
        "softmax_12": 150,
        "softmax_8x12": 150 + 7 * 100,
    }
    assert {name: cycles[name] for name in most if cycles[name] > most[name]} == {}
