"""The front end of the MAC array: when a vector of activations may enter the pipeline."""

from collections.abc import Sequence
from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from eightfold.hw.array.issue_words import (
    REASON_LAYOUT,
    SUPPLY_LAYOUT,
    left,
    line_layout,
    step_layout,
    sum_layout,
)
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import activation_layout


class Issue(Component):
    """Hold a vector until its weights, parameters, partial sum and result's place are there.

    Whether a vector may go is decided a cycle before, from registers: one vector waits for that,
    the next one behind it. What a vector in front uses up in that cycle counts as gone, what comes
    back in it does not count yet, except weights: those may change every few cycles.

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
    """Of the vector whose ``sum`` came a cycle before."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = activation_layout(self.config)
        behind, held = (Signal(layout, name=n, reset_less=True) for n in ("behind", "held"))
        waiting, valid, go = (Signal(name=name) for name in ("waiting", "valid", "go"))
        moves, load = Signal(), Signal()
        m.d.comb += [
            moves.eq(go | ~valid),
            self.activations.ready.eq(moves | ~waiting),
            load.eq(self.activations.valid & self.activations.ready),
            self.swap.eq(go & held.next_weights),
            self.take.eq(go & held.next_parameters),
            self.spend.eq(go & held.fire & held.last),
        ]
        with m.If(self.activations.ready):
            m.d.sync += waiting.eq(self.activations.valid)
        with m.If(load):
            m.d.sync += behind.eq(self.activations.payload)
        with m.If(moves):
            m.d.sync += [valid.eq(waiting), held.eq(behind)]
        young = self._young(m, load, moves, (waiting, behind), (valid, go, held))
        self._decide(m, go, moves, (waiting, behind), (valid, held), young)
        self._send(m, held, go)
        return m

    def _decide(
        self,
        m: Module,
        go: Signal,
        moves: Signal,
        behind: tuple[Signal, data.View],
        held: tuple[Signal, data.View],
        young: Sequence[Value],
    ) -> None:
        """Decide if the vector that is held in the next cycle goes in it, or what it waits for."""
        chosen = {
            name: Mux(moves, behind[1][name], held[1][name])
            for name in ("next_weights", "next_parameters", "fire", "last")
        }
        there = Mux(moves, behind[0], held[0])
        weights = ~chosen["next_weights"] | left(self.weights, self.swap)
        parameters = ~chosen["next_parameters"] | self._left_parameters()
        place = ~(chosen["fire"] & chosen["last"]) | self._left_credit()
        sums = place & ~Mux(moves, *young)
        m.d.sync += [
            go.eq(there & weights & parameters & sums),
            self.reason.weights.eq(there & ~weights),
            self.reason.parameters.eq(there & weights & ~parameters),
            self.reason.held.eq(there & weights & parameters & ~sums),
        ]
        m.d.comb += self.reason.issue.eq(go)

    def _left_parameters(self) -> Value:
        return left(self.parameters, self.take)

    def _left_credit(self) -> Value:
        return left(self.credit, self.spend)

    def _send(self, m: Module, held: data.View, go: Signal) -> None:
        """Register the vector for the lanes."""
        banks = self.config.parameter_banks
        # A cycle after the other fields, for the clock's sake: it is needed much later than they.
        bank = Signal(range(banks), init=banks - 1)
        m.d.comb += self.bank.eq(bank)
        with m.If(self.sum.retire):
            m.d.sync += bank.eq(bank + 1)
        m.d.sync += [
            self.step.bytes.eq(held.bytes),
            self.step.depthwise.eq(held.depthwise),
            self.step.valid.eq(go),
            self.step.swap.eq(self.swap),
            self.sum.slot.eq(held.slot),
            self.sum.first.eq(held.first),
            self.sum.store.eq(go & held.fire & ~held.last),
            self.sum.send.eq(self.spend),
            self.sum.retire.eq(self.take),
        ]
        place = Signal(range(self.config.line_depth))
        push = go & held.depthwise
        with m.If(push):
            m.d.sync += place.eq(place + 1)
        m.d.sync += [
            self.line.push.eq(push),
            self.line.write.eq(place),
            self.line.read.eq(place - held.line),
        ]

    def _young(
        self,
        m: Module,
        load: Signal,
        moves: Signal,
        behind: tuple[Signal, data.View],
        held: tuple[Signal, Signal, data.View],
    ) -> tuple[Value, Value]:
        """Return whether the vector behind, and the held one, read a sum too young in a cycle.

        The comparisons are made while a vector is taken: with those that were issued in that cycle
        and before, after which the cycles are counted, and with the one in front of it.
        """
        cycles = PartialSums.REVISIT - 2
        waiting, ahead = behind
        valid, go, leaving = held
        new = self.activations.payload
        # What the vectors issued in this cycle and before, latest first, keep the new one from.
        recent = [go & self._reads(new, self._stores(leaving), leaving.slot)]
        stored, slot = self.sum.store, self.sum.slot
        for age in range(1, cycles):
            recent.append(self._reads(new, stored, slot))
            older = Signal(name=f"stored{age}")
            older_slot = Signal.like(self.sum.slot, name=f"stored_slot{age}", reset_less=True)
            m.d.sync += [older.eq(stored), older_slot.eq(slot)]
            stored, slot = older, older_slot
        in_front, behind_wait, held_wait = Signal(), Signal(cycles), Signal(cycles)
        m.d.sync += behind_wait.eq(behind_wait >> 1)
        with m.If(load):
            waits = [Cat(*recent[: cycles - left]).any() for left in range(cycles)]
            unissued = valid & ~go & self._reads(new, self._stores(leaving), leaving.slot)
            m.d.sync += [
                behind_wait.eq(Cat(waits)),
                in_front.eq(
                    Mux(waiting, self._reads(new, self._stores(ahead), ahead.slot), unissued)
                ),
            ]
        blocked = go & in_front
        m.d.sync += held_wait.eq(held_wait >> 1)
        with m.If(moves):
            m.d.sync += held_wait.eq(Mux(blocked, (1 << cycles) - 1, behind_wait >> 1))
        return blocked | behind_wait[0], held_wait[0]

    def _stores(self, vector: data.View) -> Value:
        return vector.fire & ~vector.last

    def _reads(self, vector: data.View, stored: Value, slot: Value) -> Value:
        """Return whether a vector reads the partial sum that another one stores."""
        return stored & vector.fire & ~vector.first & (slot == vector.slot)
