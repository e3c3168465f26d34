"""Runs jobs on the accelerator, with the memory and the monitor in Verilog: no Python per cycle.

`eightfold.sim.simulator.system` writes a job. Parameters: ``folder`` with ``program.npz`` (words,
model) and ``run_<i>.npz`` (arena contents by offset, and words and model if they differ);
``arena_bytes``; ``port``; ``limit`` in cycles; ``timeout``; ``timing``, inputs of the memory by
name; ``stall`` by channel; ``runs``, what `eightfold.sim.simulator.system.Run` says besides its
arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, Timer
from numpy.typing import NDArray

from eightfold import isa
from eightfold.sim.bench import support
from eightfold.sim.bench.registers import AxiLite, Registers
from eightfold.sim.simulator import memory_image
from eightfold.sim.simulator.memory_image import MemoryImage, Region

SETTLE = 8
"""Cycles after a run in which the monitor ends its report."""

BETWEEN = 1_000_000
"""Cycles between two runs, at most: registers are written and read, and a soft reset ends."""


class Memory(ABC):
    """The memory at the accelerator's port; offsets count from its begin.

    What is not abstract here is that of a memory whose runs are alike, and which watches nothing.
    """

    @abstractmethod
    async def load(self, parts: Mapping[int, bytes]) -> None:
        """Set bytes by offset, whole beats."""

    @abstractmethod
    async def dump(self, size: int) -> NDArray[np.uint8]:
        """Return the first ``size`` bytes."""

    def behave(self, stall: Mapping[str, float], timing: Mapping[str, int], seed: int) -> None:
        """Say how the next run's channels pause, from its `load` on, and how long memory takes."""
        assert stall == support.parameters()["stall"], "a run has no stalls of its own here"

    def guard(self, regions: Mapping[str, Region], read_error: Region, write_error: Region) -> None:
        """Say what may be read (commands, model, arena), and written (the arena), and which
        accesses are answered with an error."""
        assert read_error.start == read_error.stop and write_error.start == write_error.stop

    def watched(self) -> dict[str, int]:
        """Return ``reads_outside`` and ``bus_errors`` since the begin, and ``unanswered``, as
        `eightfold.sim.simulator.system.RunResult` has them of a run."""
        return dict.fromkeys(("reads_outside", "unanswered", "bus_errors"), 0)

    def check(self) -> None:  # noqa: B027 - there may be nothing to check
        """Raise AssertionError if the accelerator broke a rule of its port."""

    def events(self) -> NDArray[np.int64]:
        """Return what the monitor saw since the last call, if there is one: see
        `eightfold.sim.simulator.system`."""
        return np.zeros((0, 2 + len(isa.COUNTERS)), np.int64)


