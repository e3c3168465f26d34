"""The front end of the MAC array: when a vector of activations may enter the pipeline."""

from typing import Annotated, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.issue_words import (
    REASON_LAYOUT,
    SUPPLY_LAYOUT,
    available_next,
    line_layout,
    step_layout,
    sum_layout,
)
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delays
from eightfold.hw.blocks.layouts import activation_layout
from eightfold.target.config import AcceleratorConfig


class Register(NamedTuple):
    """A register for a vector, and whether there is one in it."""

    valid: Signal
    vector: data.View


class Issue(Component):
    """Hold a vector until its weights, parameters, partial sum and result's place are there.

    A vector passes two registers, stage 0 and stage 1. Whether it may go is decided a cycle before,
    from registers. What a vector in front uses up in that cycle counts as gone, what comes back in
    it does not count yet, except weights: those may change every few cycles.

    Timing
    ------
    One vector per cycle; ``step``, ``line`` and ``sum`` come from registers, three cycles after the
    vector if nothing holds it. ``activations.ready`` depends on registers only. A vector that reads
    a partial sum waits until the sum is `PartialSums.REVISIT` cycles old, so results do not depend
    on the order in which slots are visited.

    Parameters
    ----------
    config
        ``width``, ``psum_depth``, ``parameter_banks`` and ``line_depth``.
    """

    activations: Annotated[
        stream.Interface, lambda self: In(stream.Signature(activation_layout(self.config)))
    ]
    """Vectors, and what becomes of each."""
    weights: Annotated[data.View, In(SUPPLY_LAYOUT)]
    """Weight buffers, for vectors with ``next_weights``."""
    parameters: Annotated[data.View, In(SUPPLY_LAYOUT)]
    """Parameter banks, for vectors with ``next_parameters``."""
    credit: Annotated[data.View, In(SUPPLY_LAYOUT)]
    """Places for results."""
    reserved: Annotated[Signal, In(1)]
    """The vector engine has the requantizers in the cycle in which they would get the sums of a
    vector that is decided on now."""
    swap: Annotated[Signal, Out(1)]
    """A weight buffer is used up in this cycle. From two registers."""
    take: Annotated[Signal, Out(1)]
    """A parameter bank is. From two registers."""
    spend: Annotated[Signal, Out(1)]
    """A result's place is. From two registers."""
    reason: Annotated[data.View, Out(REASON_LAYOUT)]
    """One bit, or none without a vector."""
    step: Annotated[data.View, lambda self: Out(step_layout(self.config))]
    """The vector, to the lanes."""
    line: Annotated[data.View, lambda self: Out(line_layout(self.config))]
    """Where the lines keep it."""
    sum: Annotated[data.View, lambda self: Out(sum_layout(self.config))]
    """What becomes of its dot products; the flags are 0 if no vector is issued."""
    bank: Annotated[Signal, lambda self: Out(range(self.config.parameter_banks))]
    """The bank of the vector whose ``sum`` came a cycle before."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = activation_layout(self.config)
        # In the Verilog they keep their old names: those of cells decide what placing makes of it.
        stage0 = Register(Signal(name="waiting"), Signal(layout, name="behind", reset_less=True))
        stage1 = Register(Signal(name="valid"), Signal(layout, name="held", reset_less=True))
        go = Signal()
        moves, load = Signal(), Signal()
        m.d.comb += [
            moves.eq(go | ~stage1.valid),
            self.activations.ready.eq(moves | ~stage0.valid),
            load.eq(self.activations.valid & self.activations.ready),
            self.swap.eq(go & stage1.vector.next_weights),
            self.take.eq(go & stage1.vector.next_parameters),
            self.spend.eq(go & stage1.vector.fire & stage1.vector.last),
        ]
        with m.If(self.activations.ready):
            m.d.sync += stage0.valid.eq(self.activations.valid)
        with m.If(load):
            m.d.sync += stage0.vector.eq(self.activations.payload)
        with m.If(moves):
            m.d.sync += [stage1.valid.eq(stage0.valid), stage1.vector.eq(stage0.vector)]
        hazard = self._hazard(m, stage0, stage1, load, go, moves)
        self._decide(m, stage0, stage1, go, moves, hazard)
        self._issue(m, stage1.vector, go)
        return m

    def _decide(
        self,
        m: Module,
        stage0: Register,
        stage1: Register,
        go: Signal,
        moves: Signal,
        hazard: Value,
    ) -> None:
        """Decide if the vector in stage 1 goes in the next cycle, or what it waits for."""
        valid = Mux(moves, stage0.valid, stage1.valid)
        needs_weights, needs_parameters, fires, is_last = (
            Mux(moves, stage0.vector[flag], stage1.vector[flag])
            for flag in ("next_weights", "next_parameters", "fire", "last")
        )
        has_weights = ~needs_weights | available_next(self.weights, self.swap)
        has_parameters = ~needs_parameters | available_next(self.parameters, self.take)
        may_leave = available_next(self.credit, self.spend) & ~self.reserved & ~self._in_turn(m)
        has_credit = ~(fires & is_last) | may_leave
        free = has_credit & ~hazard
        m.d.sync += [
            go.eq(valid & has_weights & has_parameters & free),
            self.reason.weights.eq(valid & ~has_weights),
            self.reason.parameters.eq(valid & has_weights & ~has_parameters),
            self.reason.held.eq(valid & has_weights & has_parameters & ~free),
        ]
        m.d.comb += self.reason.issue.eq(go)

    def _in_turn(self, m: Module) -> Value:
        """Return whether the requantizers still have a vector's sums for the next decision."""
        turns = self.config.turns
        if turns == 1:
            return Const(0)
        busy = delays(m, self.spend, "in_turn{}", turns - 2, reset=True)
        return Cat(busy).any()

    def _issue(self, m: Module, vector: data.View, go: Signal) -> None:
        """Register the vector for the lanes."""
        # A cycle after the other fields, for the clock's sake: it is needed much later than they.
        last = self.config.matrix_banks - 1
        bank = Signal(range(self.config.parameter_banks), init=last)
        m.d.comb += self.bank.eq(bank)
        with m.If(self.sum.retire):
            m.d.sync += bank.eq(Mux(bank == last, 0, bank + 1))
        m.d.sync += [
            self.step.bytes.eq(vector.bytes),
            self.step.depthwise.eq(vector.depthwise),
            *([self.step.pairs.eq(vector.pairs)] if self.config.pixel else []),
            self.step.valid.eq(go),
            self.step.swap.eq(self.swap),
            self.sum.slot.eq(vector.slot),
            self.sum.first.eq(vector.first),
            self.sum.store.eq(go & vector.fire & ~vector.last),
            self.sum.send.eq(self.spend),
            self.sum.retire.eq(self.take),
        ]
        place = Signal(range(self.config.line_depth))
        push = go & vector.depthwise
        with m.If(push):
            m.d.sync += place.eq(place + 1)
        m.d.sync += [
            self.line.push.eq(push),
            self.line.write.eq(place),
            self.line.read.eq(place - vector.line),
        ]

    def _hazard(
        self,
        m: Module,
        stage0: Register,
        stage1: Register,
        load: Signal,
        go: Signal,
        moves: Signal,
    ) -> Value:
        """Return whether the vector in stage 1 in the next cycle reads a sum too young for it.

        The comparisons are made while a vector is taken: with those that were issued in that cycle
        and before, after which the cycles are counted, and with the one in front of it.
        """
        cycles = PartialSums.REVISIT - 2
        new = self.activations.payload
        reads_stage1 = self._reads(new, self._stores(stage1.vector), stage1.vector.slot)
        reads_stage0 = self._reads(new, self._stores(stage0.vector), stage0.vector.slot)
        # What the vectors issued in this cycle and before, latest first, keep the new one from.
        recent = [go & reads_stage1, *self._reads_issued(m, new, cycles - 1)]
        hazard_ahead = Signal(name="in_front")
        stage0_wait = Signal(cycles, name="behind_wait")
        stage1_wait = Signal(cycles, name="held_wait")
        m.d.sync += stage0_wait.eq(stage0_wait >> 1)
        with m.If(load):
            waits = [Cat(*recent[: cycles - age]).any() for age in range(cycles)]
            m.d.sync += [
                stage0_wait.eq(Cat(waits)),
                hazard_ahead.eq(Mux(stage0.valid, reads_stage0, stage1.valid & ~go & reads_stage1)),
            ]
        blocked = go & hazard_ahead
        m.d.sync += stage1_wait.eq(stage1_wait >> 1)
        with m.If(moves):
            m.d.sync += stage1_wait.eq(Mux(blocked, (1 << cycles) - 1, stage0_wait >> 1))
        return Mux(moves, blocked | stage0_wait[0], stage1_wait[0])

    def _reads_issued(self, m: Module, new: data.View, count: int) -> list[Value]:
        """Return whether a vector reads what those before the one that is issued now store."""
        stored, slot = self.sum.store, self.sum.slot
        reads = []
        for age in range(1, count + 1):
            reads.append(self._reads(new, stored, slot))
            older = Signal(name=f"stored{age}")
            older_slot = Signal.like(self.sum.slot, name=f"stored_slot{age}", reset_less=True)
            m.d.sync += [older.eq(stored), older_slot.eq(slot)]
            stored, slot = older, older_slot
        return reads

    def _stores(self, vector: data.View) -> Value:
        """Return whether a vector's sum goes back to its slot."""
        return vector.fire & ~vector.last

    def _reads(self, vector: data.View, stored: Value, slot: Value) -> Value:
        """Return whether a vector reads the partial sum that another one stores."""
        return stored & vector.fire & ~vector.first & (slot == vector.slot)
