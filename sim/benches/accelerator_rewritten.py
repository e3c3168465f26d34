"""The accelerator while software writes registers: a run has the values of its doorbell.

Parameters: ``folder`` with ``run_<i>.npz`` (words, model, arena) for each of ``runs`` runs, which
the bench gives regions of their own; ``port``; ``stall`` of the memory; ``limit`` in cycles;
``timeout``, each run's. It writes ``result_<i>.npz`` (arena).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from eightfold import isa
from eightfold.sim.bench import support
from eightfold.sim.bench.axi import AxiChecker, AxiMemory
from eightfold.sim.bench.registers import REGISTER, AxiLite, Registers
from eightfold.sim.simulator.memory_image import MemoryImage

REGIONS = ("words", "model", "arena")
"""The arrays of each run, by their names."""

ACTING = ("CONTROL", "INTERRUPT_ENABLE", "INTERRUPT_CLEAR")
"""Registers that act at once, in a run too."""

WRITES = range(5, 30)
"""How many random writes disturb a run, before those for the next one."""


class RewrittenBench:
    """The accelerator, its memory with the regions of all runs, and its registers."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.job = support.parameters()
        self.rng = support.rng()
        folder = Path(self.job["folder"])
        self.parts: dict[str, bytes] = {}
        for run in range(self.job["runs"]):
            with np.load(folder / f"run_{run}.npz", allow_pickle=False) as arrays:
                for name in REGIONS:
                    self.parts[f"{name}_{run}"] = arrays[name].tobytes()
        self.image = MemoryImage(
            support.rng(1), {name: len(part) for name, part in self.parts.items()}
        )
        for name, part in self.parts.items():
            self.image.place(name, part)
        port, stall = self.job["port"], self.job["stall"]
        contents = bytearray(self.image.contents.tobytes())
        self.memory = AxiMemory(dut, "m_axi_", contents, port, stall=stall)
        self.checker = AxiChecker(dut, "m_axi_", port)
        self.registers = Registers(dut, AxiLite(dut))

    def settings(self, run: int) -> dict[str, int]:
        """Return a run's registers."""
        words, model, arena = (self.image.regions[f"{name}_{run}"] for name in REGIONS)
        return {
            "COMMAND_ADDRESS": words.start,
            "COMMAND_LENGTH": words.stop - words.start,
            "MODEL_BASE": model.start,
            "MODEL_SIZE": model.stop - model.start,
            "ARENA_BASE": arena.start,
            "ARENA_SIZE": arena.stop - arena.start,
            "TIMEOUT": self.job["timeout"],
        }

    async def execute(self, run: int) -> None:
        """Ring the doorbell, write what comes to mind, then the next run's values; wait."""
        await self.registers.write("CONTROL", 1)
        await support.clock_cycles(self.dut, int(self.rng.integers(1, 60)))
        following = self.settings((run + 1) % self.job["runs"])
        for _ in range(int(self.rng.choice(WRITES))):
            await self.disturb(following)
        for name in self.rng.permutation(isa.AT_DOORBELL).tolist():
            await self.registers.write(name, following[name])
        status = await self.registers.fields("STATUS")
        assert status["busy"], "the run was over before the next one's values were written"
        await self.registers.interrupt(self.job["limit"])
        outcome = await self.registers.outcome()
        assert outcome.status["done"] and not outcome.status["error"], f"run {run}: {outcome}"
        await self.registers.acknowledge()
        for name, value in following.items():
            assert await self.registers.read(name) == value, f"{name} does not keep its value"

    async def disturb(self, near: Mapping[str, int]) -> None:
        """Write a random register: any number, or one that could be meant."""
        name = str(self.rng.choice([name for name in REGISTER if name not in ACTING]))
        value = int(self.rng.integers(0, 1 << int(self.rng.integers(1, 33))))
        if name in near and self.rng.integers(2):
            value = max(0, near[name] + int(self.rng.integers(-9, 10)))
        await self.registers.write(name, value)

    def check(self) -> None:
        """Write the arenas down; raise AssertionError if anything else has changed."""
        found = np.frombuffer(bytes(self.memory.contents), np.uint8)
        arenas = [f"arena_{run}" for run in range(self.job["runs"])]
        for run, name in enumerate(arenas):
            result = Path(self.job["folder"]) / f"result_{run}.npz"
            np.savez(result, arena=found[self.image.regions[name].part])
        changed = self.image.changed_outside(found, *arenas)
        assert not changed.size, f"bytes {changed[:9]} are outside of the arenas"


@cocotb.test()
async def a_run_has_the_values_of_its_doorbell(dut: Any) -> None:
    """Random writes in a run change neither it nor the bus; the last ones are the next run's."""
    bench = RewrittenBench(dut)
    bench.memory.start()
    support.each_cycle(dut, bench.checker.step)
    await support.start_clock_and_reset(dut)
    assert set(isa.AT_DOORBELL) == set(bench.settings(0))
    await bench.registers.write("INTERRUPT_ENABLE", 1)
    for name, value in bench.settings(0).items():
        await bench.registers.write(name, value)
    for run in range(bench.job["runs"]):
        await bench.execute(run)
    bench.check()
