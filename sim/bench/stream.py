"""Drivers and monitors for ready/valid streams, their words, and a watchdog over all of them.

A stream ``name`` has the ports ``name__valid``, ``name__ready`` and ``name__payload``. Both ends
work at the rising edge: right after ``RisingEdge`` a read gives the value from before the edge, in
Verilator as in Icarus, which is what the hardware samples; a write takes effect after the edge.
Each end knows what it drives itself, so a cycle costs it one read, or two where a word arrives.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data
from cocotb.triggers import RisingEdge, Timer
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor
from numpy.typing import ArrayLike

from eightfold.isa import shapes
from eightfold.sim.bench.support import CLOCK_NS, stall_rng

SIGNALS = ["valid", "ready", "payload"]


class StreamRuleViolation(AssertionError):  # noqa: N818 - reads as what happened
    """A stream broke one of the rules that hold for every ready/valid stream."""


class StreamSource(BusDriver):
    """Sends lists of words into a stream of the design.

    Queue a list with ``source.append(words)``, or wait until it is sent with ``await
    source.send(words)``. Nothing is sent while ``rst`` is high. ``idle``: probability, 0 to below
    1, of pausing for a cycle before a word, drawn with the run's seed and the stream's name.

    ``transfers``: words that the design has accepted.
    """

    _signals = SIGNALS
    bus: Any
    clock: Any

    def __init__(self, dut: Any, name: str, *, idle: float = 0.0) -> None:
        super().__init__(dut, name, dut.clk, bus_separator="__", case_insensitive=False)
        self.transfers = 0
        self.idle = idle
        self._rng = stall_rng(name)
        self._reset = dut.rst
        self._valid = False
        self.bus.valid.value = 0
        self.bus.payload.value = 0

    async def _driver_send(
        self, transaction: Sequence[int], sync: bool = True, **kwargs: Any
    ) -> None:
        edge = RisingEdge(self.clock)
        if sync and not self._valid:
            await edge
            while str(self._reset.value) != "0":
                await edge
        ready = self.bus.ready
        payload = self.bus.payload
        idle = self.idle
        for word in transaction:
            while idle and self._rng.random() < idle:
                self._set_valid(False)
                await edge
            payload.value = word
            self._set_valid(True)
            await edge
            while not ready.value:
                await edge
            self.transfers += 1
        if not self._sendQ:
            self._set_valid(False)

    def _set_valid(self, valid: bool) -> None:
        if valid != self._valid:
            self._valid = valid
            self.bus.valid.value = int(valid)


class StreamSink(BusMonitor):
    """Takes words out of a stream of the design, and checks the rules of streams.

    A word that is offered but not taken must stay: ``valid`` never drops before ``ready``, and the
    payload does not move. Words, the payload's plain bits, go to the callbacks (see
    `eightfold.sim.bench.scoreboard`). ``stall``: probability, 0 to below 1, of not being ready in a
    cycle.

    ``transfers``: words taken.
    """

    _signals = SIGNALS
    bus: Any
    clock: Any

    def __init__(self, dut: Any, name: str, *, stall: float = 0.0) -> None:
        super().__init__(dut, name, dut.clk, bus_separator="__", case_insensitive=False)
        self.transfers = 0
        self.stall = stall
        self._rng = stall_rng(name)
        self.bus.ready.value = 0

    async def _monitor_recv(self) -> None:
        edge = RisingEdge(self.clock)
        reset = self.entity.rst
        valid, payload, ready = self.bus.valid, self.bus.payload, self.bus.ready
        await edge
        while str(reset.value) != "0":
            await edge
        is_ready = False
        held = None
        while True:
            take = not self.stall or self._rng.random() >= self.stall
            if take != is_ready:
                is_ready = take
                ready.value = int(take)
            await edge
            if valid.value:
                word = int(payload.value)
                if held is not None and word != held:
                    raise StreamRuleViolation(
                        f"{self.name}: payload moved while stalled, after word "
                        f"{self.transfers}: {held:#x} became {word:#x}"
                    )
                held = None if is_ready else word
                if is_ready:
                    self.transfers += 1
                    self._recv(word)
            elif held is not None:
                raise StreamRuleViolation(
                    f"{self.name}: valid dropped before ready, after word {self.transfers}"
                )


async def watchdog(streams: Sequence[StreamSource | StreamSink], cycles: int = 2000) -> None:
    """Fail the test when no stream has moved for ``cycles`` clock cycles, naming each one's state.

    Run it with ``cocotb.start_soon(watchdog([...]))``; it costs nothing per cycle. Raises
    TimeoutError within twice that time after the last transfer.
    """
    before = None
    while True:
        now = [stream.transfers for stream in streams]
        if now == before:
            states = "; ".join(map(_state, streams))
            raise TimeoutError(f"no transfer on any stream for {cycles} cycles: {states}")
        before = now
        await Timer(cycles * CLOCK_NS, unit="ns")


def _state(stream: StreamSource | StreamSink) -> str:
    """Return a stream's signals in words."""
    valid = stream.bus.valid.value
    ready = stream.bus.ready.value
    return f"{stream.name} valid={valid} ready={ready} after {stream.transfers} words"


def pack(layout: data.Layout, fields: Mapping[str, ArrayLike]) -> list[int]:
    """Return the words that hold ``fields``, as `eightfold.isa.shapes.pack` does.

    Raises ValueError as that does: of what is missing, unknown, or does not fit.
    """
    return shapes.pack(_plain(layout), fields)


def _plain(layout: data.Layout) -> shapes.Layout:
    parts = ((str(name), shapes.Field(_shape(part), part.offset)) for name, part in layout)
    return shapes.Layout(Shape.cast(layout).width, tuple(parts))


def _shape(part: data.Field) -> shapes.FieldShape:
    if isinstance(part.shape, data.Layout) and not isinstance(part.shape, data.ArrayLayout):
        return _plain(part.shape)
    number = Shape.cast(part.shape)
    return shapes.Shape(number.width, number.signed)
