"""Runs jobs on the accelerator with the memory and the monitor in Verilog: no Python per cycle."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.sim.bench.registers import AxiLite, Registers
from eightfold.sim.bench.support import clock_cycles, parameters, seed, start_clock_and_reset
from eightfold.sim.bench.system_job import SystemJob
from eightfold.sim.simulator.memory_image import CHANNELS, LINES, Region, read_hex, write_hex


class VerilogMemory:
    """A `eightfold.sim.bench.system_job.Memory`: the settings and files of ``axi_memory.v``."""

    def __init__(self, dut: Any, base: int) -> None:
        self._dut, self._base = dut, base
        self._job = parameters()
        self._events = 0
        self._set(base=base, load=0, dump=0, dump_words=0)
        self.behave(self._job["stall"], self._job["timing"], seed())
        nowhere = Region(0, 0)
        self.guard(dict.fromkeys(("commands", "model", "arena"), nowhere), nowhere, nowhere)

    def behave(self, stall: Mapping[str, float], timing: Mapping[str, int], seed: int) -> None:
        parts = [round(256 * stall[channel]) for channel in CHANNELS]
        stalls = int.from_bytes(parts, "little")
        self._set(**timing, stall=stalls, seed=seed & 0xFFFFFFFF)

    async def load(self, parts: Mapping[int, bytes]) -> None:
        write_hex(Path("load.hex"), self._job["port"], parts)
        await self._strobe("load")

    async def dump(self, size: int) -> NDArray[np.uint8]:
        self._set(dump_words=size // self._job["port"])
        await self._strobe("dump")
        return read_hex(Path("dump.hex"), self._job["port"])

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
        rows = [[LINES.get(first, first), *others] for first, *others in words]
        return np.array(rows, dtype=np.int64).reshape(-1, 2 + len(isa.COUNTERS))

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            getattr(self._dut, name).value = value

    async def _strobe(self, name: str) -> None:
        self._set(**{name: 1})
        await clock_cycles(self._dut, 2)
        self._set(**{name: 0})
        await clock_cycles(self._dut, 2)


def _packed(words: Iterable[int]) -> int:
    return sum(word << 32 * place for place, word in enumerate(words))


@cocotb.test()
async def accelerator(dut: Any) -> None:
    """Execute the job."""
    job = SystemJob()
    registers = Registers(dut, AxiLite(dut))
    memory = VerilogMemory(dut, job.image.base)
    await start_clock_and_reset(dut, longest=job.longest)
    await job.execute(dut, registers, memory)
