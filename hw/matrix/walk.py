"""The matrix engine's first part: the loops of a command, one vector at a time."""

from typing import Annotated

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.blocks.loops import Address, Loops, iteration_layout
from eightfold.hw.blocks.skid import Skid
from eightfold.hw.blocks.sums import retreat
from eightfold.hw.matrix.strides import Firing
from eightfold.isa import LOCAL, LOCAL_BITS, MATRIX, streams
from eightfold.target.config import AcceleratorConfig

# What the loops keep: a row's address, a column in bytes, and the row's number.
PASSES = {
    "row": Address(LOCAL_BITS, [2, 3]),
    "column": Address(LOCAL_BITS, [0, 1]),
    "number": Address(LOCAL_BITS, [2]),
}
"""What the loops kc, kx, ky, group keep."""

VECTORS = {
    "row": Address(LOCAL_BITS, [1]),
    "column": Address(LOCAL_BITS, [0]),
    "number": Address(LOCAL_BITS, [1]),
}
"""What the loops x, y keep."""

DISTANCE = hdl(dict(MATRIX.layout)["distance"].shape)
"""What vectors keep from results of the commands before."""


def control_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return all of an activation but its bytes."""
    return data.StructLayout(
        {
            name: hdl(field.shape)
            for name, field in streams.activation_layout(config)
            if name != "bytes"
        }
    )


def walk_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a vector to be read: where it is, what is inside of the tensor, what to do with it."""
    return data.StructLayout(
        {
            "row": hdl(LOCAL),
            "column": hdl(LOCAL),
            "number": hdl(LOCAL),
            "rows": unsigned(16),  # of the tensor, as the number of a row
            "columns": hdl(LOCAL),  # of the tensor, in bytes
            "lead": unsigned(1),  # all of it is fill
            "fill": unsigned(8),
            "control": control_layout(config),
            "final": unsigned(1),  # the last one of its command
        }
    )


