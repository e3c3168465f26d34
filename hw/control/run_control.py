"""Start and end of a run, errors, soft reset and interrupt."""

from collections.abc import Sequence
from typing import Annotated

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.isa import REGISTERS

STATUS_LAYOUT, ERROR_LAYOUT = (
    next(hdl(register.layout) for register in REGISTERS if register.name == name)
    for name in ("STATUS", "ERROR")
)

FAULT_LAYOUT = data.StructLayout({"valid": unsigned(1), "error": ERROR_LAYOUT})
"""Something that may have gone wrong; register ERROR tells what."""

SEQUENCER, WEIGHTS, PARAMETERS = 255, 254, 253
"""Numbers in register ERROR of what is not an engine."""


class FaultCollector(Component):
    """Choose one of the faults of a cycle, the first in the list.

    Timing
    ------
    `LATENCY` cycles, without stalls.

    Parameters
    ----------
    count
        Number of faults.
    """

    LATENCY = 2
    GROUP = 4
    """Faults of which one is chosen in the first cycle."""

    faults: Annotated[data.View, lambda self: In(data.ArrayLayout(FAULT_LAYOUT, self.count))]
    """What goes wrong, in this cycle."""
    o: Annotated[data.View, Out(FAULT_LAYOUT)]
    """One of them, for as long as they last."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        faults = [self.faults[number] for number in range(self.count)]
        chosen = []
        for first in range(0, self.count, self.GROUP):
            fault = Signal(FAULT_LAYOUT, name=f"fault{first}")
            self._choose(m, fault, faults[first : first + self.GROUP])
            chosen.append(fault)
        self._choose(m, self.o, chosen)
        return m

    def _choose(self, m: Module, target: data.View, faults: Sequence[data.View]) -> None:
        """Register the first fault that is valid."""
        m.d.sync += target.valid.eq(0)
        for fault in reversed(faults):
            with m.If(fault.valid):
                m.d.sync += target.eq(fault)


class RunControl(Component):
    """Say when the accelerator runs, stops and is reset.

    A run begins with the doorbell, if there is neither one already nor an error. After
    ``finished``, an error or a soft reset, memory takes no more requests (``stop``); when it has
    answered those it has, everything but registers and counters is held in ``reset`` until the next
    run: what a run leaves in queues and fetchers cannot disturb the one after. The first error of a
    run counts.

    Timing
    ------
    ``begin`` follows the doorbell by 1 cycle, ``done`` follows ``finished`` by `SETTLE` + 1 cycles
    or when memory is idle. All outputs come from registers, the interrupt with a gate behind.
    """

    SETTLE = 4
    """Cycles from ``stop`` until no request is under way to the memory."""

    start: Annotated[Signal, In(1)]
    """The doorbell."""
    soft_reset: Annotated[Signal, In(1)]
    """Software asks for it; goes before ``start``."""
    clear_interrupt: Annotated[Signal, In(1)]
    """Software has seen the interrupt."""
    interrupt_enable: Annotated[Signal, In(1)]
    """Software wants to see it."""
    finished: Annotated[Signal, In(1)]
    """END was reached, and all commands are done."""
    memory_idle: Annotated[Signal, In(1)]
    """Everything that memory took is answered, `SETTLE` cycles after ``stop`` at the latest."""
    fault: Annotated[data.View, In(FAULT_LAYOUT)]
    """What goes wrong."""
    begin: Annotated[Signal, Out(1)]
    """For one cycle: the run begins."""
    running: Annotated[Signal, Out(1)]
    """From the doorbell until done, an error or a soft reset."""
    stop: Annotated[Signal, Out(1)]
    """Memory takes no more requests."""
    reset: Annotated[Signal, Out(1)]
    """Resets engines, sequencer and memory."""
    status: Annotated[data.View, Out(STATUS_LAYOUT)]
    """What software sees of it."""
    error: Annotated[data.View, Out(ERROR_LAYOUT)]
    """The first error, until a soft reset."""
    interrupt: Annotated[Signal, Out(1)]
    """Level."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reset, stop = Signal(init=1), Signal(init=1)
        succeeds = Signal()
        settled = Signal(range(self.SETTLE + 1))
        m.d.comb += [self.reset.eq(reset), self.stop.eq(stop)]
        m.d.sync += self.begin.eq(0)
        drained, done = Signal(), Signal()
        begins = self.start & ~self.soft_reset & ~self.status.error
        ends = self.finished | self.fault.valid | self.soft_reset
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += self.begin.eq(begins)
                with m.If(begins):
                    m.d.sync += [self.running.eq(1), self.status.busy.eq(1)]
                    m.d.sync += [self.status.done.eq(0), reset.eq(0), stop.eq(0)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += [settled.eq(0), succeeds.eq(self.finished)]
                with m.If(ends):
                    m.d.sync += stop.eq(1)
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += drained.eq(self.memory_idle & (settled == self.SETTLE))
                m.d.comb += done.eq(drained & succeeds & ~self.fault.valid & ~self.soft_reset)
                m.d.sync += settled.eq(Mux(settled == self.SETTLE, settled, settled + 1))
                with m.If(drained):
                    m.d.sync += [reset.eq(1), self.running.eq(0), self.status.busy.eq(0)]
                    m.d.sync += self.status.done.eq(done)
                    m.next = "IDLE"
        self._fail(m, succeeds)
        self._interrupt(m, done)
        return m

    def _fail(self, m: Module, succeeds: Signal) -> None:
        """Keep the first error of a run; a soft reset forgets it, and that there was a run."""
        with m.If(self.soft_reset):
            m.d.sync += [succeeds.eq(0), self.running.eq(0)]
            m.d.sync += [self.status.done.eq(0), self.status.error.eq(0), self.error.eq(0)]
        with m.Elif(self.fault.valid & self.running):
            m.d.sync += [succeeds.eq(0), self.running.eq(0)]
            m.d.sync += [self.status.error.eq(1), self.error.eq(self.fault.error)]

    def _interrupt(self, m: Module, done: Signal) -> None:
        m.d.comb += self.interrupt.eq(self.status.interrupt & self.interrupt_enable)
        with m.If(self.soft_reset):
            m.d.sync += self.status.interrupt.eq(0)
        with m.Elif(done | (self.fault.valid & self.running)):
            m.d.sync += self.status.interrupt.eq(1)
        with m.Elif(self.clear_interrupt):
            m.d.sync += self.status.interrupt.eq(0)
