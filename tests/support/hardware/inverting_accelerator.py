"""An accelerator that inverts one beat, whatever it is told, and can be told to misbehave."""

from enum import Enum
from itertools import product
from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from eightfold.hw.control.registers import Registers
from eightfold.hw.memory.axi import (
    axi4_lite_members,
    axi4_members,
    connect_flat,
    drive_address_constants,
)
from eightfold.hw.ports import TRACE_LAYOUT
from eightfold.isa import COUNTERS, Engine, ErrorCode
from eightfold.target.config import AcceleratorConfig

WRONG = {"id": 1, "size": 1, "burst": 0, "lock": 1, "cache": 0b0111, "prot": 0b010, "qos": 0b1000}
"""A wrong value of each attribute of an AXI address."""

INDEX = 0x1234
"""Of the command that it says it has completed."""


class Fault(Enum):
    """What goes wrong: the value of COMMAND_LENGTH."""

    NONE = 0
    HANGS = 1  # never done
    WRITES_BEFORE = 2  # the arena, not at its second beat
    MOVES_ADDRESS = 3  # of a write that waits
    MISCOUNTS = 4  # no READ_BEATS
    KEEPS_INTERRUPT = 5  # after its clear
    KEEPS_ERROR = 6  # after a soft reset
    READS_BEFORE = 7  # the arena, not at its first beat
    HIDES_ERROR = 8  # of memory
    LEAVES_READ = 9  # asks for the beat again, and does not wait for it


WRONG_ATTRIBUTES = {
    f"{channel}{name}": 16 + number
    for number, (channel, name) in enumerate(product(("ar", "aw"), WRONG))
}
"""Further values of COMMAND_LENGTH: that attribute has its value in `WRONG`."""


