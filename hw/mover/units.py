"""The mover's second part: runs cut into units, and what is asked of memory and scratchpad."""

from typing import Annotated, cast

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.skid import Skid, Stage
from eightfold.hw.blocks.sums import advance, retreat
from eightfold.hw.mover.runs import local_place, place, run_layout, spaces_layout
from eightfold.hw.ports import BURST, burst_layout, local_address
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import AcceleratorConfig

_BURST_BITS = exact_log2(BURST)


def unit_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what to do with a unit's bytes ``first`` to ``end``."""
    return data.StructLayout(
        {
            "spaces": spaces_layout(),
            "local": local_place(config),  # of byte 0, in the scratchpad or the tables
            "first": place(config),
            "end": place(config),
            "fill": unsigned(8),
            "opens": unsigned(1),  # first unit of a memory request
            "last": unsigned(1),  # of the command
            "fault": unsigned(1),  # no unit: the run leaves the buffers; the last word
            "index": unsigned(1),  # or, with `fault`, has an index outside of [0, limit)
        }
    )


class Units(Component):
    """Cut runs into units, ask for their bytes, and for places in memory.

    A run's consecutive beats are asked for together, up to the next multiple of ``BURST`` beats.

    Timing
    ------
    One unit per cycle; short runs follow each other without a pause. A unit waits for a place in
    ``units`` and, where its bytes go, for ``beats_free`` or ``vectors_free``; requests wait in
    queues of their own. After a fault nothing comes any more, until a reset.

    Parameters
    ----------
    config
        Sizes of scratchpad and port.
    depth
        Units on their way.
    """

    runs: Annotated[stream.Interface, lambda self: In(stream.Signature(run_layout(self.config)))]
    """To be cut."""
    beats_free: Annotated[Signal, In(1)]
    """A burst of beats that come from memory has a place."""
    vectors_free: Annotated[Signal, In(1)]
    """A vector that comes from the scratchpad has a place."""
    take_beat: Annotated[Signal, Out(1)]
    """A beat's place is taken; those of a burst one by one."""
    take_vector: Annotated[Signal, Out(1)]
    """A vector's place is taken."""
    read: Annotated[stream.Interface, Out(stream.Signature(burst_layout()))]
    """Bursts to be read from memory."""
    write: Annotated[stream.Interface, Out(stream.Signature(burst_layout()))]
    """Bursts to be written to memory."""
    vectors: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(local_address(self.config)))
    ]
    """Requests to the scratchpad."""
    reads: Annotated[Signal, Out(1)]
    """There was a burst to be read from memory, or there were units to ask for, in the cycle
    before."""
    units: Annotated[stream.Interface, lambda self: Out(stream.Signature(unit_layout(self.config)))]
    """In order, as soon as their bytes are asked for."""

    def __init__(self, config: AcceleratorConfig, depth: int = 64) -> None:
        self.config, self.depth = config, depth
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        run = Signal(run_layout(self.config), reset_less=True)
        valid = Signal()
        opens, final, stopped = Signal(), Signal(), Signal()
        m.submodules.queue = queue = CreditQueue(unit_layout(self.config), self.depth)
        m.submodules.oldest = oldest = Stage(unit_layout(self.config))
        wiring.connect(m, queue.o, oldest.i)
        wiring.connect(m, oldest.o, wiring.flipped(self.units))
        m.submodules.vectors = vectors = Skid(local_address(self.config))
        wiring.connect(m, vectors.o, wiring.flipped(self.vectors))
        go, load = Signal(), Signal()
        spaces = run.spaces
        from_vectors = ~(spaces.from_memory | spaces.from_fill | run.fault)
        reads, writes = opens & spaces.from_memory, opens & spaces.to_memory
        ask = self._ask(m, run)
        may_read = self._requests(m, "read", ask, go & reads)
        may_write = self._requests(m, "write", ask, go & writes)
        has_beats = ~reads | (self.beats_free & may_read)
        has_burst = ~writes | may_write
        has_vector = ~from_vectors | (self.vectors_free & vectors.i.ready)
        m.d.comb += [
            go.eq(valid & ~stopped & queue.available & has_beats & has_burst & has_vector),
            self.runs.ready.eq(~valid | (go & final)),
            load.eq(self.runs.valid & self.runs.ready),
            self.take_beat.eq(go & spaces.from_memory),
            self.take_vector.eq(go & from_vectors),
            vectors.i.valid.eq(self.take_vector),
            vectors.i.payload.eq(Mux(spaces.to_memory, run.local, run.outer)),
            queue.take.eq(go),
            queue.push.eq(go),
        ]
        m.d.sync += self.reads.eq((valid & spaces.from_memory) | self.read.valid)
        with m.If(load | (go & final)):
            m.d.sync += valid.eq(load)
        with m.If(go & run.fault):
            m.d.sync += stopped.eq(1)
        self._advance(m, run, valid, load, go, opens, final)
        self._describe(m, run, opens, final, cast(data.View, queue.push_data))
        return m

    def _advance(
        self,
        m: Module,
        run: data.View,
        valid: Value,
        load: Value,
        go: Value,
        opens: Signal,
        final: Signal,
    ) -> None:
        """Go on to the next unit, or the next run; a run with a fault has no final unit."""
        new = self.runs.payload
        size = Mux(run.spaces.from_memory | run.spaces.to_memory, *self._sizes())
        with m.If(load):
            m.d.sync += [run.eq(new), opens.eq(1), final.eq((new.more == 0) & ~new.fault)]
        with m.Elif(go):
            m.d.sync += [
                run.first.eq(0),
                opens.eq(self._beat(run).all()),
                final.eq(run.more == 1),
            ]
        # What is there without a valid run does not matter: the choice is known before ``load``.
        begins = final | ~valid
        with m.If(load | go):
            m.d.sync += [
                run.outer.eq(advance(begins, new.outer, run.outer, size)),
                run.local.eq(advance(begins, new.local, run.local, size)),
                run.more.eq(retreat(begins, new.more, run.more, 1)),
            ]

    def _describe(
        self, m: Module, run: data.View, opens: Value, final: Value, unit: data.View
    ) -> None:
        whole = Mux(run.spaces.from_memory | run.spaces.to_memory, *(s - 1 for s in self._sizes()))
        m.d.comb += [
            unit.spaces.eq(run.spaces),
            unit.local.eq(run.local),
            unit.first.eq(run.first),
            unit.end.eq(Mux(final, run.end, whole)),
            unit.fill.eq(run.fill),
            unit.opens.eq(opens),
            unit.last.eq(run.last & final),
            unit.fault.eq(run.fault),
            unit.index.eq(run.index),
        ]

    def _ask(self, m: Module, run: data.View) -> data.View:
        """Return, one cycle later, the request for the beats from the current unit on."""
        address = Signal(ADDRESS_BITS, name="ask_address", reset_less=True)
        more, beat = (Signal(_BURST_BITS, name=n, reset_less=True) for n in ("ask_more", "beat"))
        ask = Signal(burst_layout())
        m.d.sync += [
            address.eq(run.outer),
            more.eq(Mux(run.more[_BURST_BITS:].any(), BURST - 1, run.more)),
            beat.eq(self._beat(run)),
        ]
        room = ~beat  # beats behind this one, up to the next multiple of BURST
        m.d.comb += [ask.address.eq(address), ask.beats.eq(Mux(more < room, more, room) + 1)]
        return ask

    def _requests(self, m: Module, name: str, ask: data.View, push: Value) -> Signal:
        """Add the queue of one kind of request; return whether it has a place."""
        m.submodules[name] = queue = CreditQueue(burst_layout(), depth=16)
        wiring.connect(m, queue.o, wiring.flipped(getattr(self, name)))
        m.d.comb += [queue.take.eq(push), queue.push_data.eq(ask)]
        m.d.sync += queue.push.eq(push)
        return queue.available

    def _sizes(self) -> tuple[int, int]:
        """Return the bytes of a unit in memory, and of one that is not."""
        return self.config.port, self.config.vector

    def _beat(self, run: data.View) -> Value:
        """Return the beat's number, modulo BURST."""
        low = exact_log2(self.config.port)
        return Value.cast(run.outer)[low : low + _BURST_BITS]
