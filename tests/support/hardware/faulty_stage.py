"""A stream stage that can be told to misbehave, and a signal that counts clock edges."""

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out


class Fault(enum.Enum, shape=3):
    """What goes wrong."""

    NONE = 0
    MOVES_PAYLOAD = 1  # while stalled
    DROPS_VALID = 2  # before ready
    LOSES_WORD = 3  # those that are 5
    CHANGES_WORD = 4  # 5 becomes 4
    HANGS = 5  # takes nothing
    REPEATS = 6  # sends the last word for ever


class FaultyStage(wiring.Component):
    """One register stage; latency 1 cycle, 1 word per cycle."""

    i: stream.Interface
    o: stream.Interface
    fault: Signal
    edges: Signal

    def __init__(self) -> None:
        words = stream.Signature(signed(8))
        super().__init__({"i": In(words), "o": Out(words), "fault": In(Fault), "edges": Out(16)})

    def elaborate(self, platform: object) -> Module:
        """Return the stage with its faults."""
        m = Module()
        stored = Signal(signed(8))
        full = Signal()
        accept = Signal()
        m.d.sync += self.edges.eq(self.edges + 1)
        m.d.comb += [
            accept.eq((self.o.ready | ~full) & (self.fault != Fault.HANGS)),
            self.i.ready.eq(accept),
            self.o.valid.eq(full & ~((self.fault == Fault.DROPS_VALID) & self.edges[2])),
            self.o.payload.eq(stored),
        ]
        with m.If(accept):
            lost = (self.fault == Fault.LOSES_WORD) & (self.i.payload == 5)
            again = (self.fault == Fault.REPEATS) & full
            m.d.sync += full.eq((self.i.valid & ~lost) | again)
            with m.If(self.i.valid):
                changed = (self.fault == Fault.CHANGES_WORD) & (self.i.payload == 5)
                m.d.sync += stored.eq(self.i.payload - changed)
        with m.Elif(self.fault == Fault.MOVES_PAYLOAD):
            m.d.sync += stored.eq(stored + 1)
        return m
