"""A lane: one output channel, from int8 operands to int8 results.

The vector engine's results are requantized here as well: a requantizer is a quarter of a lane, and
the two engines seldom need it in the same cycle.
"""

from functools import reduce
from operator import or_
from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold import isa
from eightfold.hw.array.dot_product import DotProduct
from eightfold.hw.array.issue_words import step_layout
from eightfold.hw.array.lane_control import lane_control_layout
from eightfold.hw.array.multiplier import taps_layout
from eightfold.hw.array.parameters import (
    ParameterMemory,
    parameter_write_layout,
    places,
    turn_bits,
)
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.array.weights import WeightBuffer
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delays
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.target.config import AcceleratorConfig


class LaneRequantizer(Component):
    """Requantize the lane's sum, or the vector engine's, by the parameters of a bank.

    Timing
    ------
    One result per cycle, `RequantizePipeline.LATENCY` cycles behind its accumulator; ``control``
    as `LaneControl` says.

    Parameters
    ----------
    config
        ``parameter_banks``.
    """

    sum: Annotated[Signal, In(signed(32))]
    """The lane's."""
    vector_sum: Annotated[Signal, In(signed(32))]
    """The vector engine's, instead with ``control.vector``."""
    write: Annotated[Signal, In(1)]
    """``requantize`` goes into ``bank``."""
    bank: Annotated[Signal, lambda self: In(range(places(self.config)))]
    requantize: Annotated[data.View, In(REQUANTIZE_LAYOUT)]
    """Parameters of a bank."""
    control: Annotated[data.View, lambda self: In(lane_control_layout(self.config))]
    """See `LaneControl`."""
    result: Annotated[Signal, Out(signed(8))]
    """The requantized sum."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.parameters = parameters = ParameterMemory(self.config)
        m.submodules.pipeline = pipeline = RequantizePipeline()
        m.d.comb += [
            parameters.write.eq(self.write),
            parameters.bank.eq(self.bank),
            parameters.requantize.eq(self.requantize),
            parameters.banks.eq(self.control.banks),
            pipeline.acc.eq(Mux(self.control.vector, self.vector_sum, self.sum)),
            self.result.eq(pipeline.result),
        ]
        for name, _ in isa.REQUANTIZE_LAYOUT:
            m.d.comb += getattr(pipeline, name).eq(parameters.parameters[name])
        return m


class SharedRequantizers(Component):
    """Requantize the sums of all lanes in turn: requantizer r takes those of lanes r, r + n, ...,
    of n requantizers.

    Timing
    ------
    ``sums`` in the cycle of ``control.sums``, which comes `AcceleratorConfig.turns` cycles after
    the one before at least; ``results`` of all lanes together, in cycle
    `eightfold.hw.array.lane_control.result_cycle`. ``vector_results`` as of a `LaneRequantizer`.

    Parameters
    ----------
    config
        ``lanes``, ``vector_lanes``, ``requantizers`` and ``parameter_banks``.
    """

    sums: Annotated[data.View, lambda self: In(data.ArrayLayout(signed(32), self.config.lanes))]
    vector_sums: Annotated[
        data.View, lambda self: In(data.ArrayLayout(signed(32), self.config.vector_lanes))
    ]
    parameters: Annotated[data.View, lambda self: In(parameter_write_layout(self.config))]
    """What is written."""
    control: Annotated[data.View, lambda self: In(lane_control_layout(self.config))]
    """See `LaneControl`."""
    results: Annotated[data.View, lambda self: Out(data.ArrayLayout(8, self.config.lanes))]
    vector_results: Annotated[
        data.View, lambda self: Out(data.ArrayLayout(8, self.config.vector_lanes))
    ]

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        for number in range(config.requantizers):
            lanes = range(number, config.lanes, config.requantizers)
            m.submodules[f"requantizer{number}"] = unit = LaneRequantizer(config)
            written = Cat(self.parameters.lanes[lane] for lane in lanes)
            # The vector engine's, which all lanes get at once, are those of turn 0.
            turns = [Mux(written[turn] & ~written.all(), turn, 0) for turn in range(len(lanes))]
            turn = Signal(turn_bits(config), name=f"turn{number}")
            m.d.comb += [
                turn.eq(reduce(or_, turns)),
                unit.write.eq(written.any()),
                unit.bank.eq(Cat(turn, self.parameters.bank)),
                unit.requantize.eq(self.parameters.requantize),
                unit.control.eq(self.control),
                unit.sum.eq(self._in_turn(m, [self.sums[lane] for lane in lanes])),
            ]
            if number < config.vector_lanes:
                m.d.comb += unit.vector_sum.eq(self.vector_sums[number])
                m.d.comb += self.vector_results[number].eq(unit.result)
            # Those of earlier turns wait for that of the last one.
            waiting = delays(m, unit.result, f"result{number}_{{}}", config.turns - 1)
            m.d.comb += [
                self.results[lane].eq(waiting[config.turns - 1 - turn])
                for turn, lane in enumerate(lanes)
            ]
        return m

    def _in_turn(self, m: Module, sums: list[Value]) -> Value:
        """Return the first of the sums, and in the cycles after it the others."""
        taken: Value = sums[-1]
        for value in reversed(sums[:-1]):
            following = Signal(signed(32), reset_less=True)
            m.d.sync += following.eq(taken)
            taken = Mux(self.control.sums, value, following).as_signed()
        return taken


def window_layout(config: AcceleratorConfig) -> data.ArrayLayout:
    """Return what enters the window of a lane: a byte for each row, of one pixel or of two."""
    return data.ArrayLayout(signed(8), config.window_rows * (2 if config.pixel else 1))


class Lane(Component):
    """Multiply, accumulate and requantize for one output channel.

    Operands: a vector of all lanes (``step.bytes``), or with ``step.depthwise`` a window: then the
    operand register itself slides, by one tap per vector, in segments of ``config.window_columns``
    taps. ``window[s]`` enters at the first tap of segment s; taps behind the last segment continue
    it. With ``step.pairs`` the other pixel's bytes enter in the middle of a segment, at tap
    ``config.window_columns // 2`` of it. A dense vector in between replaces all of it.

    Timing
    ------
    One vector per cycle, no stalls, no handshake. Cycles count from ``step``: the weights change
    with it if ``step.swap``; ``control`` follows as `LaneControl` says; ``result`` comes in cycle
    `eightfold.hw.array.lane_control.result_cycle`.

    Parameters
    ----------
    config
        ``width``, ``psum_depth``, ``parameter_banks`` and ``multiplier``.
    """

    step: Annotated[data.View, lambda self: In(step_layout(self.config))]
    """A vector for all lanes."""
    window: Annotated[data.View, lambda self: In(window_layout(self.config))]
    """This lane's byte of a depthwise vector and of those some lines before; behind them the same
    of the vector's other pixel, if it may have two."""
    write_taps: Annotated[Signal, In(1)]
    """``taps`` go into the shadow buffer."""
    taps: Annotated[data.View, lambda self: In(taps_layout(self.config))]
    """This lane's next weights."""
    write_parameters: Annotated[Signal, In(1)]
    """``requantize`` goes into ``bank``."""
    bank: Annotated[Signal, lambda self: In(range(self.config.parameter_banks))]
    requantize: Annotated[data.View, In(REQUANTIZE_LAYOUT)]
    """Parameters of a bank."""
    vector_sum: Annotated[Signal, In(signed(32))]
    """A sum of the vector engine."""
    control: Annotated[data.View, lambda self: In(lane_control_layout(self.config))]
    """See `LaneControl`."""
    result: Annotated[Signal, Out(signed(8))]
    """The requantized sum, the lane's or the vector engine's; 0 if lanes share requantizers."""
    sum: Annotated[Signal, Out(signed(32))]
    """What is requantized, in the cycle of ``control.sums``."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.weights = weights = WeightBuffer(self.config)
        m.submodules.dot_product = dot_product = DotProduct(self.config)
        m.submodules.sums = sums = PartialSums(self.config, len(dot_product.sum))
        self._operands(m, dot_product)
        if self.config.turns == 1:
            self._requantizer(m, sums)
        m.d.comb += [
            weights.write.eq(self.write_taps),
            weights.swap.eq(self.step.swap),
            weights.taps.eq(self.taps),
            dot_product.weights.eq(weights.active),
            sums.read_slot.eq(self.control.read_slot),
            sums.clear.eq(self.control.clear),
            sums.write.eq(self.control.write),
            sums.write_slot.eq(self.control.write_slot),
            sums.dot.eq(dot_product.sum),
            sums.carry.eq(dot_product.carry),
            self.sum.eq(sums.acc),
        ]
        return m

    def _requantizer(self, m: Module, sums: PartialSums) -> None:
        m.submodules.requantizer = requantizer = LaneRequantizer(self.config)
        m.d.comb += [
            requantizer.sum.eq(sums.acc),
            requantizer.vector_sum.eq(self.vector_sum),
            requantizer.write.eq(self.write_parameters),
            requantizer.bank.eq(self.bank),
            requantizer.requantize.eq(self.requantize),
            requantizer.control.eq(self.control),
            self.result.eq(requantizer.result),
        ]

    def _operands(self, m: Module, dot_product: DotProduct) -> None:
        """Register the dot product's operands: the vector, or the window moved by one."""
        operands = Signal(data.ArrayLayout(signed(8), self.config.width), reset_less=True)
        m.d.comb += dot_product.operands.eq(operands)
        with m.If(self.step.valid):
            for d in range(self.config.width):
                # What a move of the window brings to the tap.
                segment, column = divmod(d, self.config.window_columns)
                enters = column == 0 and segment < self.config.window_rows
                younger = self.window[segment] if enters else operands[d - 1]
                if self.config.pixel and column == self.config.window_columns // 2:
                    other = self.window[self.config.window_rows + segment]
                    younger = Mux(self.step.pairs, other, younger)
                m.d.sync += operands[d].eq(Mux(self.step.depthwise, younger, self.step.bytes[d]))
