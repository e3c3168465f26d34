"""The vector engine: element-wise operators, reductions over windows, operators on rows."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.array.lane_control import reservation
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay, delays
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.ports import engine_port, requantize_port, scratchpad_read, scratchpad_write
from eightfold.hw.vector.beats import VectorBeats
from eightfold.hw.vector.lane import VectorLane
from eightfold.hw.vector.reader import VectorReader
from eightfold.hw.vector.row_unit import RowUnit
from eightfold.hw.vector.walk import VectorWalk
from eightfold.hw.vector.words import operation_layout, table_load_layout, table_write_layout
from eightfold.hw.vector.writer import VectorWriter
from eightfold.isa import (
    ROW_RESULTS,
    VECTOR,
    Combine,
    ErrorCode,
    Operand,
    Reduce,
    Row,
)
from eightfold.target.config import AcceleratorConfig

STATUS_LAYOUT = data.StructLayout({"busy": 1, "moving": 1})
"""``busy``: there is a command; ``moving``: a read or a write has been transferred."""


def sum_cycle(config: AcceleratorConfig) -> int:
    """Return the cycle in which the array gets an element's sum, counted from its beat: behind a
    register for the way there, and not before it could be reserved."""
    return max(VectorLane.LATENCY + 1, reservation(config))


class VectorEngine(Component):
    """Execute VECTOR commands, one after the other; `eightfold.isa.VECTOR` states what they mean.

    `eightfold.sim.machine.vector.run_vector` is the same in numpy. `VectorWalk` lists the chunks,
    `vector` bytes each or the rest of a run, at each position of the window; `VectorReader` reads
    ahead; `VectorBeats` sends them into the lanes, `vector_lanes` elements per cycle;
    `VectorWriter` collects and writes the results. Behind `VectorBeats` nothing stalls: a chunk
    starts when there is a place for its results.

    An operator on rows has one pass over each, or several: `RowUnit` watches the beats of a pass,
    beside the lanes. What it finds is the row's only result, which takes the place of a lane's sum,
    or it is ``known`` then, and the next pass starts.

    The requantizers are those of the MAC array's lanes.

    Timing
    ------
    `vector_lanes` elements per cycle and position of the window. A read gives `vector` bytes of one
    operand, so two operands take two cycles per chunk at least. A run's rest takes a beat for each
    `vector_lanes` elements begun. About 40 cycles pass from a command to its first write; the next
    command is taken after ``done``. Rows of one result follow each other without a gap; RECIPROCAL
    takes two passes of a row, three if relative, and about 90 cycles.

    Parameters
    ----------
    config
        ``vector``, ``vector_lanes``, ``tables`` and ``scratchpad``.
    """

    engine: Annotated[Any, Out(engine_port(VECTOR))]
    """Commands."""
    scratch_read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """The port that reads operands."""
    scratch_write: Annotated[Any, lambda self: Out(scratchpad_write(self.config))]
    """The port that writes results."""
    requantizer: Annotated[Any, lambda self: Out(requantize_port(self.config))]
    """What the lanes of the MAC array requantize."""
    tables: Annotated[
        stream.Interface, lambda self: In(stream.Signature(table_load_layout(self.config)))
    ]
    """Entries of the tables; always ready, two cycles before a lookup sees the entry. Must not
    go into a table that the current command uses."""
    status: Annotated[data.View, Out(STATUS_LAYOUT)]
    """From registers."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = VectorWalk(self.config)
        m.submodules.reader = reader = VectorReader(self.config)
        m.submodules.split = split = VectorBeats(self.config)
        m.submodules.row = row = RowUnit(self.config)
        # A result's way starts with the register that takes the chunk.
        latency = max(self._ways(row)) + RequantizePipeline.LATENCY
        m.submodules.writer = writer = VectorWriter(self.config, latency + 2)
        connect(m, flipped(self.engine.command), walk.command)
        connect(m, walk.reads, reader.reads)
        connect(m, reader.scratchpad, flipped(self.scratch_read))
        connect(m, reader.words, split.words)
        connect(m, reader.chunks, split.chunks)
        connect(m, writer.scratchpad, flipped(self.scratch_write))
        busy, taken = Signal(), Signal()
        m.d.comb += [
            taken.eq(self.engine.command.valid & self.engine.command.ready),
            walk.enable.eq(~busy),
            self.engine.done.eq(writer.done),
            self.engine.fault.eq(writer.fault),
            self.engine.code.eq(ErrorCode.ADDRESS),
            split.known.eq(row.known),
            split.available.eq(writer.available),
            writer.reserve.eq(split.reserve),
            writer.result.eq(split.chunks.payload.result),
            row.beat.eq(split.beat),
        ]
        with m.If(taken):
            m.d.sync += busy.eq(1)
        with m.Elif(writer.done):
            m.d.sync += busy.eq(0)
        operation = self._settings(m, taken, row, split)
        m.d.comb += [
            reader.two.eq(operation.two),
            split.operation.eq(operation),
            row.operation.eq(operation),
        ]
        self._lanes(m, split, row, writer, operation)
        self._status(m, busy, reader, writer)
        return m

    def _settings(self, m: Module, taken: Value, row: RowUnit, split: VectorBeats) -> data.View:
        """Return what holds for a whole command, and send what holds for a row's results."""
        command = self.engine.command.payload
        operation = Signal(operation_layout(self.config), reset_less=True)
        requantize = Signal(REQUANTIZE_LAYOUT, reset_less=True)
        rows = command.row != Row.NONE
        single = Cat(command.row == k for k in ROW_RESULTS).any()
        extreme = (command.row == Row.MAXIMUM) | (command.row == Row.MINIMUM)
        word, position = (command.operand_b == k for k in (Operand.WORD, Operand.POSITION))
        with m.If(taken):
            m.d.sync += [
                operation.combine.eq(Mux(rows, Combine.A, command.combine)),
                operation.two.eq((command.combine != Combine.A) & ~rows & ~position),
                operation.repeat_a.eq(command.repeat_a),
                operation.repeat_b.eq(command.operand_b == Operand.REPEAT),
                operation.common.eq((word | position) & ~rows),
                operation.word.eq(word),
                operation.sum.eq(command.reduce == Reduce.SUM),
                operation.minimum.eq(command.reduce == Reduce.MINIMUM),
                operation.reduces.eq((command.reduce != Reduce.NONE) & ~rows),
                operation.rows.eq(rows),
                operation.relative.eq(command.relative & rows & ~extreme),
                operation.resume.eq(command.resume),
                operation.single.eq(single),
                operation.single_sum.eq(command.row == Row.SUM),
                operation.least.eq(command.row == Row.MINIMUM),
                *(operation[n].eq(command[n]) for n in ("lookup_a", "lookup_b", "fill")),
                *(operation[n].eq(command[n]) for n in ("table_a", "table_b")),
                requantize.eq(command.requantize),
                row.row.eq(command.row),
            ]
        # Field by field, so that each is a choice of two and not of all that a function might set.
        with m.Elif(row.summed):
            for name, functions in RowUnit.REPLACED.items():
                with m.If(Cat(row.row == function for function in functions).any()):
                    m.d.sync += requantize[name].eq(row.scale[name])
        # A row's function of a sum that is there already comes before all of its chunks.
        again = taken & rows & ~single & command.resume
        m.d.comb += split.hold.eq(again)
        m.d.sync += row.again.eq(again)
        change = self.requantizer.change
        m.d.sync += change.valid.eq(taken | row.summed)
        m.d.comb += change.requantize.eq(requantize)
        return operation

    def _lanes(
        self,
        m: Module,
        split: VectorBeats,
        row: RowUnit,
        writer: VectorWriter,
        operation: data.View,
    ) -> None:
        """Add the lanes, and what goes along beside them."""
        write = Signal(table_write_layout(self.config))
        m.d.comb += self.tables.ready.eq(1)
        m.d.sync += [write.valid.eq(self.tables.valid), write.load.eq(self.tables.payload)]
        beat = split.beat
        reduce = VectorLane.REDUCE_CYCLE
        common = delay(m, split.common, "common{}", VectorLane.OPERAND_CYCLE - 1, reset=True)
        accumulate = delay(m, beat.valid, "accumulate{}", reduce, reset=True)
        restart = delay(m, beat.first | ~operation.reduces, "restart{}", reduce, reset=True)
        index = delay(m, beat.index, "index{}", reduce - 1, reset=True)
        lanes = []
        for number in range(self.config.vector_lanes):
            m.submodules[f"lane{number}"] = lane = self.lane(takes_rows=number == 0)
            lanes.append(lane)
            m.d.comb += [
                lane.a.eq(split.a[number]),
                lane.b.eq(split.b[number]),
                lane.outside.eq(beat.outside),
                lane.accumulate.eq(accumulate),
                lane.restart.eq(restart),
                lane.index.eq(index),
                lane.operation.eq(operation),
                lane.maximum.eq(row.maximum),
                lane.common.eq(common),
                lane.row_result.eq(row.result if lane.takes_rows else 0),
                lane.write.eq(write),
                row.bytes[number].eq(lane.byte),
                row.entries[number].eq(lane.operand_b),
            ]
        late = sum_cycle(self.config) - VectorLane.LATENCY
        sums = delay(m, Cat(lane.sum for lane in lanes), "sums{}", late)
        m.d.comb += [
            Value.cast(self.requantizer.sums).eq(sums),
            writer.results.eq(Cat(self.requantizer.results)),
        ]
        self._emit(m, beat, index, row, writer, operation)

    def _ways(self, row: RowUnit) -> tuple[int, int, int]:
        """Return the cycles from a beat to the array, of its elements, and of the results of rows
        whose last beat it is: an extreme, a sum."""
        way = sum_cycle(self.config)
        late = way - VectorLane.LATENCY
        extreme, total = (max(way, cycle + late) for cycle in (row.extreme_cycle, row.sum_cycle))
        return way, extreme, total

    def _emit(
        self,
        m: Module,
        beat: data.View,
        index: Value,
        row: RowUnit,
        writer: VectorWriter,
        operation: data.View,
    ) -> None:
        """Reserve the requantizers, and tell the writer when there are results: those of rows take
        ways of their own length."""
        ways = self._ways(row)
        requantizes = RequantizePipeline.LATENCY

        stages = {
            flag: delays(m, beat[flag], f"{flag}{{}}", max(ways) + requantizes, reset=True)
            for flag in ("emit", "close")
        }

        def at(flag: str, cycles: int) -> Value:
            """Return the beat's flag that many cycles after, or before, its sum."""
            result, extreme, total = (stages[flag][way + cycles] for way in ways)
            return Mux(operation.single, Mux(operation.single_sum, total, extreme), result)

        m.d.comb += [
            self.requantizer.reserve.eq(at("emit", -reservation(self.config))),
            writer.emit.eq(at("emit", requantizes)),
            writer.close.eq(at("close", requantizes)),
        ]
        behind = ways[0] + requantizes - VectorLane.REDUCE_CYCLE + 1
        place = delay(m, index, "result_index{}", behind, reset=True)
        m.d.comb += writer.index.eq(Mux(operation.single, 0, place))

    def lane(self, takes_rows: bool) -> VectorLane:
        """Return a lane."""
        return VectorLane(self.config, takes_rows)

    def _status(self, m: Module, busy: Value, reader: VectorReader, writer: VectorWriter) -> None:
        """Add the status, from registers."""
        target = writer.scratchpad
        written = Signal()
        m.d.sync += written.eq(target.valid & target.ready)
        m.d.comb += [self.status.busy.eq(busy), self.status.moving.eq(reader.moving | written)]