class MatrixWalk(Component):
    """Walk through a MATRIX command: group, ky, kx, kc, the lead, y, x; a vector per iteration.

    Timing
    ------
    A vector per cycle, also from one pass to the next. A command is taken when the last vector of
    the one before is gone; its first vector comes 4 cycles later. ``command.ready`` comes from a
    register.

    Parameters
    ----------
    config
        ``width``, and the sizes of an activation.
    """

    command: Annotated[stream.Interface, In(stream.Signature(hdl(MATRIX.layout)))]
    """What is walked."""
    o: Annotated[stream.Interface, lambda self: Out(stream.Signature(walk_layout(self.config)))]
    """The vectors, in their order."""
    busy: Annotated[Signal, Out(1)]
    """There is a command whose last vector is not gone."""
    distance: Annotated[Signal, Out(DISTANCE)]
    """Of that command."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = Signal(hdl(MATRIX.layout), reset_less=True)
        fresh = Signal()
        m.submodules.passes = passes = Loops(4, PASSES)
        m.submodules.vectors = vectors = Loops(2, VECTORS)
        m.d.comb += [
            self.command.ready.eq(~self.busy),
            self.distance.eq(command.distance),
            passes.i.valid.eq(fresh),
        ]
        with m.If(passes.i.ready):
            m.d.sync += fresh.eq(0)
        with m.If(self.command.valid & self.command.ready):
            m.d.sync += [command.eq(self.command.payload), fresh.eq(1), self.busy.eq(1)]
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.final):
            m.d.sync += self.busy.eq(0)
        self._passes(m, command, passes)
        # Takes up a pass, so that the vectors' ``ready`` does not reach the passes' loops.
        m.submodules.begun = begun = Skid(iteration_layout(4, PASSES))
        connect(m, passes.o, begun.i)
        self._vectors(m, command, begun.o, vectors)
        self._describe(m, command, vectors)
        begin = vectors.i.valid & vectors.i.ready
        final = self._pass_flags(m, command, begun.o.payload, begin)
        self._fire(m, command, vectors)
        m.d.comb += self.o.payload.final.eq(final & vectors.o.payload.last & ~self.o.payload.lead)
        return m

    def _passes(self, m: Module, command: data.View, passes: Loops) -> None:
        """Walk through kc, kx, ky, group."""
        loops = passes.i.payload
        m.d.comb += [
            *self._nest(loops.counts, command.kc, command.kx, command.ky, command.groups),
            loops.row.start.eq(command.base),
            *self._nest(loops.row.strides, command.ky_step, command.group_step),
            loops.column.start.eq(command.column0),
            *self._nest(loops.column.strides, self.config.width, command.kx_step),
            loops.number.start.eq(command.row0),
            *self._nest(loops.number.strides, command.ky_rows),
        ]

    def _vectors(
        self, m: Module, command: data.View, passes: stream.Interface, vectors: Loops
    ) -> None:
        """Walk through x, y from where the pass begins."""
        loops = vectors.i.payload
        begin = passes.payload
        m.d.comb += [
            vectors.i.valid.eq(passes.valid),
            passes.ready.eq(vectors.i.ready),
            *self._nest(loops.counts, command.x, command.y),
            loops.row.start.eq(begin.row),
            *self._nest(loops.row.strides, command.y_step),
            loops.column.start.eq(begin.column),
            *self._nest(loops.column.strides, command.x_step),
            loops.number.start.eq(begin.number),
            *self._nest(loops.number.strides, command.y_rows),
        ]

    def _nest(self, parts: data.View, *values: object) -> list:
        return [parts[level].eq(value) for level, value in enumerate(values)]

    def _describe(self, m: Module, command: data.View, vectors: Loops) -> None:
        """Say of the vector what the loops and the command say."""
        o = self.o.payload
        at = vectors.o.payload
        m.d.comb += [
            self.o.valid.eq(vectors.o.valid),
            vectors.o.ready.eq(self.o.ready & ~o.lead),
            o.row.eq(at.row),
            o.column.eq(at.column),
            o.number.eq(at.number),
            o.rows.eq(command.rows),
            o.columns.eq(command.columns),
            o.fill.eq(command.fill),
            o.control.depthwise.eq(command.depthwise),
            *([o.control.pairs.eq(command.pairs)] if self.config.pixel else []),
            o.control.line.eq(command.line),
        ]

    def _pass_flags(self, m: Module, command: data.View, place: data.View, begin: Value) -> Signal:
        """Keep what is said of a whole pass; return whether it is its command's last one."""
        o = self.o.payload
        control = self.o.payload.control
        opens = Signal(init=1)
        closes = place.ends[:3].all()  # a group
        first, last, final = Signal(), Signal(), Signal()
        begins = Signal()
        advances = Signal()
        left = Signal(8, reset_less=True)
        m.d.comb += [
            control.first.eq(first),
            control.last.eq(last),
            control.next_weights.eq(begins),
            control.next_parameters.eq(begins & advances),
        ]
        with m.If(begin):
            m.d.sync += [
                opens.eq(closes),  # what comes after the last pass of a group is a first one
                first.eq(opens & command.first),
                last.eq(closes & command.last),
                advances.eq(opens & command.last),
                final.eq(place.last),
                begins.eq(1),
                o.lead.eq(command.lead != 0),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += begins.eq(0)
            with m.If(left == 1):
                m.d.sync += o.lead.eq(0)
        # No pass begins in a lead, so what it begins with is known before ``begin``.
        with m.If(~o.lead | self.o.ready):
            m.d.sync += left.eq(retreat(~o.lead, command.lead, left, 1))
        return final

    def _fire(self, m: Module, command: data.View, vectors: Loops) -> None:
        """Say which vectors fire, and count them.

        ``step`` only enables registers, what they become is known before: it comes late.
        """
        control = self.o.payload.control
        at = vectors.o.payload
        none = ~vectors.o.valid
        step, row, restart = Signal(), Signal(), Signal()
        m.submodules.fires_x = fires_x = Firing()
        m.submodules.fires_y = fires_y = Firing()
        m.d.comb += [
            fires_x.first.eq(command.fire_x0),
            fires_x.period.eq(command.fire_x_step),
            step.eq(none | vectors.o.ready),
            row.eq(none | at.ends[0]),
            restart.eq(none | at.last),
            fires_x.restart.eq(row),
            fires_x.step.eq(step),
            fires_y.first.eq(command.fire_y0),
            fires_y.period.eq(command.fire_y_step),
            fires_y.restart.eq(restart),
            fires_y.step.eq(step & row),
            control.fire.eq(fires_x.fire & fires_y.fire & ~self.o.payload.lead),
        ]
        slot = Signal(range(self.config.psum_depth))
        m.d.comb += control.slot.eq(slot)
        with m.If(step):
            m.d.sync += slot.eq(Mux(restart, 0, slot + (fires_x.fire & fires_y.fire)))
