"""The MAC array: streams of weights, parameters and activations in, int8 results out."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, Signal, Value, signed, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.array.depthwise_lines import DepthwiseLines, older_layout
from eightfold.hw.array.issue import Issue
from eightfold.hw.array.issue_words import REASON_LAYOUT, step_layout
from eightfold.hw.array.lane import Lane, LaneRequantizer, SharedRequantizers
from eightfold.hw.array.lane_control import LaneControl, lane_control_layout, result_cycle
from eightfold.hw.array.parameters import (
    ParameterLoader,
    parameter_lanes,
    parameter_write_layout,
)
from eightfold.hw.array.weights import WeightLoader, weight_write_layout
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.delay import delay, delays
from eightfold.hw.blocks.layouts import (
    activation_layout,
    parameter_layout,
    result_layout,
    weight_layout,
)
from eightfold.hw.ports import requantize_port
from eightfold.target.config import AcceleratorConfig

GROUP = 4
"""Lanes that share one register of every broadcast."""


def latency(config: AcceleratorConfig) -> int:
    """Return the cycles from an activation vector to its result if nothing holds it."""
    # Three registers of the front end, those on the way to a lane, the lane, the queue.
    return 3 + LaneControl.AHEAD + result_cycle(config) + CreditQueue.LATENCY


def lane_groups(config: AcceleratorConfig) -> list[list[int]]:
    """Return the lanes of each group; those that are a channel's two pixels are in the same."""
    pixel = config.pixel
    pairs = [lane for first in range(pixel) for lane in (first, first + pixel)]
    lanes = [*pairs, *range(2 * pixel, parameter_lanes(config))]
    return [lanes[start : start + GROUP] for start in range(0, len(lanes), GROUP)]


class LaneGroup(Component):
    """Up to `GROUP` lanes behind one register, which cuts the way from the front end.

    Timing
    ------
    The lanes' cycle 0 is one cycle after the inputs ``step``, ``older``, ``weights`` and
    ``parameters``, of which a lane sees only its own. ``control`` goes straight to the lanes.

    Parameters
    ----------
    config
        All of its sizes.
    lanes
        Their numbers.
    """

    step: Annotated[data.View, lambda self: In(step_layout(self.config))]
    older: Annotated[data.View, lambda self: In(older_layout(self.config))]
    weights: Annotated[data.View, lambda self: In(weight_write_layout(self.config))]
    parameters: Annotated[data.View, lambda self: In(parameter_write_layout(self.config))]
    control: Annotated[data.View, lambda self: In(lane_control_layout(self.config))]
    vector_sums: Annotated[
        data.View, lambda self: In(data.ArrayLayout(signed(32), self.config.vector_lanes))
    ]
    """Of all lanes of the vector engine."""
    results: Annotated[Signal, lambda self: Out(unsigned(8 * len(self.lanes)))]
    """The results of the lanes, the first one's lowest."""
    sums: Annotated[Signal, lambda self: Out(unsigned(32 * len(self.lanes)))]
    """Their sums, for requantizers that they share."""

    def __init__(self, config: AcceleratorConfig, lanes: list[int]) -> None:
        self.config, self.lanes = config, lanes
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = step_layout(self.config)(delay(m, self.step, "step1", reset=True))
        weights = weight_write_layout(self.config)(delay(m, self.weights, "weights1", reset=True))
        parameters = parameter_write_layout(self.config)(
            delay(m, self.parameters, "parameters1", reset=True)
        )
        windows = self._windows(m, step)
        results, sums = [], []
        for index in self.lanes:
            if index < self.config.lanes:
                lane = Lane(self.config)
                write = lane.write_parameters
            else:
                lane = LaneRequantizer(self.config)
                write = lane.write
            m.submodules[f"lane{index}"] = lane
            results.append(lane.result)
            m.d.comb += [
                write.eq(parameters.lanes[index]),
                lane.bank.eq(parameters.bank),
                lane.requantize.eq(parameters.requantize),
                lane.control.eq(self.control),
            ]
            if index < self.config.vector_lanes:
                m.d.comb += lane.vector_sum.eq(self.vector_sums[index])
            if isinstance(lane, LaneRequantizer):
                continue
            sums.append(lane.sum)
            if index in windows:
                m.d.comb += Value.cast(lane.window).eq(windows[index])
            m.d.comb += [
                lane.step.eq(step),
                lane.write_taps.eq(weights.lanes[index]),
                lane.taps.eq(weights.taps),
            ]
        m.d.comb += [self.results.eq(Cat(results)), self.sums.eq(Cat(sums))]
        return m

    def _windows(self, m: Module, step: data.View) -> dict[int, Value]:
        """Return what enters the windows of the lanes that have a byte; the others' stay 0."""
        windows: dict[int, Value] = {}
        for lane in self.lanes:
            if lane < min(self.config.lanes, self.config.width):
                older = (self.older[row][lane] for row in range(self.config.window_rows - 1))
                delayed = (
                    delay(m, byte, f"row{row}_{lane}_1", reset=True)
                    for row, byte in enumerate(older, start=1)
                )
                windows[lane] = Cat(step.bytes[lane], *delayed)
        if pixel := self.config.pixel:
            others = {lane: windows[(lane + pixel) % (2 * pixel)] for lane in windows}
            return {lane: Cat(own, others[lane]) for lane, own in windows.items()}
        return windows


