"""A small AXI4-Lite master: one access at a time, no Python in between."""

from typing import Any, Protocol

from cocotb.triggers import RisingEdge

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
