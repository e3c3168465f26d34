"""Weights: from the model region of memory to the matrix engine."""

from typing import Annotated, Any

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.gearbox import Gearbox
from eightfold.hw.blocks.layouts import hdl, weight_layout
from eightfold.hw.blocks.skid import Skid
from eightfold.hw.blocks.sums import retreat
from eightfold.hw.memory.region_fetch import RegionFetch, part_layout
from eightfold.hw.ports import memory_read, region_layout
from eightfold.isa import WEIGHTS
from eightfold.target.config import AcceleratorConfig

AHEAD = 16
"""Runs of equal buffers, at most two per command, that are fetched ahead."""


def run_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a run of equal buffers: all of a command's full, or all of its partial ones."""
    return data.StructLayout(
        {
            "buffers": unsigned(32),
            "single": unsigned(1),  # buffers is 1
            "lanes": range(config.lanes),  # words of a buffer, minus 1
            "word": unsigned(1),  # a buffer has one
            "end": unsigned(1),  # of the command
        }
    )


def weight_part_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what a command fetches; its bytes as it states them, in range or not."""
    return part_layout(40 + config.weight_word.bit_length())


class WeightCommands(Component):
    """Say what a WEIGHTS command fetches, and once that is found in range, which buffers it has.

    ``bytes = weight_word * (full * lanes + partial * partial_lanes)``, the second product two
    bits of ``partial_lanes`` a cycle; the first one is a shift where ``lanes`` is a power of two.

    Timing
    ------
    A command takes `CYCLES` cycles if it does not wait for ``parts`` or ``runs``.

    Parameters
    ----------
    config
        ``lanes`` and ``width``.
    """

    CYCLES = 11
    """From one command to the next, if a part is judged in 2 cycles."""

    command: Annotated[stream.Interface, In(stream.Signature(hdl(WEIGHTS.layout)))]
    """What is fetched."""
    parts: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(weight_part_layout(self.config)))
    ]
    """Its bytes."""
    refused: Annotated[Signal, In(1)]
    """Together with the transfer of a part: it is out of range."""
    runs: Annotated[stream.Interface, lambda self: Out(stream.Signature(run_layout(self.config)))]
    """Its buffers."""
    fault: Annotated[Signal, Out(1)]
    """The command was ignored."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = Signal(hdl(WEIGHTS.layout), reset_less=True)
        partial = Signal(len(command.partial) + 8, reset_less=True)  # words of partial buffers
        illegal = Signal()
        some_full = Signal()
        some_partial = Signal()
        lanes = command.partial_lanes
        # A sum without a register: what judges the part adds the address to it, in one cycle.
        words = command.full * self.config.lanes + partial
        m.d.comb += [
            self.parts.payload.address.eq(command.address),
            self.parts.payload.bytes.eq(words * self.config.weight_word),
        ]
        m.d.sync += [
            some_full.eq(command.full != 0),
            some_partial.eq(command.partial != 0),
            self.fault.eq(0),
        ]
        with m.FSM():
            with m.State("WAIT"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += command.eq(self.command.payload)
                with m.If(self.command.valid):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"), m.If(self._multiply(m, command, partial)):
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += illegal.eq(some_partial & ((lanes == 0) | (lanes > self.config.lanes)))
                m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += self.parts.valid.eq(~illegal)
                refused = illegal | (self.parts.ready & self.refused)
                m.d.sync += self.fault.eq(refused)
                with m.If(refused):
                    m.next = "WAIT"
                with m.Elif(self.parts.ready):
                    m.next = "FULL"
            with m.State("FULL"):
                self._run(m, some_full, command.full, self.config.lanes, ~some_partial)
                with m.If(self.runs.ready | ~some_full):
                    m.next = "PARTIAL"
            with m.State("PARTIAL"):
                self._run(m, some_partial, command.partial, lanes, Const(1))
                with m.If(self.runs.ready | ~some_partial):
                    m.next = "WAIT"
        return m

    def _multiply(self, m: Module, command: data.View, product: Signal) -> Value:
        """Find ``product``, the words of partial buffers, highest bits first, and return whether
        this is the last step."""
        step = Signal(range(4))
        number = command.partial
        bits = command.partial_lanes.word_select(~step, 2)
        earlier = Mux(step == 0, 0, product << 2)
        part = Mux(bits[0], number, 0) + Mux(bits[1], number << 1, 0)
        m.d.sync += [step.eq(step + 1), product.eq(earlier + part)]
        return step == 3

    def _run(self, m: Module, some: Value, buffers: Value, lanes: Value | int, end: Value) -> None:
        """Offer a run, unless it has no buffers."""
        m.d.comb += [
            self.runs.valid.eq(some),
            self.runs.payload.buffers.eq(buffers),
            self.runs.payload.single.eq(buffers == 1),
            self.runs.payload.lanes.eq(lanes - 1),
            self.runs.payload.word.eq(lanes == 1),
            self.runs.payload.end.eq(end),
        ]


class WeightStream(Component):
    """Execute WEIGHTS: fetch weight buffers, and give them to the MAC array lane by lane.

    A command that is not aligned to the port, leaves the region, or has partial buffers with less
    than 1 or more than ``lanes`` words, is ignored with ``fault``.

    Timing
    ------
    A word per cycle if the port is at least as wide as a word, otherwise a word per ``weight_word /
    port`` cycles. A command is taken every `WeightCommands.CYCLES` cycles. Commands are
    fetched while earlier ones are consumed, as far ahead as ``weight_buffer`` bytes and `AHEAD`
    runs allow, and their words follow each other without a pause. No output depends on an input
    combinationally.

    Parameters
    ----------
    config
        ``lanes``, ``width``, ``port`` and ``weight_buffer``.
    """

    command: Annotated[stream.Interface, In(stream.Signature(hdl(WEIGHTS.layout)))]
    """What is fetched."""
    fault: Annotated[Signal, Out(1)]
    """For one cycle: the command taken last was ignored."""
    region: Annotated[data.View, In(region_layout())]
    """The model."""
    yields: Annotated[Signal, In(1)]
    """As in `eightfold.hw.memory.linear_fetch.LinearFetch`."""
    memory: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """Where from."""
    weights: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(weight_layout(self.config)))
    ]
    """To the MAC array."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.commands = commands = WeightCommands(config)
        bits = weight_part_layout(config)["bytes"].width
        m.submodules.fetch = fetch = RegionFetch(
            config, config.weight_buffer // config.port, bits, config.port
        )
        m.submodules.gearbox = gearbox = Gearbox(config.port, config.weight_word)
        m.submodules.output = output = Skid(weight_layout(config))
        connect(m, flipped(self.command), commands.command)
        connect(m, commands.parts, fetch.parts)
        connect(m, fetch.memory, flipped(self.memory))
        connect(m, fetch.o, gearbox.i)
        connect(m, output.o, flipped(self.weights))
        taps = Value.cast(output.i.payload.taps)
        m.d.comb += [
            fetch.region.eq(self.region),
            fetch.yields.eq(self.yields),
            commands.refused.eq(fetch.fault),
            self.fault.eq(commands.fault),
            taps.eq(gearbox.o.payload),
        ]
        self._mark(m, commands, gearbox, output)
        return m

    def _mark(self, m: Module, commands: WeightCommands, gearbox: Gearbox, output: Skid) -> None:
        """Let the words of runs pass, and mark each buffer's last."""
        shape = run_layout(self.config)
        m.submodules.runs = runs = Fifo(shape, AHEAD)
        following = runs.r_data
        run = Signal(shape, reset_less=True)
        active = Signal()
        lane = Signal.like(run.lanes, reset_less=True)  # words of the buffer after this one
        # Whether there are none: known before, since what takes a word says so late.
        last = Signal(reset_less=True)
        ends, passes = Signal(), Signal()
        m.d.comb += [
            runs.w_en.eq(commands.runs.valid),
            commands.runs.ready.eq(runs.w_rdy),
            runs.w_data.eq(commands.runs.payload),
            ends.eq(last & run.single),
            gearbox.drop.eq(ends & run.end),
            output.i.payload.last.eq(last),
            output.i.valid.eq(gearbox.o.valid & active),
            gearbox.o.ready.eq(output.i.ready & active),
            passes.eq(gearbox.o.valid & gearbox.o.ready),
            runs.r_en.eq(~active | (passes & ends)),
        ]
        with m.If(runs.r_en):
            m.d.sync += [active.eq(runs.r_rdy), run.eq(following)]
            m.d.sync += [lane.eq(following.lanes), last.eq(following.word)]
        with m.Elif(passes & last):
            m.d.sync += [run.single.eq(run.buffers == 2), lane.eq(run.lanes), last.eq(run.word)]
        with m.Elif(passes):
            m.d.sync += [lane.eq(lane - 1), last.eq(lane == 1)]
        with m.If(runs.r_en | (passes & last)):
            # Of the conditions above what is known early.
            over = run.single | ~active
            m.d.sync += run.buffers.eq(retreat(over, following.buffers, run.buffers, 1))
