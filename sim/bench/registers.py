"""The accelerator's registers as software uses them: set up, start, wait, judge, reset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import First, RisingEdge, Timer

from eightfold import isa
from eightfold.sim.bench.axi_lite import RegisterBus
from eightfold.sim.bench.stream import CLOCK_NS

REGISTER = {register.name: register for register in isa.REGISTERS}

RESET_PATIENCE = 2000
"""Register reads in which a soft reset must be finished."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    ``counters``: value of each counter in `eightfold.isa.COUNTERS`, by name. ``status``, ``error``:
    fields of the registers STATUS and ERROR, by name, as integers.
    """

    counters: dict[str, int]
    status: dict[str, int]
    error: dict[str, int]


class Registers:
    """The registers behind a bus, by name.

    ``dut``: top module, with ``clk`` and ``interrupt``. ``bus``: a master on the register port.
    """

    def __init__(self, dut: Any, bus: RegisterBus) -> None:
        self._dut, self._bus = dut, bus

    async def write(self, name: str, value: int) -> None:
        await self._bus.write(REGISTER[name].offset, value)

    async def read(self, name: str) -> int:
        """Return a register's value."""
        return await self._bus.read(REGISTER[name].offset)

    async def fields(self, name: str) -> dict[str, int]:
        """Return a register's fields, by name."""
        word = await self.read(name)
        return {
            str(field): word >> place.offset & ((1 << place.width) - 1)
            for field, place in REGISTER[name].layout
        }

    async def start(self, values: Mapping[str, int]) -> None:
        """Write registers, enable the interrupt and ring the doorbell."""
        for name, value in values.items():
            await self.write(name, value)
            kept = await self.read(name)
            if name == "TIMEOUT" and (await self.fields("CONFIGURATION_1"))["no_watchdog"]:
                value = 0
            assert kept == value, f"{name} does not keep {value:#x}"
        await self.write("INTERRUPT_ENABLE", 1)
        assert not int(self._dut.interrupt.value), "interrupt before the doorbell"
        await self.write("CONTROL", 1)

    async def interrupt(self, limit: int) -> None:
        """Wait for the interrupt; raise AssertionError if it does not come in ``limit`` cycles."""
        if not await self.interrupted(limit):
            outcome = await self.outcome()
            raise AssertionError(f"no interrupt in {limit} cycles: {outcome}")

    async def interrupted(self, limit: int) -> bool:
        """Wait for the interrupt; return whether it comes in ``limit`` cycles."""
        if int(self._dut.interrupt.value):
            return True
        timeout = Timer(limit * CLOCK_NS, unit="ns")
        ended = await First(RisingEdge(self._dut.interrupt), timeout)
        await RisingEdge(self._dut.clk)
        return ended is not timeout

    async def outcome(self) -> Outcome:
        """Return status, error and counters."""
        return Outcome(
            status=await self.fields("STATUS"),
            error=await self.fields("ERROR"),
            counters={name: await self.read(name) for name, _ in isa.COUNTERS},
        )

    async def acknowledge(self) -> None:
        """Clear the interrupt; raise AssertionError if it stays."""
        await self.write("INTERRUPT_CLEAR", 1)
        assert not (await self.fields("STATUS"))["interrupt"], "interrupt pending after its clear"
        assert not int(self._dut.interrupt.value), "interrupt high after its clear"

    async def soft_reset(self) -> None:
        """Reset; raise AssertionError if that does not end, or leaves a status or an error."""
        await self.write("CONTROL", 2)
        status = await self.fields("STATUS")
        for _ in range(RESET_PATIENCE):
            if not status["busy"]:
                break
            status = await self.fields("STATUS")
        assert not any(status.values()), f"after a soft reset: {status}"
        error = await self.fields("ERROR")
        assert not any(error.values()), f"after a soft reset: {error}"
        assert not int(self._dut.interrupt.value), "interrupt high after a soft reset"
