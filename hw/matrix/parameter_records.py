"""Requantization parameters: channels from the words of memory."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import parameter_layout
from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.blocks.sums import retreat
from eightfold.isa.instructions import BIAS, RECORD
from eightfold.target.config import AcceleratorConfig

RUN_LAYOUT = data.StructLayout(
    {
        "channels": unsigned(24),
        "single": unsigned(1),  # channels is 1
        "shared": unsigned(1),
    }
)
"""The channels of a PARAMETERS command."""


def unit_bytes(config: AcceleratorConfig) -> int:
    """Return the bytes that are processed at once: those of the port, at most a record."""
    return min(RECORD, config.port)


class ParameterRecords(Component):
    """Join records from units of memory, or put the biases in units into a shared record.

    Timing
    ------
    A unit per cycle of a record, a channel per cycle of those with a shared record; runs follow
    each other without a pause. A channel is on ``o`` in the cycle of its last unit; ``o.ready``
    reaches nothing else but through a register.

    Parameters
    ----------
    config
        ``lanes`` and ``port``.
    """

    runs: Annotated[stream.Interface, In(stream.Signature(RUN_LAYOUT))]
    """The channels of each command."""
    units: Annotated[stream.Interface, lambda self: In(stream.Signature(unsigned(8 * self.bytes)))]
    """The units of each run, which starts with a new unit: records, or with ``shared`` a record and
    int32 biases."""
    drop: Annotated[Signal, Out(1)]
    """The unit is the run's last."""
    o: Annotated[stream.Interface, Out(stream.Signature(parameter_layout()))]
    """``last`` is set at the end of a run, and at every ``lanes``-th channel of it."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self.bytes = unit_bytes(config)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.output = output = Bypass(parameter_layout())
        connect(m, output.o, flipped(self.o))
        run = Signal(RUN_LAYOUT, reset_less=True)
        active = Signal()
        lane = Signal(range(self.config.lanes))
        leaves = Signal()
        last = run.single | (lane == self.config.lanes - 1)
        m.d.comb += [
            leaves.eq(output.i.valid & output.i.ready),
            output.i.payload.last.eq(last),
            self.drop.eq(leaves & run.single),
            self.runs.ready.eq(~active | self.drop),
        ]
        with m.If(leaves):
            m.d.sync += lane.eq(Mux(last, 0, lane + 1))
        with m.If(self.runs.ready):
            m.d.sync += [active.eq(self.runs.valid), run.eq(self.runs.payload)]
        with m.Elif(leaves):
            m.d.sync += run.single.eq(run.channels == 2)
        with m.If(self.runs.ready | leaves):
            following = self.runs.payload.channels
            # Of the conditions above what is known early.
            ends = run.single | ~active
            m.d.sync += run.channels.eq(retreat(ends, following, run.channels, 1))
        self._assemble(m, run, active, output)
        return m

    def _assemble(self, m: Module, run: data.View, active: Signal, output: Bypass) -> None:
        """Give a channel to ``output`` for each record, or for each bias after the shared one."""
        unit = self.units.payload
        parts = RECORD // self.bytes
        places = self.bytes // BIAS
        # A record's parts move down until the first is lowest; a shared record then stays.
        record = Signal(8 * RECORD, reset_less=True)
        joined = Cat(record, unit)[8 * self.bytes :]
        part = Signal(range(parts))
        place = Signal(range(places))
        biases = Signal()
        complete, used = part == parts - 1, place == places - 1
        is_channel = biases | (complete & ~run.shared)
        takes = Signal()
        bias = Cat(unit.word_select(place, 8 * BIAS), record[8 * BIAS :])
        m.d.comb += [
            Value.cast(output.i.payload.requantize).eq(Mux(biases, bias, joined)),
            output.i.valid.eq(self.units.valid & active & is_channel),
            takes.eq(active & (output.i.ready | ~is_channel)),
            self.units.ready.eq(takes & (~biases | used | run.single)),
        ]
        with m.If(self.units.valid & takes):
            with m.If(biases):
                m.d.sync += place.eq(Mux(used | run.single, 0, place + 1))
            with m.Else():
                m.d.sync += [record.eq(joined), part.eq(Mux(complete, 0, part + 1))]
            m.d.sync += biases.eq((biases | (complete & run.shared)) & ~self.drop)
