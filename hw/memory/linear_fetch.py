"""A run of memory as a stream, fetched ahead."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.sums import advance, retreat
from eightfold.hw.ports import BURST, memory_read
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import AcceleratorConfig

YIELDING = 2 * BURST
"""Beats beyond which a fetch asks for nothing while it yields; with one burst more they cover a
latency of 24 cycles."""


def run_layout() -> data.StructLayout:
    """Return a run of memory: port-aligned byte address, beats."""
    return data.StructLayout({"address": unsigned(ADDRESS_BITS), "beats": unsigned(32)})


class LinearFetch(Component):
    """Read runs of beats, one after the other, as far ahead as a queue of ``depth`` beats allows.

    A request is for as many beats as there are up to the next multiple of
    `eightfold.hw.ports.BURST` beats, and waits until the queue has room for them all. A run of no
    beats asks for nothing. While ``yields``, a fetch goes on, but only as far ahead as it must: who
    waits for its beats gets them at last, whatever the other client does.

    Timing
    ------
    A beat per cycle, if a request's first beat comes within ``depth - 24`` cycles of it, within
    ``YIELDING + BURST - 24`` cycles while ``yields``. A burst is requested every 3 cycles at most.
    A request comes 3 cycles after its run, and the request of the next run 4 cycles after the last
    one of the run before; a beat is on ``o`` 3 cycles after memory's ``valid``.

    Parameters
    ----------
    config
        ``port``.
    depth
        Beats that are requested or wait, a power of two, at least ``2 * BURST``.

    Raises
    ------
    ValueError
        If ``depth`` is not such a number.
    """

    runs: Annotated[stream.Interface, In(stream.Signature(run_layout()))]
    """To be read, one after the other."""
    yields: Annotated[Signal, In(1)]
    """Another client reads, and should not wait behind what is fetched for later: no request
    begins while more than `YIELDING` beats are requested or wait. One that has begun stays."""
    memory: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """Where from."""
    o: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(unsigned(8 * self.config.port)))
    ]
    """The beats of all runs in order; ``ready`` is combinational up to the queue's RAM."""

    def __init__(self, config: AcceleratorConfig, depth: int) -> None:
        if depth < 2 * BURST or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two of at least {2 * BURST}, not {depth}")
        self.config, self.depth = config, depth
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = unsigned(8 * self.config.port)
        m.submodules.queue = queue = CreditQueue(word, self.depth)
        m.d.comb += [
            queue.take.eq(self.memory.valid),
            queue.push.eq(self.memory.valid),
            queue.push_data.eq(self.memory.data),
            queue.o.ready.eq(self.o.ready | ~self.o.valid),
        ]
        # A RAM block is slow from clock to output; a register takes up its words.
        beat = Signal(word, reset_less=True)
        m.d.comb += self.o.payload.eq(beat)
        with m.If(queue.o.ready):
            m.d.sync += [beat.eq(queue.o.payload), self.o.valid.eq(queue.o.valid)]
        self._request(m, queue.o.valid & queue.o.ready)
        return m

    def _request(self, m: Module, leaves: Value) -> None:
        """Cut runs into bursts: measure one, wait for room, reserve that, and ask."""
        request = self.memory.request
        run = self.runs.payload
        room = Signal(range(self.depth + 1), init=self.depth)
        left_queue = Signal()
        beat = Signal(ADDRESS_BITS - self._shift)
        left = Signal(32)
        burst = Signal(range(BURST + 1))
        final = Signal()
        reserve = Signal()
        waits, taken = Signal(), Signal()
        m.d.comb += [
            request.payload.address.eq(beat << self._shift),
            request.payload.beats.eq(burst),
        ]
        # Nothing is subtracted in the cycle of a comparison, or when memory says so: its ready
        # comes from the other side of an arbiter.
        m.d.sync += [left_queue.eq(leaves), room.eq(room + left_queue - Mux(reserve, burst, 0))]
        with m.If(waits | taken):
            m.d.sync += [
                beat.eq(advance(waits, run.address[self._shift :], beat, burst)),
                left.eq(retreat(waits, run.beats, left, burst)),
            ]
        with m.FSM():
            with m.State("WAIT"):
                m.d.comb += [waits.eq(1), self.runs.ready.eq(1)]
                with m.If(self.runs.valid & (run.beats != 0)):
                    m.next = "MEASURE"
            with m.State("MEASURE"):
                boundary = BURST - (beat % BURST)  # beats up to the next multiple
                ends = ~left[len(burst) :].any() & (left[: len(burst)] <= boundary)
                m.d.sync += [final.eq(ends), burst.eq(Mux(ends, left, boundary))]
                m.next = "FIT"
            with m.State("FIT"):
                holds_back = self.yields & (room < self.depth - YIELDING)
                with m.If((room >= burst) & ~holds_back):
                    m.next = "RESERVE"
            for state in ("RESERVE", "ASK"):
                with m.State(state):
                    m.d.comb += [request.valid.eq(1), reserve.eq(state == "RESERVE")]
                    m.d.comb += taken.eq(request.ready)
                    with m.If(request.ready):
                        m.next = "MEASURE"
                        with m.If(final):
                            m.next = "WAIT"
                    with m.Else():
                        m.next = "ASK"

    @property
    def _shift(self) -> int:
        return self.config.port.bit_length() - 1
