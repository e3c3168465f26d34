"""The registers of `eightfold.isa.REGISTERS`, behind AXI4-Lite."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.memory.axi import OKAY, REGISTER_ADDRESS_BITS, axi4_lite_members
from eightfold.isa import (
    COUNTERS,
    IDENTIFICATION,
    REGISTERS,
    VERSION,
    Access,
    Register,
    configuration_words,
)
from eightfold.target.config import AcceleratorConfig


def constants(config: AcceleratorConfig) -> dict[str, int]:
    """Return the values of the registers that never change, by name."""
    first, second = configuration_words(config)
    return {
        "ID": IDENTIFICATION,
        "VERSION": VERSION,
        "CONFIGURATION_0": first,
        "CONFIGURATION_1": second,
    }


FIRST_COUNTER = min(each.offset for each in REGISTERS if each.name in dict(COUNTERS)) >> 2
"""The number of the word of the first counter; the others follow."""


def register_layout(access: Access, config: AcceleratorConfig) -> data.StructLayout:
    """Return the registers with this access that are neither constant nor counters, by name."""
    elsewhere = constants(config).keys() | dict(COUNTERS).keys()
    return data.StructLayout(
        {
            register.name: hdl(register.layout)
            for register in REGISTERS
            if register.access is access and register.name not in elsewhere
        }
    )


class Registers(Component):
    """Hold what software writes, and show it what the accelerator reports.

    Beside the ports below there are `eightfold.hw.memory.axi.axi4_lite_members`, ``s_axi_...``:
    address bits 0 and 1 and ``prot`` are ignored.

    Timing
    ------
    One write and one read at a time, independent of each other: a write takes effect 1 cycle after
    both its address and its data were accepted, in any order; a read gives, 3 cycles after its
    address was accepted, the value of the cycle after that. Addresses without a register read 0
    and ignore writes. The answer is always OKAY. All outputs come from registers.

    Parameters
    ----------
    config
        What the constant registers say.
    """

    settings: Annotated[
        data.View, lambda self: Out(register_layout(Access.READ_WRITE, self.config))
    ]
    """0 after reset."""
    acts: Annotated[data.View, lambda self: Out(register_layout(Access.WRITE_ONE, self.config))]
    """Bits that software writes as 1, for one cycle."""
    values: Annotated[data.View, lambda self: In(register_layout(Access.READ_ONLY, self.config))]
    """What software reads."""
    counter: Annotated[Signal, Out(range(len(COUNTERS)))]
    """A counter, by its number among `eightfold.isa.COUNTERS`."""
    counter_read: Annotated[Signal, Out(1)]
    """It may be what software reads."""
    counter_value: Annotated[Signal, In(32)]
    """In the cycle after ``counter_read``: its value."""

    # Of `axi4_lite_members`, for type checkers:
    s_axi_awaddr: Signal
    s_axi_awvalid: Signal
    s_axi_awready: Signal
    s_axi_wdata: Signal
    s_axi_wstrb: Signal
    s_axi_wvalid: Signal
    s_axi_wready: Signal
    s_axi_bresp: Signal
    s_axi_bvalid: Signal
    s_axi_bready: Signal
    s_axi_araddr: Signal
    s_axi_arvalid: Signal
    s_axi_arready: Signal
    s_axi_rdata: Signal
    s_axi_rresp: Signal
    s_axi_rvalid: Signal
    s_axi_rready: Signal

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        watched = config.watchdog
        self.registers = [each for each in REGISTERS if watched or each.name != "TIMEOUT"]
        super().__init__(axi4_lite_members())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.s_axi_bresp.eq(OKAY), self.s_axi_rresp.eq(OKAY)]
        self._write(m)
        self._read(m)
        return m

    def _write(self, m: Module) -> None:
        """Hold address and data until both are there, then write."""
        address_held, data_held, write = Signal(), Signal(), Signal()
        index = Signal(REGISTER_ADDRESS_BITS - 2, name="write_index", reset_less=True)
        word, strobe = Signal(32, reset_less=True), Signal(4, reset_less=True)
        m.d.comb += [
            self.s_axi_awready.eq(~address_held),
            self.s_axi_wready.eq(~data_held),
            write.eq(address_held & data_held & ~self.s_axi_bvalid),
        ]
        with m.If(write):
            m.d.sync += [address_held.eq(0), data_held.eq(0), self.s_axi_bvalid.eq(1)]
        with m.Elif(self.s_axi_bready):
            m.d.sync += self.s_axi_bvalid.eq(0)
        with m.If(self.s_axi_awvalid & ~address_held):
            m.d.sync += [address_held.eq(1), index.eq(self.s_axi_awaddr[2:])]
        with m.If(self.s_axi_wvalid & ~data_held):
            m.d.sync += [data_held.eq(1), word.eq(self.s_axi_wdata), strobe.eq(self.s_axi_wstrb)]
        mask = Cat(bit.replicate(8) for bit in strobe)
        m.d.sync += self.acts.eq(0)
        for register in self.registers:
            with m.If(write & (index == register.offset >> 2)):
                self._store(m, register, word, mask)

    def _store(self, m: Module, register: Register, word: Signal, mask: Value) -> None:
        if register.access is Access.READ_WRITE:
            stored = Value.cast(self.settings[register.name])
            m.d.sync += stored.eq((word & mask) | (stored & ~mask))
        elif register.access is Access.WRITE_ONE:
            m.d.sync += Value.cast(self.acts[register.name]).eq(word & mask)

    def _read(self, m: Module) -> None:
        """Register the address, then a value of each quarter of the registers, then one of them.

        The counters are a quarter, and give a value in the cycle after they were asked.
        """
        asked, found = Signal(), Signal()
        index = Signal(REGISTER_ADDRESS_BITS - 2, name="read_index", reset_less=True)
        group = index[-2:]
        within = index[:-2]
        words = [Signal(32, name=f"word{i}", reset_less=True) for i in range(4)]
        words[FIRST_COUNTER >> len(within)] = self.counter_value
        m.d.comb += [
            self.s_axi_arready.eq(~asked & ~found & ~self.s_axi_rvalid),
            self.counter.eq(index),
            self.counter_read.eq(asked),
        ]
        m.d.sync += [asked.eq(self.s_axi_arready & self.s_axi_arvalid), found.eq(asked)]
        with m.If(self.s_axi_arready):
            m.d.sync += index.eq(self.s_axi_araddr[2:])
        for number, word in enumerate(words):
            if word is self.counter_value:
                continue
            m.d.sync += word.eq(0)
            with m.Switch(within):
                for register in self.registers:
                    if register.offset >> REGISTER_ADDRESS_BITS - 2 == number:
                        with m.Case(register.offset >> 2 & ((1 << len(within)) - 1)):
                            m.d.sync += word.eq(self._value(register))
        with m.If(found):
            with m.Switch(group):
                for number, word in enumerate(words):
                    with m.Case(number):
                        m.d.sync += self.s_axi_rdata.eq(word)
            m.d.sync += self.s_axi_rvalid.eq(1)
        with m.Elif(self.s_axi_rready):
            m.d.sync += self.s_axi_rvalid.eq(0)

    def _value(self, register: Register) -> Value | int:
        fixed = constants(self.config)
        if register.name in fixed:
            return fixed[register.name]
        if register.access is Access.READ_WRITE:
            return Value.cast(self.settings[register.name])
        if register.access is Access.READ_ONLY:
            return Value.cast(self.values[register.name])
        return 0