class InvertingAccelerator(wiring.Component):
    """Reads the arena's first beat and writes its complement to the second.

    Its members are those of the accelerator.
    """

    interrupt: Signal
    monitor: data.View

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        ports = {"interrupt": Out(1), "monitor": Out(TRACE_LAYOUT)}
        super().__init__(axi4_lite_members() | axi4_members(config) | ports)
        self.bus: Any = _Prefixed(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = self.registers = Registers(self.config)
        connect_flat(m, self, "", self.registers)
        for channel in ("ar", "aw"):
            drive_address_constants(m, self.bus, channel, self.config.port)
        self._spoil_attributes(m)
        self.status = self.registers.values.STATUS
        self._machine(m)
        self._count(m)
        return m

    def _spoil_attributes(self, m: Module) -> None:
        for name, number in WRONG_ATTRIBUTES.items():
            with m.If(Value.cast(self.registers.settings.COMMAND_LENGTH) == number):
                m.d.comb += getattr(self.bus, name).eq(WRONG[name[2:]])

    def _machine(self, m: Module) -> None:
        settings = self.registers.settings
        status = self.status
        beat = Signal(8 * self.config.port)
        base = Value.cast(settings.ARENA_BASE)
        with m.FSM(name="state"):
            with m.State("IDLE"), m.If(self.registers.acts.CONTROL.start):
                m.d.sync += [status.busy.eq(1), status.done.eq(0)]
                start = Mux(self._is(Fault.READS_BEFORE), base - self.config.port, base)
                m.d.sync += [self.bus.araddr.eq(start), self.bus.arvalid.eq(1)]
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.bus.rready.eq(1)
                with m.If(self.bus.arready):
                    m.d.sync += self.bus.arvalid.eq(0)
                with m.If(self.bus.rvalid):
                    m.d.sync += beat.eq(~self.bus.rdata)
                    self._proceed(m, self.bus.rresp, ErrorCode.AXI_READ, "OFFER")
            with m.State("OFFER"):
                port = self.config.port
                offset = Mux(self._is(Fault.WRITES_BEFORE), -port, port)
                m.d.sync += [self.bus.awaddr.eq(base + offset), self.bus.wdata.eq(beat)]
                m.d.sync += [self.bus.awvalid.eq(1), self.bus.wvalid.eq(1)]
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [self.bus.bready.eq(1), self.bus.wlast.eq(1)]
                m.d.comb += self.bus.wstrb.eq(-1)
                with m.If(self.bus.awready):
                    m.d.sync += self.bus.awvalid.eq(0)
                with m.Elif(self._is(Fault.MOVES_ADDRESS)):
                    m.d.sync += self.bus.awaddr.eq(base)
                with m.If(self.bus.wready):
                    m.d.sync += self.bus.wvalid.eq(0)
                with m.If(self.bus.bvalid):
                    m.d.comb += [self.monitor.done[0].eq(1), self.monitor.index[0].eq(INDEX)]
                    self._proceed(m, self.bus.bresp, ErrorCode.AXI_WRITE, "FINISH")
                    m.d.sync += self.bus.arvalid.eq(self._is(Fault.LEAVES_READ))
            with m.State("FINISH"), m.If(~self._is(Fault.HANGS) | self._resets()):
                with m.If(self.bus.arready):
                    m.d.sync += self.bus.arvalid.eq(0)
                m.d.sync += [status.busy.eq(0), status.done.eq(1), status.interrupt.eq(1)]
                m.next = "IDLE"
            with m.State("ERROR"):
                m.d.sync += [status.busy.eq(0), status.error.eq(1), status.interrupt.eq(1)]
                m.next = "IDLE"
        self._interrupt(m)

    def _proceed(self, m: Module, response: Value, code: ErrorCode, following: str) -> None:
        """Go on, or stop with an error."""
        error = self.registers.values.ERROR
        with m.If((response == 0) | self._is(Fault.HIDES_ERROR)):
            m.next = following
        with m.Else():
            m.d.sync += [error.code.eq(code), error.engine.eq(Engine.MOVER)]
            m.d.sync += error.index.eq(INDEX)
            m.next = "ERROR"

    def _interrupt(self, m: Module) -> None:
        acts = self.registers.acts
        status = self.status
        m.d.comb += self.interrupt.eq(status.interrupt)
        with m.If(Value.cast(acts.INTERRUPT_CLEAR)[0] & ~self._is(Fault.KEEPS_INTERRUPT)):
            m.d.sync += status.interrupt.eq(0)
        with m.If(self._resets()):
            m.d.sync += [status.error.eq(0), status.done.eq(0), status.interrupt.eq(0)]
            with m.If(~self._is(Fault.KEEPS_ERROR)):
                m.d.sync += Value.cast(self.registers.values.ERROR).eq(0)

    def _count(self, m: Module) -> None:
        counts = {
            "CYCLES": self.status.busy,
            "READ_BEATS": self.bus.rvalid & self.bus.rready,
            "WRITE_BEATS": self.bus.wvalid & self.bus.wready,
        }
        values = [Signal(32, name=f"counter_{name}") for name, _ in COUNTERS]
        m.d.sync += self.registers.counter_value.eq(Array(values)[self.registers.counter])
        for number, (name, _) in enumerate(COUNTERS):
            value = values[number]
            counted = Signal(name=f"counted_{name}")
            m.d.comb += counted.eq(counts.get(name, 0))
            m.d.sync += self.monitor.count[number].eq(counted)
            with m.If(self.registers.acts.CONTROL.start):
                m.d.sync += value.eq(0)
            with m.Elif(counted):
                wrong = self._is(Fault.MISCOUNTS) & (name == "READ_BEATS")
                m.d.sync += value.eq(value + (~wrong)[0])

    def _resets(self) -> Value:
        return Value.cast(self.registers.acts.CONTROL.soft_reset)

    def _is(self, fault: Fault) -> Value:
        return Value.cast(self.registers.settings.COMMAND_LENGTH) == fault.value


class _Prefixed:
    """A component's members without their prefix."""

    def __init__(self, component: wiring.Component) -> None:
        self._component = component

    def __getattr__(self, name: str) -> Signal:
        return getattr(self._component, f"m_axi_{name}")
