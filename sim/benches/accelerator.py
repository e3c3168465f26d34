"""Runs jobs on the accelerator with the memory and the monitor in Verilog: no Python per cycle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.sim.bench.axi_lite import AxiLite
from eightfold.sim.bench.registers import Registers
from eightfold.sim.bench.support import clock_cycles, parameters, seed, start_clock_and_reset
from eightfold.sim.bench.system_job import SystemJob
from eightfold.sim.simulator.memory_image import Region, read_hex, write_hex
from eightfold.sim.simulator.system import CHANNELS, LINES


class VerilogMemory:
    """The settings of ``axi_memory.v``, and its files."""

    def __init__(self, dut: Any, base: int) -> None:
        self._dut, self._base = dut, base
        self._job = parameters()
        self._events = 0
        stall = [self._job["stall"][channel] for channel in CHANNELS]
        self._set(
            base=base,
            latency=self._job["latency"],
            stall=int.from_bytes([round(256 * part) for part in stall], "little"),
            seed=seed() & 0xFFFFFFFF,
            load=0,
            dump=0,
            dump_words=0,
        )
        self.guard(Region(0, 0), Region(0, 0), Region(0, 0))

    async def load(self, parts: Mapping[int, bytes]) -> None:
        """Set bytes by offset, whole beats."""
        write_hex(Path("load.hex"), self._job["port"], parts)
        await self._strobe("load")

    async def dump(self, size: int) -> NDArray[np.uint8]:
        """Return the first ``size`` bytes."""
        self._set(dump_words=size // self._job["port"])
        await self._strobe("dump")
        return read_hex(Path("dump.hex"), self._job["port"])

    def guard(self, arena: Region, read_error: Region, write_error: Region) -> None:
        """Say where bytes may be written, and which accesses are answered with an error."""
        for name, region in (
            ("arena", arena),
            ("read_error", read_error),
            ("write_error", write_error),
        ):
            empty = region.start == region.stop
            bounds = {"low": region.start, "high": region.stop}
            for end, offset in bounds.items():
                self._set(**{f"{name}_{end}": 0 if empty else self._base + offset})

    def check(self) -> None:
        """Raise AssertionError if the accelerator broke a rule of its port."""
        outside, violations = int(self._dut.outside.value), int(self._dut.violations.value)
        assert not violations, f"{violations} violations of AXI; the log says which"
        assert not outside, f"{outside} beats written outside of the arena"

    def events(self) -> NDArray[np.int64]:
        """Return what the monitor has written since the last call."""
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


@cocotb.test()
async def accelerator(dut: Any) -> None:
    """Execute the job."""
    job = SystemJob()
    registers = Registers(dut, AxiLite(dut))
    memory = VerilogMemory(dut, job.image.base)
    await start_clock_and_reset(dut, longest=job.longest)
    await job.execute(dut, registers, memory)
