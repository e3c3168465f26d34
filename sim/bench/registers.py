"""The accelerator's registers as software uses them: set up, start, wait, judge, reset.

Behind an AXI4-Lite master: one access at a time, no Python in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cocotb.triggers import First, RisingEdge, Timer

from eightfold import isa
from eightfold.sim.bench.support import CLOCK_NS

PATIENCE = 1000
"""Cycles after which an access that is not answered fails."""

INPUTS = {
    "aw": ("addr", "prot", "valid"),
    "w": ("data", "strb", "valid"),
    "b": ("ready",),
    "ar": ("addr", "prot", "valid"),
    "r": ("ready",),
}
"""What a master drives, by channel."""


class RegisterBus(Protocol):
    """What writes and reads 32-bit registers by their byte offset."""

    async def write(self, offset: int, value: int) -> None:
        """Write a register, and wait for the answer."""
        ...

    async def read(self, offset: int) -> int:
        """Return a register's value."""
        ...


class AxiLite:
    """Master of the slave port ``s_axi_*`` of the top module.

    As soon as an address or data is taken, the opposite of its bits takes its place: what a slave
    has not kept it cannot find again. ``dut``: the top module; its clock is ``clk``. All inputs of
    the port are driven to 0.
    """

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._edge = RisingEdge(dut.clk)
        for channel, names in INPUTS.items():
            for name in names:
                self._signal(channel + name).value = 0

    async def write(self, offset: int, value: int) -> None:
        """Write a register, and wait for the answer.

        Raises AssertionError if there is no answer, or it is an error.
        """
        self._signal("awaddr").value = offset
        self._signal("wdata").value = value
        self._signal("wstrb").value = 0b1111
        await self._exchange(("aw", "w"), "b", f"write to {offset:#x}")

    async def read(self, offset: int) -> int:
        """Return a register's value; raises as `write`."""
        self._signal("araddr").value = offset
        return await self._exchange(("ar",), "r", f"read of {offset:#x}")

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, f"s_axi_{name}")

    def _withdraw(self, channel: str) -> None:
        for name in INPUTS[channel]:
            signal = self._signal(channel + name)
            signal.value = 0 if name == "valid" else ~int(signal.value) % (1 << len(signal))

    async def _exchange(self, requests: tuple[str, ...], answer: str, what: str) -> int:
        """Offer the requests until each is taken, and return the answer's data, if any."""
        waiting = set(requests)
        for channel in requests:
            self._signal(f"{channel}valid").value = 1
        self._signal(f"{answer}ready").value = 1
        for _ in range(PATIENCE):
            await self._edge
            answered = self._signal(f"{answer}valid").value == 1
            for channel in sorted(waiting):
                if self._signal(f"{channel}ready").value == 1:
                    self._withdraw(channel)
                    waiting.remove(channel)
            if answered:
                assert not waiting, f"{what}: answered before it was taken"
                break
        else:
            raise AssertionError(f"{what}: no answer in {PATIENCE} cycles")
        self._signal(f"{answer}ready").value = 0
        response = int(self._signal(f"{answer}resp").value)
        assert response == 0, f"{what}: error response {response}"
        return int(self._signal("rdata").value) if answer == "r" else 0


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
