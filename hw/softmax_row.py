"""What SOFTMAX needs to know of a row: its maximum, and the reciprocal of a sum."""

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import C, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from eightfold.isa import Row
from hw.delay import delay
from hw.requantize_pipeline import register
from hw.row_function import RowFunction
from hw.vector_lane import VectorLane
from hw.vector_words import Phase, beat_layout

LOWEST = -128


class SoftmaxRow(wiring.Component):
    """Find a row's maximum in one pass, and the reciprocal of its table_b entries in another.

    With S the sum of the entries, as a number with 12 integer bits, ``multiplier`` and ``right``
    requantize a fraction of 31 bits to 256 / S of it. Source: TFLite, Softmax of int8; S must be
    1 to 2^28 - 1, as it must there.

    Timing
    ------
    Takes `vector_lanes` elements per cycle. ``known`` comes `maximum_cycle` cycles after the last
    beat of the first pass. After that of the second it takes `sum_cycle` cycles, those of
    `RowFunction.latency` and one for each leading zero of S. ``maximum`` holds until the next row's
    beats arrive in cycle `maximum_cycle`, ``multiplier`` and ``right`` until its sum is complete.

    Parameters
    ----------
    config
        ``vector_lanes``.

    Members
    -------
    beat : ``In(beat_layout(config))``
        A beat as it enters the lanes; cycle 0.
    bytes : ``In(ArrayLayout(signed(8), vector_lanes))``
        Its elements, in cycle `VectorLane.BYTE_CYCLE`.
    entries : ``In(ArrayLayout(signed(32), vector_lanes))``
        Their table_b entries, in cycle `VectorLane.OPERAND_CYCLE`.
    maximum : ``Out(signed(8))``
    multiplier : ``Out(unsigned(31))``
    right : ``Out(unsigned(6))``
    summed : ``Out(1)``
        1 for one cycle: ``multiplier`` and ``right`` are there.
    known : ``Out(1)``
        1 for one cycle: what the pass was for is there.
    """

    beat: data.View
    bytes: Any
    entries: Any
    maximum: Signal
    multiplier: Signal
    right: Signal
    summed: Signal
    known: Signal

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        lanes = config.vector_lanes
        self.levels = lanes.bit_length() - 1
        self.maximum_cycle = VectorLane.BYTE_CYCLE + self.levels + 2
        self.sum_cycle = VectorLane.OPERAND_CYCLE + self.levels + 2
        super().__init__(
            {
                "beat": In(beat_layout(config)),
                "bytes": In(data.ArrayLayout(signed(8), lanes)),
                "entries": In(data.ArrayLayout(signed(32), lanes)),
                "maximum": Out(signed(8)),
                "multiplier": Out(unsigned(31)),
                "right": Out(unsigned(6)),
                "summed": Out(1),
                "known": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mask = Signal(self.config.vector_lanes)
        last_lane = Value.cast(self.beat.last_lane)
        m.d.comb += [mask[i].eq(last_lane >= i) for i in range(self.config.vector_lanes)]
        found = self._over_row(
            m, "maximum", Phase.MAXIMUM, VectorLane.BYTE_CYCLE, self.bytes, mask, LOWEST, larger
        )
        m.d.comb += self.maximum.eq(found[0])
        total, complete = self._over_row(
            m, "sum", Phase.SUM, VectorLane.OPERAND_CYCLE, self.entries, mask, 0, wrapping_sum
        )
        m.submodules.function = function = RowFunction()
        m.d.comb += [
            function.start.eq(complete),
            function.function.eq(Row.RECIPROCAL),
            function.x.eq(total),
            self.multiplier.eq(function.multiplier),
            self.right.eq(function.right),
            self.summed.eq(function.done),
            self.known.eq(found[1] | function.done),
        ]
        return m

    def _over_row(
        self,
        m: Module,
        name: str,
        phase: Phase,
        cycle: int,
        elements: Any,
        mask: Signal,
        neutral: int,
        operation: Callable[[Value, Value], Value],
    ) -> tuple[Signal, Value]:
        """Reduce the elements of a pass; return the result, and 1 when it is complete.

        A register holds the elements, then each level of a tree, then the beats so far.
        """
        mine = self.beat.valid & (self.beat.phase == phase)
        mask = Value.cast(delay(m, mask, cycle, f"{name}_mask"))  # type: ignore[assignment]
        values: Sequence[Value] = [
            register(
                m, name, Mux(mask[i], elements[i], C(neutral, elements[i].shape())).as_signed()
            )
            for i in range(self.config.vector_lanes)
        ]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [register(m, name, operation(x, y)) for x, y in pairs]
        cycle += 1 + self.levels
        valid = delay(m, mine, cycle, f"{name}_valid")
        begin = delay(m, self.beat.begin, cycle, f"{name}_begin")
        end = delay(m, mine & self.beat.end, cycle + 1, f"{name}_end")
        so_far = Signal(values[0].shape(), name=f"{name}_so_far", reset_less=True)
        with m.If(valid):
            m.d.sync += so_far.eq(Mux(begin, values[0], operation(so_far, values[0])))
        return so_far, end


def larger(x: Value, y: Value) -> Value:
    """Return the larger of two signed numbers."""
    return Mux(x < y, y, x).as_signed()


def wrapping_sum(x: Value, y: Value) -> Value:
    """Return the sum, wrapped to the width of the operands."""
    return (x + y)[: len(x)].as_signed()
