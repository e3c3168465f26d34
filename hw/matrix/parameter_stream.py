"""Requantization parameters: from the model region of memory to the matrix engine."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.gearbox import Gearbox
from eightfold.hw.blocks.layouts import hdl, parameter_layout
from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.matrix.parameter_records import RUN_LAYOUT, ParameterRecords
from eightfold.hw.memory.region_fetch import RegionFetch
from eightfold.hw.ports import memory_read, region_layout
from eightfold.isa import PARAMETERS
from eightfold.isa.instructions import BIAS, RECORD
from eightfold.target.config import AcceleratorConfig

AHEAD = 8
"""Commands that are fetched ahead."""


class ParameterStream(Component):
    """Execute PARAMETERS: fetch records or biases, and give them to the array by channels.

    A command that is not aligned to 16 bytes and the port, leaves the region, or has no channels,
    is ignored with ``fault``.

    Timing
    ------
    A channel per cycle if the port has 16 bytes, or ``shared`` is set; otherwise a channel per
    ``16 / port`` cycles. ``shared`` takes ``max(1, 16 / port)`` cycles more for its record. A
    command is taken every 5 cycles. Commands are fetched while earlier ones are consumed, as far
    ahead as `BEATS` beats and `AHEAD` commands allow, and their channels follow each other without
    a pause. No output depends on an input combinationally.

    Parameters
    ----------
    config
        ``lanes`` and ``port``.
    """

    BEATS = 128
    """Beats fetched ahead."""

    command: Annotated[stream.Interface, In(stream.Signature(hdl(PARAMETERS.layout)))]
    """What is fetched."""
    fault: Annotated[Signal, Out(1)]
    """For one cycle: the command taken last was ignored."""
    region: Annotated[data.View, In(region_layout())]
    """The model."""
    yields: Annotated[Signal, In(1)]
    """As in `eightfold.hw.memory.linear_fetch.LinearFetch`."""
    memory: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """Where from."""
    parameters: Annotated[stream.Interface, Out(stream.Signature(parameter_layout()))]
    """To the MAC array."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.config.port
        m.submodules.fetch = fetch = RegionFetch(self.config, self.BEATS, 32, max(RECORD, port))
        m.submodules.gearbox = gearbox = Gearbox(port, min(RECORD, port))
        m.submodules.runs = runs = Fifo(RUN_LAYOUT, AHEAD)
        m.submodules.records = records = ParameterRecords(self.config)
        # Whether a run has ended is known late, and the queue's registers are many.
        m.submodules.following = following = Bypass(RUN_LAYOUT)
        connect(m, following.o, records.runs)
        connect(m, fetch.memory, flipped(self.memory))
        connect(m, fetch.o, gearbox.i)
        connect(m, gearbox.o, records.units)
        connect(m, records.o, flipped(self.parameters))
        m.d.comb += [
            fetch.region.eq(self.region),
            fetch.yields.eq(self.yields),
            gearbox.drop.eq(records.drop),
            following.i.valid.eq(runs.r_rdy),
            following.i.payload.eq(runs.r_data),
            runs.r_en.eq(following.i.ready),
        ]
        self._start(m, fetch, runs)
        return m

    def _start(self, m: Module, fetch: RegionFetch, runs: Fifo) -> None:
        """Fetch what a command needs, and note its channels if that is in range."""
        new = self.command.payload
        command = Signal(hdl(PARAMETERS.layout), reset_less=True)
        size = Signal(32, reset_less=True)
        illegal = Signal()
        run = runs.w_data
        m.d.comb += [
            fetch.parts.payload.address.eq(command.address),
            fetch.parts.payload.bytes.eq(size),
            run.channels.eq(command.channels),
            run.single.eq(command.channels == 1),
            run.shared.eq(command.shared),
        ]
        m.d.sync += self.fault.eq(0)
        with m.FSM():
            with m.State("WAIT"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += [
                    command.eq(new),
                    size.eq(Mux(new.shared, RECORD + BIAS * new.channels, RECORD * new.channels)),
                    illegal.eq(new.channels == 0),
                ]
                with m.If(self.command.valid):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += fetch.parts.valid.eq(~illegal)
                refused = illegal | (fetch.parts.ready & fetch.fault)
                m.d.sync += self.fault.eq(refused)
                with m.If(refused):
                    m.next = "WAIT"
                with m.Elif(fetch.parts.ready):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += runs.w_en.eq(1)
                with m.If(runs.w_rdy):
                    m.next = "WAIT"