class SystemJob:
    """The job, and the memory's contents as they should be.

    ``image``: where commands, model and arena are, and all contents but the arena's after a run.
    """

    def __init__(self) -> None:
        self.job = support.parameters()
        self.folder = Path(self.job["folder"])
        with np.load(self.folder / "program.npz", allow_pickle=False) as program:
            words = program["words"]
            model = program["model"].tobytes()
        self._arrays = [self._load(index) for index in range(len(self.job["runs"]))]
        self._streams = [arrays.pop("words", words) for arrays in self._arrays]
        self._models = [
            arrays.pop("model").tobytes() if "model" in arrays else model for arrays in self._arrays
        ]
        sizes = {
            "commands": 4 * max(len(stream) for stream in self._streams),
            "model": max(len(contents) for contents in self._models),
            "arena": self.job["arena_bytes"],
        }
        self.image = MemoryImage(support.rng(1), sizes)
        self._left = np.zeros(0, np.uint8)  # the arena after the run before

    @property
    def longest(self) -> int:
        """Cycles that all runs together take at most, or one of them fails."""
        runs = self.job["runs"]
        return sum(
            self.job["limit"]
            + (run["reset_after"] or 0)
            + (run["patience"] or 0)
            + sum(wait for wait, _, _ in run["writes"])
            + BETWEEN
            for run in runs
        )

    async def execute(self, dut: Any, registers: Registers, memory: Memory) -> None:
        """Execute all runs; write ``result_<i>.npz`` with the arena, and report the outcomes."""
        outcomes = []
        for index, run in enumerate(self.job["runs"]):
            support.progress(index, len(self.job["runs"]), f"run {index}")
            outcomes.append(await self._run(dut, registers, memory, index, run))
        support.report({"runs": outcomes})

    async def _run(
        self, dut: Any, registers: Registers, memory: Memory, index: int, run: dict[str, Any]
    ) -> dict[str, Any]:
        values = self._prepare(index, run)
        memory.guard(
            self._regions(values), self._error(run["read_error"]), self._error(run["write_error"])
        )
        seed = self.job["seed"] + index if run["seed"] is None else run["seed"]
        memory.behave(run["stall"] or self.job["stall"], run["timing"] or self.job["timing"], seed)
        await memory.load(self._parts(index))
        before = memory.watched()
        await registers.start(values)
        for wait, name, value in run["writes"]:
            if wait:
                await support.clock_cycles(dut, wait)
            await registers.write(name, value)
        ended = await self._wait(dut, registers, run)
        watched = memory.watched()
        outcome = await registers.outcome()
        if ended:
            await registers.acknowledge()
        if outcome.status["error"] or not ended:
            await registers.soft_reset()
            watched = memory.watched()
        await support.clock_cycles(dut, SETTLE)
        found = await memory.dump(len(self.image.contents))
        self._left = found[self.image.regions["arena"].part]
        self._check_elsewhere(index, found)
        memory.check()
        events = memory.events()
        if outcome.status["done"] and len(events):
            totals = dict(zip(outcome.counters, events[-1, 2:].tolist(), strict=True))
            told = totals
            if (await registers.fields("CONFIGURATION_1"))["no_counters"]:
                told = dict.fromkeys(totals, 0) | {"CYCLES": totals["CYCLES"]}
            assert told == outcome.counters, f"traced {totals}, counted {outcome.counters}"
            outcome = replace(outcome, counters=totals)
        result = self.folder / f"result_{index}.npz"
        np.savez(result, arena=self._left, events=events)
        return {
            **asdict(outcome),
            "ended": ended,
            "unanswered": watched["unanswered"],
            **{name: watched[name] - before[name] for name in ("reads_outside", "bus_errors")},
        }

    async def _wait(self, dut: Any, registers: Registers, run: dict[str, Any]) -> bool:
        """Wait until a run has ended, or is to be reset; return whether it has ended."""
        if run["reset_after"] is not None:
            if run["reset_after"]:
                await Timer(run["reset_after"] * support.CLOCK_NS, unit="ns")
            await RisingEdge(dut.clk)
            return False
        if run["patience"] is not None:
            return await registers.interrupted(run["patience"])
        await registers.interrupt(self.job["limit"])
        return True

    def _regions(self, values: Mapping[str, int]) -> dict[str, Region]:
        """Return the regions that a run's registers say, from the memory's begin."""
        registers = {
            "commands": ("COMMAND_ADDRESS", "COMMAND_LENGTH"),
            "model": ("MODEL_BASE", "MODEL_SIZE"),
            "arena": ("ARENA_BASE", "ARENA_SIZE"),
        }
        bounds = {name: [values[each] for each in pair] for name, pair in registers.items()}
        base = self.image.base
        return {name: Region(at - base, at - base + size) for name, (at, size) in bounds.items()}

    def _load(self, index: int) -> dict[str, NDArray]:
        with np.load(self.folder / f"run_{index}.npz", allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def _prepare(self, index: int, run: dict[str, Any]) -> dict[str, int]:
        """Put a run's contents into the image; return the registers' values."""
        words = self._streams[index].astype("<u4")
        arena = support.rng(2 + index).integers(0, 256, self.job["arena_bytes"], dtype=np.uint8)
        self.image.place("commands", words.tobytes())
        self.image.place("model", self._models[index])
        for start, stop in run["kept"]:
            arena[start:stop] = self._left[start:stop]
        self.image.place("arena", arena.tobytes())
        for offset, contents in self._arrays[index].items():
            self.image.place("arena", contents.tobytes(), int(offset))
        return {
            "COMMAND_ADDRESS": self.image.address("commands"),
            "COMMAND_LENGTH": 4 * len(words),
            "MODEL_BASE": self.image.address("model"),
            "MODEL_SIZE": len(self._models[index]),
            "ARENA_BASE": self.image.address("arena"),
            "ARENA_SIZE": self.job["arena_bytes"],
            "TIMEOUT": self.job["timeout"],
        } | run["registers"]

    def _error(self, error: list[Any] | None) -> Region:
        """Return where errors are answered, from a region's name and the offsets in it."""
        if error is None:
            return Region(0, 0)
        name, start, stop = error
        first = self.image.regions[name].start
        return Region(first + start, first + stop)

    def _parts(self, index: int) -> dict[int, bytes]:
        """Return what to load: all, or each region that a run changes with the beats around."""
        if index == 0:
            return {0: self.image.contents.tobytes()}
        names = ["commands", "arena"]
        if self._models[index] != self._models[index - 1]:
            names.append("model")
        port = self.job["port"]
        parts = {}
        for name in names:
            region = self.image.regions[name]
            stop = -(-region.stop // port) * port
            parts[region.start] = self.image.contents[region.start : stop].tobytes()
        return {start: contents for start, contents in parts.items() if contents}

    def _check_elsewhere(self, index: int, found: NDArray[np.uint8]) -> None:
        changed = self.image.changed_outside(found, "arena")
        if changed.size:
            first = int(changed[0])
            places = {name: (r.start, r.stop) for name, r in self.image.regions.items()}
            raise AssertionError(
                f"run {index}: {changed.size} bytes changed outside of the arena, the first at "
                f"{first}: {found[first]}, was {self.image.contents[first]}; regions {places}"
            )


class VerilogMemory(Memory):
    """The settings and files of ``axi_memory.v``."""

    def __init__(self, dut: Any, base: int) -> None:
        self._dut, self._base = dut, base
        self._job = support.parameters()
        self._events = 0
        self._set(base=base, load=0, dump=0, dump_words=0)
        self.behave(self._job["stall"], self._job["timing"], support.seed())
        nowhere = Region(0, 0)
        self.guard(dict.fromkeys(("commands", "model", "arena"), nowhere), nowhere, nowhere)

    def behave(self, stall: Mapping[str, float], timing: Mapping[str, int], seed: int) -> None:
        parts = [round(256 * stall[channel]) for channel in memory_image.CHANNELS]
        stalls = int.from_bytes(parts, "little")
        self._set(**timing, stall=stalls, seed=seed & 0xFFFFFFFF)

    async def load(self, parts: Mapping[int, bytes]) -> None:
        memory_image.write_hex(Path("load.hex"), self._job["port"], parts)
        await self._strobe("load")

    async def dump(self, size: int) -> NDArray[np.uint8]:
        self._set(dump_words=size // self._job["port"])
        await self._strobe("dump")
        return memory_image.read_hex(Path("dump.hex"), self._job["port"])

    def guard(self, regions: Mapping[str, Region], read_error: Region, write_error: Region) -> None:
        for name, region in (
            ("arena", regions["arena"]),
            ("read_error", read_error),
            ("write_error", write_error),
        ):
            low, high = self._bounds(region)
            self._set(**{f"{name}_low": low, f"{name}_high": high})
        port = self._job["port"]
        beats = (Region(r.start, -(-r.stop // port) * port) for r in regions.values())
        lows, highs = zip(*map(self._bounds, beats), strict=True)
        self._set(region_low=_packed(lows), region_high=_packed(highs))

    def _bounds(self, region: Region) -> tuple[int, int]:
        """Return a region's addresses, its end at most the last of all; 0 and 0 if it is empty."""
        if region.start == region.stop:
            return 0, 0
        return self._base + region.start, min(self._base + region.stop, 0xFFFFFFFF)

    def watched(self) -> dict[str, int]:
        """Return what axi_watch.v has counted."""
        names = {
            "reads_outside": "reads_outside",
            "unanswered": "unanswered",
            "bus_errors": "errors",
        }
        return {name: int(getattr(self._dut, port).value) for name, port in names.items()}

    def check(self) -> None:
        outside, violations = int(self._dut.outside.value), int(self._dut.violations.value)
        assert not violations, f"{violations} violations of AXI; the log says which"
        assert not outside, f"{outside} beats written outside of the arena"

    def events(self) -> NDArray[np.int64]:
        with Path("events.txt").open(encoding="ascii") as file:
            file.seek(self._events)
            text = file.read()
            self._events = file.tell()
        words = [line.split() for line in text.splitlines()]
        rows = [[memory_image.LINES.get(first, first), *others] for first, *others in words]
        return np.array(rows, dtype=np.int64).reshape(-1, 2 + len(isa.COUNTERS))

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            getattr(self._dut, name).value = value

    async def _strobe(self, name: str) -> None:
        self._set(**{name: 1})
        await support.clock_cycles(self._dut, 2)
        self._set(**{name: 0})
        await support.clock_cycles(self._dut, 2)


def _packed(words: Iterable[int]) -> int:
    return sum(word << 32 * place for place, word in enumerate(words))


@cocotb.test()
async def accelerator(dut: Any) -> None:
    """Execute the job."""
    job = SystemJob()
    registers = Registers(dut, AxiLite(dut))
    memory = VerilogMemory(dut, job.image.base)
    await support.start_clock_and_reset(dut, longest=job.longest)
    await job.execute(dut, registers, memory)
