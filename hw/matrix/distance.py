"""Between walk and reads: vectors keep a distance from results that are still to be written."""

from typing import Annotated

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.mac_array import latency
from eightfold.hw.blocks.component import Component
from eightfold.hw.matrix.operands import MatrixOperands
from eightfold.hw.matrix.walk import DISTANCE, walk_layout
from eightfold.target.config import AcceleratorConfig


class MatrixDistance(Component):
    """Pass vectors on, number v of a command when v + u < ``distance``.

    u are the results of commands before it that are not written. All vectors pass once these
    commands are complete, or if ``distance`` is 0.

    Timing
    ------
    A vector passes in the cycle in which it comes; the first one of a command at least two cycles
    behind the last one of the command before. Whether it does comes from registers, which a result
    changes in the cycle after its write.

    Parameters
    ----------
    config
        The sizes of a vector, and ``output_depth``.
    """

    i: Annotated[stream.Interface, lambda self: In(stream.Signature(walk_layout(self.config)))]
    """Vectors in their order."""
    distance: Annotated[Signal, In(DISTANCE)]
    """Of the command of the vector that comes, and before its first one."""
    alone: Annotated[Signal, In(1)]
    """All commands before this one are complete. From a register."""
    written: Annotated[Signal, In(1)]
    """A result is written, or refused since it leaves the scratchpad."""
    o: Annotated[stream.Interface, lambda self: Out(stream.Signature(walk_layout(self.config)))]
    """The same vectors."""
    waits: Annotated[Signal, Out(1)]
    """A vector has come and may not pass. From registers."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        vector = self.i.payload
        ways = MatrixOperands.DEPTH + latency(self.config) + self.config.output_depth
        results = Signal(range(ways + 1))
        following = Signal.like(results)
        # What is left of the distance; negative while the vector may not pass.
        room = Signal(signed(max(len(self.distance), len(results)) + 1))
        within, passes, moves, unbounded = Signal(), Signal(), Signal(), Signal()
        fires = moves & vector.control.fire & vector.control.last
        m.d.comb += [
            passes.eq(self.alone | (room >= 0) | unbounded),
            moves.eq(self.o.valid & self.o.ready),
            self.waits.eq(self.i.valid & ~passes),
            self.o.valid.eq(self.i.valid & passes),
            self.o.payload.eq(vector),
            self.i.ready.eq(self.o.ready & passes),
            following.eq(results + fires - self.written),
        ]
        m.d.sync += [results.eq(following), unbounded.eq(self.distance == 0)]
        with m.If(moves):
            m.d.sync += within.eq(~vector.final)
        with m.If(moves | within):
            m.d.sync += room.eq(room + Mux(self.written, Value.cast(~moves), -moves))
        with m.Else():
            m.d.sync += room.eq(self.distance - 1 - following)
        return m
