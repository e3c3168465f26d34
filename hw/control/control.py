"""Everything in the accelerator but memory ports, scratchpad and engines."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.control.counters import Counters
from eightfold.hw.control.registers import Registers
from eightfold.hw.control.run_control import FAULT_LAYOUT, SEQUENCER, FaultCollector, RunControl
from eightfold.hw.control.run_control import PARAMETERS as PARAMETERS_NUMBER
from eightfold.hw.control.run_control import WEIGHTS as WEIGHTS_NUMBER
from eightfold.hw.control.sequencer import FAULTS, Sequencer
from eightfold.hw.control.watchdog import Watchdog
from eightfold.hw.memory.axi import axi4_lite_members, connect_flat
from eightfold.hw.ports import TRACE_LAYOUT, engine_port, memory_read, region_layout
from eightfold.isa import (
    AT_DOORBELL,
    COUNTERS,
    GATHER,
    MATRIX,
    MOVE,
    PARAMETERS,
    VECTOR,
    WEIGHTS,
    Engine,
    ErrorCode,
)
from eightfold.target.config import AcceleratorConfig

READ_CLIENTS = ("commands", "parameters", "weights", "mover")
"""The clients of the memory's read channel, in their order."""

INNER_EVENTS = ("CYCLES", "MOVER_BUSY", "MOVER_WAIT", "MATRIX_WAIT", "VECTOR_BUSY", "VECTOR_WAIT")
"""Counters whose events are known here."""

EVENT_LAYOUT = data.StructLayout({name: 1 for name, _ in COUNTERS if name not in INNER_EVENTS})
"""Events of the other counters."""

MEMORY_LAYOUT = data.StructLayout(
    {
        "idle": 1,  # both ports; with stop, they may be reset
        "read_error": 1,
        "read_client": range(len(READ_CLIENTS)),  # whose beat had the error
        "write_error": 1,
    }
)
"""What the memory ports tell."""


