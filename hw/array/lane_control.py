"""What all lanes are told about their sums, each signal in the cycle in which it is needed."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.array import dot_product
from eightfold.hw.array.issue_words import sum_layout
from eightfold.hw.array.parameters import bank_layout, turn_bits
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.target.config import AcceleratorConfig


def dot_cycle(config: AcceleratorConfig) -> int:
    """Return the cycle of a lane's dot product, counted from its ``step``."""
    return 1 + dot_product.latency(config)


def result_cycle(config: AcceleratorConfig) -> int:
    """Return the cycle of all lanes' results, counted from their ``step``."""
    return dot_cycle(config) + config.turns + RequantizePipeline.LATENCY


def reservation(config: AcceleratorConfig) -> int:
    """Return how many cycles before its sums the vector engine reserves the requantizers: as many
    as from the front end's decision on a vector to the last turn of the vector's sums."""
    return 2 + LaneControl.AHEAD + dot_cycle(config) + config.turns


def lane_control_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return the signals that all lanes share behind their operands."""
    slot = range(config.psum_depth)
    return data.StructLayout(
        {
            "read_slot": slot,
            "clear": unsigned(1),
            "write": unsigned(1),
            "write_slot": slot,
            "sums": unsigned(1),  # the lanes have those that are requantized
            "vector": unsigned(1),  # the requantizers take the vector engine's sums
            "banks": bank_layout(config),
        }
    )


class LaneControl(Component):
    """Delay what the front end says about a vector's sums, once for all lanes.

    Timing
    ------
    ``sum`` comes `AHEAD` cycles before the ``step`` of the same vector reaches the lanes. With
    cycles counted from that: `dot_cycle` is when a lane adds, and `result_cycle` when its result is
    there, together with ``valid``. ``retire`` passes in the same cycle. ``reserve`` belongs to the
    sums of `reservation` cycles later.

    Parameters
    ----------
    config
        All of its sizes.
    """

    AHEAD = 2
    """Registers that a step passes between the front end and a lane: the lines, the group."""

    sum: Annotated[data.View, lambda self: In(sum_layout(self.config))]
    """The sum of the vector that the front end issues."""
    bank: Annotated[Signal, lambda self: In(range(self.config.parameter_banks))]
    """One cycle after the ``sum`` of the same vector."""
    reserve: Annotated[Signal, In(1)]
    """The requantizers take the vector engine's sums, and its parameters: those of the last
    bank."""
    lanes: Annotated[data.View, lambda self: Out(lane_control_layout(self.config))]
    """To all lanes, in the cycles in which they need it."""
    valid: Annotated[Signal, Out(1)]
    """The lanes have a result."""
    retire: Annotated[Signal, Out(1)]
    """The bank before the one of this result is not needed any more."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dot = dot_cycle(self.config)
        result = result_cycle(self.config)
        acc = dot + 1

        def at(cycle: int, value: Value, name: str, since: int = -self.AHEAD) -> Value:
            return delay(m, value, f"{name}{{}}", cycle - since, reset=True)

        read = dot - PartialSums.READ_AHEAD
        m.d.comb += [
            self.lanes.read_slot.eq(read_slot := at(read, self.sum.slot, "read_slot")),
            self.lanes.write_slot.eq(at(acc, read_slot, "write_slot", since=read)),
            self.lanes.clear.eq(at(dot, self.sum.first, "clear")),
            self.lanes.write.eq(at(acc, self.sum.store, "write")),
            self.valid.eq(at(result, self.sum.send, "valid")),
            self.retire.eq(at(result, self.sum.retire, "retire")),
        ]
        # The bank is chosen a cycle before it is needed: its wires to all lanes are long.
        since = acc - 2
        chosen = at(since, self.reserve, "chosen", acc - reservation(self.config))
        m.d.comb += self.lanes.vector.eq(at(acc, chosen, "vector", since))
        bank = at(since, self.bank, "bank", since=1 - self.AHEAD)
        if self.config.turns > 1:
            first = at(since, self.sum.send, "first")
            m.d.comb += self.lanes.sums.eq(at(acc, first, "sums", since))
            bank = Cat(*self._turns(m, first, bank))
        bank = Mux(chosen, self.config.matrix_banks << turn_bits(self.config), bank)
        # A field is read one cycle before it is used.
        for name, cycle in sorted(RequantizePipeline.FIELD_CYCLE.items(), key=lambda item: item[1]):
            bank = at(acc + cycle - 1, bank, f"{name}_bank", since)
            since = acc + cycle - 1
            m.d.comb += self.lanes.banks[name].eq(bank)
        return m

    def _turns(self, m: Module, first: Value, bank: Value) -> tuple[Value, Value]:
        """Return the turn, 0 with ``first`` and counting from it, and the bank of all turns."""
        turn = Signal(turn_bits(self.config), reset_less=True)
        kept = Signal(range(self.config.parameter_banks), reset_less=True)
        now, bank = Mux(first, 0, turn), Mux(first, bank, kept)
        m.d.sync += [turn.eq(now + 1), kept.eq(bank)]
        return now[: len(turn)], bank[: len(kept)]
