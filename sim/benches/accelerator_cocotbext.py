"""Runs jobs on the accelerator between the bus models of cocotbext-axi, which know nothing of ours.

They check the rules of AXI that they depend on, such as 4 KiB boundaries and ``wlast``; a memory
of their own answers in order, with random pauses on all channels of both ports. Our own checker
watches beside them what they do not look at, such as the attributes of addresses.
"""

from collections.abc import Mapping
from typing import Any

import cocotb
import numpy as np
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp
from numpy.typing import NDArray

from eightfold.sim.bench import support
from eightfold.sim.bench.axi import AxiChecker
from eightfold.sim.bench.registers import Registers
from eightfold.sim.benches.accelerator import Memory, SystemJob
from eightfold.sim.simulator.memory_image import SIZE


class PythonMemory(Memory):
    """cocotbext-axi's RAM."""

    def __init__(self, dut: Any) -> None:
        self._ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=SIZE)
        support.pause_channels(self._ram, support.parameters()["stall"], "memory/")

    async def load(self, parts: Mapping[int, bytes]) -> None:
        for offset, contents in parts.items():
            self._ram.write(offset, contents)

    async def dump(self, size: int) -> NDArray[np.uint8]:
        contents: Any = self._ram.read(0, size)
        return np.frombuffer(bytes(contents), np.uint8)


class LiteBus:
    """cocotbext-axi's AXI4-Lite master as a `eightfold.sim.bench.registers.RegisterBus`."""

    def __init__(self, dut: Any) -> None:
        self._master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        support.pause_channels(self._master, support.parameters()["stall"], "registers/")

    async def write(self, offset: int, value: int) -> None:
        answer: Any = await self._master.write(offset, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"write to {offset:#x}: {answer.resp}"

    async def read(self, offset: int) -> int:
        answer: Any = await self._master.read(offset, 4)
        assert answer.resp == AxiResp.OKAY, f"read of {offset:#x}: {answer.resp}"
        return int.from_bytes(answer.data, "little")


@cocotb.test()
async def accelerator(dut: Any) -> None:
    """Execute the job."""
    job = SystemJob()
    registers = Registers(dut, LiteBus(dut))
    memory = PythonMemory(dut)
    checker = AxiChecker(dut, "m_axi_", support.parameters()["port"])
    await support.start_clock_and_reset(dut, longest=job.longest)
    support.each_cycle(dut, checker.step)
    await job.execute(dut, registers, memory)