class Control(Component):
    """Registers, sequencer, errors, watchdog and counters.

    Beside the ports below there are `eightfold.hw.memory.axi.axi4_lite_members`, ``s_axi_...``.

    Timing
    ------
    See `Registers`, `Sequencer` and `RunControl`. An error stops memory 4 cycles after its cause.

    Parameters
    ----------
    config
        All of its sizes.
    """

    interrupt: Annotated[Signal, Out(1)]
    """Level: there was a done or an error, and it is enabled."""
    memory: Annotated[wiring.PureInterface, lambda self: Out(memory_read(self.config))]
    """The memory port of the command stream."""
    mover: Annotated[Any, In(engine_port(MOVE, GATHER))]
    """To the mover."""
    matrix: Annotated[Any, In(engine_port(MATRIX))]
    """To the matrix engine."""
    vector: Annotated[Any, In(engine_port(VECTOR))]
    """To the vector engine."""
    weights: Annotated[stream.Interface, Out(stream.Signature(hdl(WEIGHTS.layout)))]
    """To the fetcher of weights, as in `Sequencer`."""
    parameters: Annotated[stream.Interface, Out(stream.Signature(hdl(PARAMETERS.layout)))]
    """To the fetcher of parameters."""
    weights_fault: Annotated[Signal, In(1)]
    """As in `Sequencer`."""
    parameters_fault: Annotated[Signal, In(1)]
    """As in `Sequencer`."""
    model: Annotated[data.View, Out(region_layout())]
    """Region of constants."""
    arena: Annotated[data.View, Out(region_layout())]
    """Region of tensors."""
    status: Annotated[data.View, In(MEMORY_LAYOUT)]
    """The status of the memory ports."""
    stop: Annotated[Signal, Out(1)]
    """To the memory ports: no more requests."""
    reset: Annotated[Signal, Out(1)]
    """To the memory ports and everything else."""
    events: Annotated[data.View, In(EVENT_LAYOUT)]
    """What counts in this cycle."""
    moving: Annotated[Signal, In(1)]
    """Something in the engines or on the memory ports has moved on."""
    monitor: Annotated[data.View, Out(TRACE_LAYOUT)]
    """For simulation."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__(axi4_lite_members())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = Registers(self.config)
        m.submodules.run_control = control = RunControl()
        sequencer = Sequencer(self.config)
        m.submodules.sequencer = ResetInserter(control.reset)(sequencer)
        connect_flat(m, self, "", registers)
        acts, settings = registers.acts, registers.settings
        run = self._of_run(m, control, settings)
        m.d.comb += [
            control.start.eq(acts.CONTROL.start),
            control.soft_reset.eq(acts.CONTROL.soft_reset),
            control.clear_interrupt.eq(acts.INTERRUPT_CLEAR.value),
            control.interrupt_enable.eq(settings.INTERRUPT_ENABLE.value),
            control.finished.eq(sequencer.finished),
            control.memory_idle.eq(self.status.idle),
            self.interrupt.eq(control.interrupt),
            self.stop.eq(control.stop),
            self.reset.eq(control.reset),
            self.model.base.eq(run.MODEL_BASE.value),
            self.model.size.eq(run.MODEL_SIZE.value),
            self.arena.base.eq(run.ARENA_BASE.value),
            self.arena.size.eq(run.ARENA_SIZE.value),
        ]
        self._sequencer(m, sequencer, control, run)
        expired = self._watchdog(m, sequencer, control, run)
        self._faults(m, sequencer, control, self._misaligned(m, control, run), expired)
        counters = self._counters(m, sequencer, control)
        m.d.comb += [
            registers.values.STATUS.eq(control.status),
            registers.values.ERROR.eq(control.error),
            counters.number.eq(registers.counter),
            counters.read.eq(registers.counter_read),
            registers.counter_value.eq(counters.value),
        ]
        return m

    def _of_run(self, m: Module, control: RunControl, settings: data.View) -> data.View:
        """Return the settings of the run: as they were at its doorbell, until it has ended.

        Regions that moved in a run would spoil the bursts that are under way.
        """
        members = {name: settings.shape()[name].shape for name in AT_DOORBELL}
        run = Signal(data.StructLayout(members), reset_less=True)
        with m.If(control.reset):  # up to the cycle before ``begin``
            m.d.sync += [run[name].eq(settings[name]) for name in AT_DOORBELL]
        return run

    def _sequencer(
        self, m: Module, sequencer: Sequencer, control: RunControl, run: data.View
    ) -> None:
        for name in ("mover", "matrix", "vector", "memory", "weights", "parameters"):
            connect(m, getattr(sequencer, name), flipped(getattr(self, name)))
        m.d.comb += [
            sequencer.start.eq(control.begin),
            sequencer.address.eq(run.COMMAND_ADDRESS.value),
            sequencer.length.eq(run.COMMAND_LENGTH.value),
            sequencer.weights_fault.eq(self.weights_fault),
            sequencer.parameters_fault.eq(self.parameters_fault),
        ]

    def _misaligned(self, m: Module, control: RunControl, run: data.View) -> Signal:
        """Return whether a run has begun with an address that no burst may start at."""
        misaligned = Signal()
        names = ("COMMAND_ADDRESS", "MODEL_BASE", "ARENA_BASE")
        low = [run[name].value % self.config.port for name in names]
        m.d.sync += misaligned.eq(control.begin & Cat(low).any())
        return misaligned

    def _watchdog(
        self, m: Module, sequencer: Sequencer, control: RunControl, run: data.View
    ) -> Signal:
        if not self.config.watchdog:
            return Signal(name="expired")
        m.submodules.watchdog = watchdog = Watchdog()
        m.d.comb += [
            watchdog.limit.eq(run.TIMEOUT.value),
            watchdog.enable.eq(control.running),
            watchdog.progress.eq(sequencer.moving | self.moving),
        ]
        return watchdog.expired

    def _faults(
        self,
        m: Module,
        sequencer: Sequencer,
        control: RunControl,
        misaligned: Signal,
        expired: Signal,
    ) -> None:
        """Put together all that can go wrong; what the sequencer reports comes first."""
        mover = Engine.MOVER.value
        clients = self.status.read_client
        reader = Signal(FAULT_LAYOUT)
        readers = (
            (SEQUENCER, sequencer.number),
            (PARAMETERS_NUMBER, sequencer.parameters_index),
            (WEIGHTS_NUMBER, sequencer.weights_index),
            (mover, sequencer.index[mover]),
        )
        with m.Switch(clients):
            for number, (engine, index) in enumerate(readers):
                with m.Case(number):
                    m.d.comb += [reader.error.engine.eq(engine), reader.error.index.eq(index)]
        sources = (
            (misaligned, ErrorCode.ADDRESS, SEQUENCER, 0),
            (self.status.read_error, ErrorCode.AXI_READ, reader.error.engine, reader.error.index),
            (self.status.write_error, ErrorCode.AXI_WRITE, mover, sequencer.index[mover]),
            (expired, ErrorCode.TIMEOUT, SEQUENCER, sequencer.number),
        )
        m.submodules.collector = collector = FaultCollector(FAULTS + len(sources))
        m.d.comb += control.fault.eq(collector.o)
        for number in range(FAULTS):
            m.d.comb += collector.faults[number].eq(sequencer.faults[number])
        for number, (valid, code, engine, index) in enumerate(sources, start=FAULTS):
            fault = collector.faults[number]
            m.d.comb += [
                fault.valid.eq(valid),
                fault.error.code.eq(code),
                fault.error.engine.eq(engine),
                fault.error.index.eq(index),
            ]

    def _counters(self, m: Module, sequencer: Sequencer, control: RunControl) -> Counters:
        m.submodules.counters = counters = Counters(self.config)
        mover, matrix, vector = (engine.value for engine in Engine)
        inner: dict[str, Value] = {
            "CYCLES": control.running,
            "MOVER_BUSY": sequencer.busy[mover],
            "MOVER_WAIT": sequencer.waiting[mover],
            "MATRIX_WAIT": sequencer.waiting[matrix],
            "VECTOR_BUSY": sequencer.busy[vector],
            "VECTOR_WAIT": sequencer.waiting[vector],
        }
        m.d.comb += [
            counters.clear.eq(control.begin),
            counters.running.eq(control.running),
            counters.events.eq(
                Cat(inner[name] if name in inner else self.events[name] for name, _ in COUNTERS)
            ),
            self.monitor.count.eq(counters.count),
            self.monitor.done.eq(sequencer.done),
            self.monitor.index.eq(sequencer.index),
        ]
        return counters
