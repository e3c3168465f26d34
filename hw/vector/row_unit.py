"""What operators on rows find out: extremes, sums, and functions of a sum."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT, hdl
from eightfold.hw.vector.lane import VectorLane
from eightfold.hw.vector.row_function import RowFunction
from eightfold.hw.vector.words import Phase, beat_layout, operation_layout
from eightfold.isa import Row
from eightfold.target.config import AcceleratorConfig

SCALE_LAYOUT = data.StructLayout(
    {name: REQUANTIZE_LAYOUT[name].shape for name in ("multiplier", "left", "right", "bias")}
)

LOWEST = -128

NUMBER_BITS = 16
"""The bits of an element's number in its row."""


class RowUnit(Component):
    """Find a row's extreme in one pass, and the sum of its table_b entries in another.

    An extreme is the largest byte, or with ``operation.least`` the smallest, and the number of the
    first element that has it. What the next pass needs of a sum is `RowFunction` of it.

    Timing
    ------
    Takes `vector_lanes` elements per cycle, rows without a gap. ``result`` of a row comes
    `extreme_cycle` or `sum_cycle` cycles after its last beat, or with a lane's sum if that is
    later, and stays for a cycle at least.
    ``known`` comes `extreme_cycle` cycles after the last beat of the first pass, and after that of
    the second when `RowFunction` is done. ``maximum`` holds until the next row's beats arrive,
    what ``replace`` sets until its ``function``.

    Parameters
    ----------
    config
        ``vector_lanes`` and ``rows``.
    """

    beat: Annotated[data.View, lambda self: In(beat_layout(self.config))]
    """A beat as it enters the lanes; cycle 0."""
    operation: Annotated[data.View, lambda self: In(operation_layout(self.config))]
    """What holds for the command."""
    row: Annotated[Any, In(hdl(Row))]
    """What becomes of a sum."""
    again: Annotated[Signal, In(1)]
    """1 for one cycle: the function of the sum before is needed; with ``operation`` and
    ``row``."""
    bytes: Annotated[Any, lambda self: In(data.ArrayLayout(signed(8), self.config.vector_lanes))]
    """The beat's elements, in cycle `VectorLane.BYTE_CYCLE`."""
    entries: Annotated[Any, lambda self: In(data.ArrayLayout(signed(32), self.config.vector_lanes))]
    """Their table_b entries, in cycle `VectorLane.OPERAND_CYCLE`."""
    maximum: Annotated[Signal, Out(signed(8))]
    """The extreme byte of the row."""
    result: Annotated[Signal, Out(signed(32))]
    """The result of a row that has one: what is requantized."""
    scale: Annotated[data.View, Out(SCALE_LAYOUT)]
    """What a row's function gives: fields of the requantizer, which `REPLACED` names."""
    known: Annotated[Signal, Out(1)]
    """1 for one cycle: what the pass was for is there."""
    summed: Annotated[Signal, Out(1)]
    """The same, of the row's function."""

    REPLACED: ClassVar[dict[str, tuple[Row, ...]]] = {
        "multiplier": (Row.RECIPROCAL, Row.INVERSE_ROOT),
        "left": (Row.INVERSE_ROOT,),
        "right": (Row.RECIPROCAL, Row.INVERSE_ROOT),
        "bias": (Row.LOGARITHM,),
    }
    """The requantizer's fields that functions set, and which ones do."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        lanes = config.vector_lanes
        self.levels = lanes.bit_length() - 1
        self.extreme_cycle = VectorLane.BYTE_CYCLE + self.levels + 2
        self.sum_cycle = VectorLane.OPERAND_CYCLE + self.levels + 2
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not self.config.rows:  # all outputs stay 0
            return m
        mask = Signal(self.config.vector_lanes)
        last_lane = Value.cast(self.beat.last_lane)
        m.d.comb += [mask[i].eq(last_lane >= i) for i in range(self.config.vector_lanes)]
        extreme, number, found = self._extreme(m, mask)
        total, complete = self._sum(m, mask)
        m.submodules.function = function = RowFunction()
        m.d.comb += [
            self.maximum.eq(extreme),
            self.result.eq(
                Mux(
                    self.operation.single_sum,
                    self._late(m, total, self.sum_cycle),
                    self._late(m, Cat(number, extreme), self.extreme_cycle).as_signed(),
                )
            ),
            function.start.eq((complete & ~self.operation.single) | self.again),
            function.function.eq(self.row),
            function.x.eq(total),
            self.summed.eq(function.done),
            self.known.eq(found | function.done),
            *(self.scale[name].eq(getattr(function, name)) for name in self.REPLACED),
        ]
        return m

    def _late(self, m: Module, value: Value, cycle: int) -> Value:
        """Return the value of a cycle not before that of a lane's sum."""
        return delay(m, value, "late{}", max(0, VectorLane.LATENCY - cycle))

    def _extreme(self, m: Module, mask: Value) -> tuple[Value, Value, Value]:
        """Return the extreme byte, its element's number, and 1 when they are complete."""
        least = self.operation.least
        # The smallest byte is the complement of the largest complement.
        elements = [Value.cast(byte)[:8] ^ least.replicate(8) for byte in self.bytes]
        cycle = VectorLane.BYTE_CYCLE
        mask = delay(m, mask, "extreme_mask{}", cycle, reset=True)
        neutral = C(LOWEST, signed(8))
        values: list[tuple[Value, Value]] = [
            (delay(m, Mux(mask[i], byte.as_signed(), neutral).as_signed(), "byte"), C(0, 0))
            for i, byte in enumerate(elements)
        ]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [self._larger(m, x, y) for x, y in pairs]
        value, lane = values[0]
        cycle = cycle + 1 + self.levels
        valid, begin, end = self._beats(m, "extreme", Phase.EXTREME, cycle)
        best = Signal(signed(8), reset_less=True)
        beat = Signal(NUMBER_BITS, reset_less=True)
        where = Signal(NUMBER_BITS, reset_less=True)
        with m.If(valid):
            m.d.sync += beat.eq(Mux(begin, 1, beat + 1))
            with m.If(begin | (best < value)):
                m.d.sync += [best.eq(value), where.eq(Cat(lane, Mux(begin, 0, beat)))]
        return (best[:8] ^ least.replicate(8)).as_signed(), where, end

    def _larger(
        self, m: Module, x: tuple[Value, Value], y: tuple[Value, Value]
    ) -> tuple[Value, Value]:
        """Return the larger of two values, the first if they are equal, and its lane."""
        takes_y = x[0] < y[0]
        lane = Cat(Mux(takes_y, y[1], x[1]), takes_y)
        return delay(m, Mux(takes_y, y[0], x[0]).as_signed(), "byte"), delay(m, lane, "lane")

    def _sum(self, m: Module, mask: Value) -> tuple[Signal, Value]:
        """Return the sum of the row's entries, wrapped, and 1 when it is complete."""
        cycle = VectorLane.OPERAND_CYCLE
        mask = delay(m, mask, "sum_mask{}", cycle, reset=True)
        values: Sequence[Value] = [
            delay(m, Mux(mask[i], entry, C(0, signed(32))).as_signed(), "entry")
            for i, entry in enumerate(self.entries)
        ]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [delay(m, wrapping_sum(x, y), "entry") for x, y in pairs]
        valid, begin, end = self._beats(m, "sum", Phase.SUM, cycle + 1 + self.levels)
        total = Signal(signed(32), reset_less=True)
        with m.If(valid):
            m.d.sync += total.eq(Mux(begin, values[0], wrapping_sum(total, values[0])))
        return total, end

    def _beats(self, m: Module, name: str, phase: Phase, cycle: int) -> tuple[Value, Value, Value]:
        """Return whether a beat of the phase is there ``cycle`` cycles after it entered the lanes,
        whether it is its row's first one, and, a cycle later, whether it was the last one."""
        mine = self.beat.valid & (self.beat.phase == phase)
        return (
            delay(m, mine, f"{name}_valid{{}}", cycle, reset=True),
            delay(
                m, self.beat.begin & ~self.operation.resume, f"{name}_begin{{}}", cycle, reset=True
            ),
            delay(m, mine & self.beat.end, f"{name}_end{{}}", cycle + 1, reset=True),
        )


def wrapping_sum(x: Value, y: Value) -> Value:
    """Return the sum, wrapped to the width of the operands."""
    return (x + y)[: len(x)].as_signed()
