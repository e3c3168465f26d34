"""Requantization parameters: the banks of a lane, and the loader that fills those of all lanes."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold import isa
from eightfold.hw.array.issue_words import SUPPLY_LAYOUT
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT, parameter_layout
from eightfold.hw.ports import parameter_change
from eightfold.target.config import AcceleratorConfig


def bank_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a set of parameters for each field of `REQUANTIZE_LAYOUT`."""
    return data.StructLayout({name: range(places(config)) for name, _ in isa.REQUANTIZE_LAYOUT})


def turn_bits(config: AcceleratorConfig) -> int:
    """Return the low bits of a set's number, which tell a lane from others of its requantizer."""
    return (config.turns - 1).bit_length()


def places(config: AcceleratorConfig) -> int:
    """Return how many sets of parameters a requantizer holds: a bank of them for each lane."""
    return config.parameter_banks << turn_bits(config)


def parameter_lanes(config: AcceleratorConfig) -> int:
    """Return how many lanes have parameters: the array's, or the vector engine's if it has more."""
    return max(config.lanes, config.vector_lanes)


def parameter_write_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a write to one bank of the lanes with a set bit in ``lanes``."""
    return data.StructLayout(
        {
            "lanes": unsigned(parameter_lanes(config)),
            "bank": range(config.parameter_banks),
            "requantize": REQUANTIZE_LAYOUT,
        }
    )


class ParameterMemory(Component):
    """Hold a requantizer's parameters: a memory per field, each read when its field is needed.

    Timing
    ------
    ``parameters[f]`` is that of ``banks[f]`` one cycle before. A write in cycle ``n`` is read with
    ``banks`` of cycle ``n + 1`` and later.

    Parameters
    ----------
    config
        ``parameter_banks``, ``lanes`` and ``requantizers``.
    """

    write: Annotated[Signal, In(1)]
    """``requantize`` goes into ``bank``."""
    bank: Annotated[Signal, lambda self: In(range(places(self.config)))]
    requantize: Annotated[data.View, In(REQUANTIZE_LAYOUT)]
    banks: Annotated[data.View, lambda self: In(bank_layout(self.config))]
    """Bank of each field that is read."""
    parameters: Annotated[data.View, Out(REQUANTIZE_LAYOUT)]
    """The fields read."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, field in isa.REQUANTIZE_LAYOUT:
            depth = places(self.config)
            memory = Memory(shape=unsigned(field.width), depth=depth, init=[])
            m.submodules[name] = memory
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                write.addr.eq(self.bank),
                write.data.eq(self.requantize[name]),
                write.en.eq(self.write),
                read.addr.eq(self.banks[name]),
            ]
            field_register = Signal(field.width, name=f"{name}_register", reset_less=True)
            m.d.sync += field_register.eq(read.data)
            m.d.comb += self.parameters[name].eq(field_register)
        return m


class ParameterLoader(Component):
    """Fill the banks in a ring from the parameter stream, one lane per word, lane 0 first.

    A bank is complete with its word marked ``last``, or lane ``lanes - 1``. It becomes ready,
    is taken (``take``), in use, and free again when ``retire`` tells that the next one took over
    everywhere. Of the ``matrix_banks`` banks one is always in use: the last one, all zero, until
    the first is taken. The bank behind them is the vector engine's.

    Timing
    ------
    A word per cycle; stalls while no bank is free, and for the cycle of ``vector``. ``supply``
    follows the last word by two cycles; ``write`` comes from a register, one cycle after the word.

    Parameters
    ----------
    config
        ``lanes`` and ``parameter_banks``.
    """

    words: Annotated[stream.Interface, In(stream.Signature(parameter_layout()))]
    """A lane's parameters each."""
    vector: Annotated[Any, In(parameter_change())]
    """The vector engine's parameters change."""
    supply: Annotated[data.View, Out(SUPPLY_LAYOUT)]
    """The supply of complete banks that wait; from registers, without one that is completed in this
    cycle or was in the one before."""
    take: Annotated[Signal, In(1)]
    """Only while a bank waits."""
    retire: Annotated[Signal, In(1)]
    """Once for each ``take``, in order, later."""
    write: Annotated[data.View, lambda self: Out(parameter_write_layout(self.config))]
    """To the lanes."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = self.config.matrix_banks
        lane = Signal(range(self.config.lanes))
        bank = Signal(range(self.config.parameter_banks))
        change = self.vector
        # A bank's last word is accepted, and counted in the cycle after: it comes late.
        accept, done, counts = Signal(), Signal(), Signal()
        free = self._count(m, "free", banks - 1, self.retire, counts)
        complete = self._count(m, "complete", 0, counts, self.take)
        m.d.sync += counts.eq(done)
        m.d.comb += [
            self.words.ready.eq(Mux(counts, free.two, free.one) & ~change.valid),
            self.supply.eq(complete),
            accept.eq(self.words.valid & self.words.ready),
            done.eq(accept & (self.words.payload.last | (lane == self.config.lanes - 1))),
        ]
        m.d.sync += [
            self.write.lanes.eq(Mux(change.valid, ~0, accept << lane)),
            self.write.bank.eq(Mux(change.valid, banks, bank)),
            Value.cast(self.write.requantize).eq(
                Mux(
                    change.valid,
                    Value.cast(change.requantize),
                    Value.cast(self.words.payload.requantize),
                )
            ),
        ]
        with m.If(accept):
            m.d.sync += lane.eq(Mux(done, 0, lane + 1))
        with m.If(done):
            m.d.sync += bank.eq(Mux(bank == banks - 1, 0, bank + 1))
        return m

    def _count(self, m: Module, name: str, init: int, up: Signal, down: Signal) -> data.View:
        """Count banks, and return from registers if there are any, and several."""
        count = Signal(range(self.config.parameter_banks), init=init, name=name)
        there = Signal(SUPPLY_LAYOUT, init={"one": init > 0, "two": init > 1}, name=f"there_{name}")
        with m.If(up & ~down):
            m.d.sync += [count.eq(count + 1), there.one.eq(1), there.two.eq(there.one)]
        with m.Elif(down & ~up):
            m.d.sync += [count.eq(count - 1), there.one.eq(there.two), there.two.eq(count > 2)]
        return there