class MacArray(Component):
    """Multiply, accumulate and requantize, ``lanes * width`` products per cycle.

    Weights stand still in the lanes, activation vectors pass, partial sums wait in each lane's RAM.
    `eightfold.sim.machine.beats.results` states what comes out for any three streams of words;
    `eightfold.isa` defines the words.

    Timing
    ------
    One activation vector per cycle, `latency` cycles from a vector to its result, one result vector
    per vector with ``fire`` and ``last``, in order. A vector waits

    - with ``next_weights``, for a full weight buffer: loading it takes a cycle per word, while the
      one before is in use, so a pass of a single vector takes exactly ``lanes`` cycles,
    - with ``next_parameters``, for a parameter bank; a bank is free again when the vector that
      advanced past it has left the pipeline,
    - without ``first``, until its partial sum is `PartialSums.REVISIT` cycles old,
    - with ``last``, for a place in the result queue of ``output_depth`` vectors, and while the
      vector engine has the requantizers.

    ``line`` of a depthwise vector is `eightfold.isa.MIN_LINE` to ``line_depth``, as 0.

    Any stream may stall at any time.

    Parameters
    ----------
    config
        All of its sizes.
    """

    weights: Annotated[
        stream.Interface, lambda self: In(stream.Signature(weight_layout(self.config)))
    ]
    """Weight buffers, a lane per word."""
    parameters: Annotated[stream.Interface, In(stream.Signature(parameter_layout()))]
    """Parameter banks, a lane per word."""
    activations: Annotated[
        stream.Interface, lambda self: In(stream.Signature(activation_layout(self.config)))
    ]
    """Vectors."""
    results: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(result_layout(self.config)))
    ]
    """A byte for each lane."""
    vector: Annotated[Any, lambda self: In(requantize_port(self.config))]
    """Sums of the vector engine, for the lanes' requantizers."""
    reason: Annotated[data.View, Out(REASON_LAYOUT)]
    """Why the front end does not issue, see `Issue`."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.issue = issue = Issue(self.config)
        m.submodules.lines = lines = DepthwiseLines(self.config)
        m.submodules.weight_loader = weights = WeightLoader(self.config)
        m.submodules.parameter_loader = parameters = ParameterLoader(self.config)
        m.submodules.control = control = LaneControl(self.config)
        queue = CreditQueue(result_layout(self.config), self.config.output_depth)
        m.submodules.queue = queue
        connect(m, flipped(self.activations), issue.activations)
        connect(m, flipped(self.weights), weights.words)
        connect(m, flipped(self.parameters), parameters.words)
        connect(m, queue.o, flipped(self.results))
        connect(m, flipped(self.vector.change), parameters.vector)
        # A vector's sums take the requantizers for all turns.
        reserved = delays(m, self.vector.reserve, "reserved{}", self.config.turns - 1, reset=True)
        m.d.comb += [
            issue.weights.eq(weights.supply),
            issue.parameters.eq(parameters.supply),
            issue.credit.one.eq(queue.available),
            issue.credit.two.eq(queue.several),
            weights.take.eq(issue.swap),
            parameters.take.eq(issue.take),
            queue.take.eq(issue.spend),
            issue.reserved.eq(Cat(reserved).any()),
            control.reserve.eq(self.vector.reserve),
            control.sum.eq(issue.sum),
            control.bank.eq(issue.bank),
            parameters.retire.eq(control.retire),
            lines.i.eq(issue.step),
            lines.line.eq(issue.line),
            self.reason.eq(issue.reason),
            queue.push.eq(control.valid),
        ]
        results: dict[int, Value] = {}
        sums: dict[int, Value] = {}
        for number, lanes in enumerate(lane_groups(self.config)):
            m.submodules[f"group{number}"] = group = LaneGroup(self.config, lanes)
            for place, lane in enumerate(lanes):
                results[lane] = group.results.word_select(place, 8)
                if lane < self.config.lanes:
                    sums[lane] = group.sums.word_select(place, 32)
            m.d.comb += [
                group.step.eq(lines.o),
                group.older.eq(lines.older),
                group.weights.eq(weights.write),
                group.parameters.eq(parameters.write),
                group.control.eq(control.lanes),
                group.vector_sums.eq(self.vector.sums),
            ]
        if self.config.turns > 1:
            self._share(m, Cat(sums[lane] for lane in sorted(sums)), parameters, control, queue)
            return m
        in_order = Cat(results[lane] for lane in sorted(results))
        m.d.comb += [
            queue.push_data.eq(in_order[: 8 * self.config.lanes]),
            Value.cast(self.vector.results).eq(in_order),
        ]
        return m

    def _share(
        self,
        m: Module,
        sums: Value,
        parameters: ParameterLoader,
        control: LaneControl,
        queue: CreditQueue,
    ) -> None:
        """Add the requantizers that all lanes share."""
        m.submodules.requantizers = shared = SharedRequantizers(self.config)
        m.d.comb += [
            Value.cast(shared.sums).eq(sums),
            shared.vector_sums.eq(self.vector.sums),
            shared.parameters.eq(parameters.write),
            shared.control.eq(control.lanes),
            queue.push_data.eq(shared.results),
            Value.cast(self.vector.results).eq(shared.vector_results),
        ]
