"""The loops of a VECTOR command: which bytes are read, chunk by chunk, and what becomes of them."""

from typing import Annotated, Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.blocks.loops import Address, Loops
from eightfold.hw.ports import local_address
from eightfold.hw.vector.words import Phase, read_layout
from eightfold.isa import LOCAL_BITS, ROW_RESULTS, VECTOR, Operand, Row
from eightfold.target.config import AcceleratorConfig

W0, W1, CHUNK, PASS, I0, I1, I2 = range(7)
"""The loops, innermost first. A chunk is `vector` elements of a run, or its rest."""

FIRST_PHASES = {
    Row.SUM: Phase.SUM,
    Row.MAXIMUM: Phase.EXTREME,
    Row.MINIMUM: Phase.EXTREME,
    **dict.fromkeys((Row.RECIPROCAL, Row.LOGARITHM, Row.INVERSE_ROOT), Phase.SUM),
}
"""The first pass over a row that is not relative; what gives one result per row has no other. The
last pass of others is `Phase.OUTPUT`."""


class VectorWalk(Component):
    """Turn a command into the reads of its chunks.

    The loops are, from the outermost: i2, i1, i0, the passes over a row, the chunks of a run, w1,
    w0. Sums of addresses and of row and column numbers wrap at `LOCAL_BITS` bits.

    Timing
    ------
    One read per cycle, the first one four cycles after the command's transfer. ``command.ready``
    comes from a register, a cycle after ``valid`` at the earliest: in between, the chunks of a run
    are counted. Takes a command only after all reads of the one before have left, except those that
    wait in the queue behind the loops.

    Parameters
    ----------
    config
        ``vector`` and ``scratchpad``.
    """

    QUEUE = 8
    """Reads that can wait."""

    command: Annotated[Any, In(stream.Signature(hdl(VECTOR.layout)))]
    """What is walked."""
    enable: Annotated[Signal, In(1)]
    """A command may be taken."""
    reads: Annotated[stream.Interface, lambda self: Out(stream.Signature(read_layout(self.config)))]
    """The chunks, in their order."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self.bits = (config.vector - 1).bit_length()
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        local = len(Signal(local_address(self.config)))
        addresses = {
            "a": Address(local, [W0, W1, CHUNK, I0, I1, I2]),
            "b": Address(local, [W0, W1, CHUNK, I0, I1, I2]),
            "target": Address(LOCAL_BITS, [CHUNK, I0, I1, I2]),
            "row": Address(LOCAL_BITS, [W1, I1]),
            "column": Address(LOCAL_BITS, [W0, I0]),
        }
        m.submodules.loops = loops = Loops(7, addresses)
        m.submodules.queue = queue = CreditQueue(read_layout(self.config), self.QUEUE)
        connect(m, queue.o, flipped(self.reads))
        start, step, push = Signal(), Signal(), Signal()
        self._take(m, loops, start)
        m.d.comb += [
            loops.o.ready.eq(queue.available),
            step.eq(loops.o.valid & queue.available),
            queue.take.eq(step),
            queue.push.eq(push),
        ]
        m.d.sync += push.eq(step)
        read = Signal(read_layout(self.config), reset_less=True)
        m.d.comb += queue.push_data.eq(read)
        place = loops.o.payload
        m.d.sync += [read.a.eq(place.a), read.b.eq(place.b)]
        m.d.sync += self._chunk(m, read.chunk, place, start, step)
        return m

    def _take(self, m: Module, loops: Loops, start: Signal) -> None:
        """Add the transfer of a command, whose loops are set up in the cycle before."""
        run = self.command.payload.run
        ready = Signal()
        # The loops read a count of 0 as 2^16: that many chunks are not possible.
        chunks = Signal(unsigned(16), reset_less=True)
        m.d.sync += [
            chunks.eq((run + (self.config.vector - 1)) >> self.bits),
            ready.eq(self.command.valid & self.enable & ~ready),
        ]
        m.d.comb += [self.command.ready.eq(ready), start.eq(ready), loops.i.valid.eq(ready)]
        command = self.command.payload
        nest = loops.i.payload
        phase, single = self.first_phase(command)
        passes = Mux(single, 1, phase + 1)
        counts = {PASS: passes, CHUNK: chunks, W0: command.window0, W1: command.window1}
        counts |= {I0: command.count0, I1: command.count1, I2: command.count2}
        m.d.comb += [nest.counts[level].eq(count) for level, count in counts.items()]
        steps = {
            "a": self._steps(command, "a", ~command.repeat_a),
            "b": self._steps(command, "b", command.operand_b == Operand.BYTES),
            "target": self._steps(command, "target", ~single),
            "row": {W1: command.row_window, I1: command.row_step},
            "column": {W0: command.column_window, I0: command.column_step},
        }
        starts = {"a": command.source_a, "b": command.source_b, "target": command.target}
        starts |= {"row": command.row0, "column": command.column0}
        for name, start_value in starts.items():
            m.d.comb += nest[name].start.eq(start_value)
            for j, level in enumerate(loops.addresses[name].loops):
                m.d.comb += nest[name].strides[j].eq(steps[name][level])

    def _steps(self, command: Any, name: str, follows: Value) -> dict[int, Any]:
        """Return the steps of an address, which may follow the run."""
        fields = {I0: f"{name}_step0", I1: f"{name}_step1", I2: f"{name}_step2"}
        if name != "target":
            fields |= {W0: f"{name}_window0", W1: f"{name}_window1"}
        steps = {level: command[field] for level, field in fields.items()}
        return steps | {CHUNK: Mux(follows, C(self.config.vector, LOCAL_BITS), 0)}

    def _chunk(
        self, m: Module, chunk: data.View, place: Any, start: Value, step: Value
    ) -> list[Any]:
        """Return the assignments of everything but the addresses, from where the loops stand."""
        tail = Signal(self.bits, reset_less=True)
        rows, columns = (Signal(16, name=name, reset_less=True) for name in ("rows", "columns"))
        phase, restart = (Signal(2, name=name, reset_less=True) for name in ("phase", "restart"))
        single = Signal(reset_less=True)
        command = self.command.payload
        ends = place.ends
        first_phase, one_result = self.first_phase(command)
        with m.If(start):
            m.d.sync += [
                tail.eq(command.run - 1),
                rows.eq(command.rows),
                columns.eq(command.columns),
                single.eq(one_result),
            ]
        window = Cat(ends[W0], ends[W1]).all()
        row = window & ends[CHUNK]
        # What the iteration before tells of this one.
        first, begin = Signal(), Signal()
        with m.If(start | step):
            m.d.sync += [first.eq(start | window), begin.eq(start | row)]
        # Phases count down to 0, the output.
        with m.If(start):
            m.d.sync += [phase.eq(first_phase), restart.eq(first_phase)]
        with m.Elif(step & row):
            m.d.sync += phase.eq(Mux(ends[PASS], restart, phase - 1))
        last_element = Signal(self.bits)
        end = Signal(LOCAL_BITS)
        m.d.comb += [
            last_element.eq(Mux(ends[CHUNK], tail, self.config.vector - 1)),
            end.eq(place.target + Mux(single, 0, last_element)),
        ]
        output = phase == Phase.OUTPUT
        high = len(chunk.result.address)
        return [
            chunk.outside.eq(~(self._below(place.row, rows) & self._below(place.column, columns))),
            chunk.last_element.eq(last_element),
            chunk.first.eq(first),
            chunk.writes.eq(Mux(single, row, window & output)),
            chunk.phase.eq(phase),
            chunk.begin.eq(begin),
            chunk.end.eq(row),
            chunk.waits.eq(row & ~single & ~output),
            chunk.result.address.eq(place.target),
            chunk.result.last_element.eq(Mux(single, 0, last_element)),
            chunk.result.fault.eq(place.target[high:].any() | end[high:].any()),
            chunk.result.done.eq(place.last),
        ]

    def first_phase(self, command: Any) -> tuple[Value, Value]:
        """Return the phase of a row's first pass, and whether it is the only one."""
        single = Cat(command.row == kind for kind in ROW_RESULTS).any()
        phase: Value = C(Phase.OUTPUT.value, 2)
        for kind, first in FIRST_PHASES.items():
            phase = Mux(command.row == kind, first.value, phase)
        goes_on = Mux(command.relative, Phase.EXTREME.value, Phase.SUM.value)
        scales = Mux(command.resume, Phase.OUTPUT.value, goes_on)
        return Mux((phase == Phase.SUM.value) & ~single, scales, phase), single

    def _below(self, number: Value, limit: Value) -> Value:
        """Return whether a row or column number is in [0, limit)."""
        return ~number[16:].any() & (number[:16] < limit)
