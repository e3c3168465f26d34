"""The accelerator: control, memory ports, scratchpad, engines and what connects them."""

from typing import Annotated, Any, TypeVar

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Out, connect

from eightfold.hw.blocks.component import Component
from eightfold.hw.control.control import READ_CLIENTS, Control
from eightfold.hw.matrix.engine import MatrixEngine
from eightfold.hw.matrix.parameter_stream import ParameterStream
from eightfold.hw.matrix.weight_stream import WeightStream
from eightfold.hw.memory.axi import axi4_lite_members, axi4_members, connect_flat
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.hw.mover.engine import Mover
from eightfold.hw.ports import TRACE_LAYOUT
from eightfold.hw.vector.engine import VectorEngine
from eightfold.target.config import AcceleratorConfig

Unit = TypeVar("Unit", bound=Component)


class Accelerator(Component):
    """Run command streams from memory: see `eightfold.isa` for registers and commands.

    Timing
    ------
    Runs begin with the doorbell and end with the interrupt. All outputs but ``rready`` and
    ``bready``, which are 1, come from registers, some with a gate behind.

    Beside the ports below there are ``m_axi_...``, an AXI4 master, ``port`` bytes wide, for
    commands, model and arena, and ``s_axi_...``, an AXI4-Lite slave with 32 data bits, for the
    registers.

    Parameters
    ----------
    config
        All sizes.
    """

    interrupt: Annotated[Signal, Out(1)]
    """Level, active high."""
    monitor: Annotated[data.View, Out(TRACE_LAYOUT)]
    """For simulation; leave it open."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__(axi4_members(config) | axi4_lite_members())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.control = control = Control(self.config)
        connect_flat(m, self, "", control)
        m.d.comb += [self.interrupt.eq(control.interrupt), self.monitor.eq(control.monitor)]
        mover = self._add(m, control, "mover", Mover(self.config))
        matrix = self._add(m, control, "matrix_engine", MatrixEngine(self.config))
        vector = self._add(m, control, "vector_engine", VectorEngine(self.config))
        weights = self._add(m, control, "weight_stream", WeightStream(self.config))
        parameters = self._add(m, control, "parameter_stream", ParameterStream(self.config))
        self._constants(m, control, matrix, weights, parameters)
        self._memory(m, control, mover, weights, parameters)
        self._scratchpad(m, control, mover, vector, matrix)
        for port, engine in (
            (control.mover, mover),
            (control.matrix, matrix),
            (control.vector, vector),
        ):
            connect(m, port, engine.engine)
        m.d.comb += [mover.model.eq(control.model), mover.arena.eq(control.arena)]
        connect(m, mover.tables, vector.tables)
        connect(m, vector.requantizer, matrix.vector)
        self._observe(m, control, mover, matrix, vector)
        return m

    def _add(self, m: Module, control: Control, name: str, unit: Unit) -> Unit:
        """Add a unit that is reset between runs."""
        m.submodules[name] = ResetInserter(control.reset)(unit)
        return unit

    def _constants(
        self,
        m: Module,
        control: Control,
        matrix: MatrixEngine,
        weights: WeightStream,
        parameters: ParameterStream,
    ) -> None:
        """Connect what streams constants from the model to the matrix engine."""
        connect(m, control.weights, weights.command)
        connect(m, control.parameters, parameters.command)
        connect(m, weights.weights, matrix.weights)
        connect(m, parameters.parameters, matrix.parameters)
        m.d.comb += [
            weights.region.eq(control.model),
            parameters.region.eq(control.model),
            control.weights_fault.eq(weights.fault),
            control.parameters_fault.eq(parameters.fault),
        ]

    def _memory(
        self,
        m: Module,
        control: Control,
        mover: Mover,
        weights: WeightStream,
        parameters: ParameterStream,
    ) -> None:
        """Add the memory ports, and connect their clients."""
        reader = self._add(
            m, control, "memory_reader", MemoryReader(self.config, clients=len(READ_CLIENTS))
        )
        writer = self._add(m, control, "memory_writer", MemoryWriter(self.config))
        clients: dict[str, Any] = {
            "commands": control.memory,
            "parameters": parameters.memory,
            "weights": weights.memory,
            "mover": mover.read,
        }
        for number, name in enumerate(READ_CLIENTS):
            connect(m, clients[name], reader.clients[number])
        connect(m, mover.write, writer.client)
        # Constants are fetched long before they are used; what the mover reads is waited for.
        m.d.comb += [weights.yields.eq(mover.reads), parameters.yields.eq(mover.reads)]
        connect_flat(m, self, "m_axi_", reader.axi)
        connect_flat(m, self, "m_axi_", writer.axi)
        m.d.comb += [reader.stop.eq(control.stop), writer.stop.eq(control.stop)]
        # Registered, because both come from queues; control waits long enough.
        m.d.sync += [
            control.status.idle.eq(reader.idle & writer.idle),
            control.status.read_error.eq(reader.error),
            control.status.read_client.eq(reader.error_client),
            control.status.write_error.eq(writer.error),
        ]

    def _scratchpad(
        self, m: Module, control: Control, mover: Mover, vector: VectorEngine, matrix: MatrixEngine
    ) -> None:
        """Add the scratchpad; who comes first in a cycle.

        Of reads, who uses it least; but the vector engine last, which has the other port in cycles
        without a write. Of writes, what the array waits for: results fill their queue, and then no
        vector is issued, while the mover only falls behind. It gets all cycles without a result,
        and a command has only so many.
        """
        scratchpad = self._add(m, control, "scratchpad", Scratchpad(self.config))
        connect(m, mover.index_read, scratchpad.readers[0])
        for number, unit in enumerate((mover, matrix, vector)):
            connect(m, unit.scratch_read, scratchpad.readers[number + 1])
        for number, unit in enumerate((matrix, vector, mover)):
            connect(m, unit.scratch_write, scratchpad.writers[number])

    def _observe(
        self, m: Module, control: Control, mover: Mover, matrix: MatrixEngine, vector: VectorEngine
    ) -> None:
        """Register what counts and what shows that something moves."""
        events = control.events
        m.d.comb += [
            events.MATRIX_ISSUE.eq(matrix.status.issue),
            events.MATRIX_WEIGHTS.eq(matrix.status.weights),
            events.MATRIX_PARAMETERS.eq(matrix.status.parameters),
            events.MATRIX_OPERANDS.eq(matrix.status.operands),
            events.MATRIX_HELD.eq(matrix.status.held),
            events.MATRIX_DRAIN.eq(matrix.status.drain),
        ]
        read = self._transfers("r")
        written = self._transfers("w")
        m.d.sync += [
            events.READ_BEATS.eq(read),
            events.WRITE_BEATS.eq(written),
            control.moving.eq(
                read | written | mover.moving | vector.status.moving | matrix.status.issue
            ),
        ]

    def _transfers(self, channel: str) -> Any:
        return getattr(self, f"m_axi_{channel}valid") & getattr(self, f"m_axi_{channel}ready")
