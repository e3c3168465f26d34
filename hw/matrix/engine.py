"""The matrix engine: MATRIX commands from scratchpad to scratchpad."""

from typing import Annotated, Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.array.mac_array import MacArray
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import parameter_layout, weight_layout
from eightfold.hw.matrix.distance import MatrixDistance
from eightfold.hw.matrix.operands import MatrixOperands
from eightfold.hw.matrix.results import MatrixResults
from eightfold.hw.matrix.walk import MatrixWalk
from eightfold.hw.ports import engine_port, requantize_port, scratchpad_read, scratchpad_write
from eightfold.isa import MATRIX, ErrorCode
from eightfold.target.config import AcceleratorConfig

STATUS_LAYOUT = data.StructLayout(
    {"issue": 1, "weights": 1, "parameters": 1, "operands": 1, "held": 1, "drain": 1}
)
"""What the engine does in a cycle; the counters MATRIX_ISSUE and so on of `eightfold.isa`."""


class MatrixEngine(Component):
    """Carry out MATRIX commands as `eightfold.isa.MATRIX` says, in order.

    Vectors are read ahead, so the next command's may enter the MAC array while results of the one
    before are on their way out; what it reads of these is kept apart by its ``distance``. With
    fewer multipliers than lanes, a full group of a depthwise command has ``width`` channels, since
    the lanes from ``width`` on have no byte: groups are of ``min(lanes, width)``. Only the low bits
    of a read address count, and fault is for writes; ``line`` is `eightfold.isa.MIN_LINE` to
    ``line_depth``. What a depthwise window holds from before the first vector of its pass is
    undefined.

    Timing
    ------
    One vector per cycle, from pass to pass as well, with 4 cycles between two
    commands, unless weights, parameters, grants of the scratchpad or the MAC array make it wait.
    The first result is written some 18 cycles plus `eightfold.hw.array.mac_array.latency` after its
    command. ``engine.done`` comes one cycle after the last write; for a command with ``last`` = 0,
    whose sums stay in the array, one after its last read. `MatrixResults.COMMANDS` commands may be
    under way.

    Parameters
    ----------
    config
        All of its sizes.
    """

    engine: Annotated[Any, Out(engine_port(MATRIX))]
    """Commands."""
    weights: Annotated[
        stream.Interface, lambda self: In(stream.Signature(weight_layout(self.config)))
    ]
    """A buffer for each pass."""
    parameters: Annotated[stream.Interface, In(stream.Signature(parameter_layout()))]
    """A bank for each group of a command with ``last``."""
    scratch_read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """The port that reads vectors."""
    scratch_write: Annotated[stream.Interface, lambda self: Out(scratchpad_write(self.config))]
    """The port that writes results."""
    vector: Annotated[Any, lambda self: In(requantize_port(self.config))]
    """Sums of the vector engine, for the array's requantizers."""
    status: Annotated[data.View, Out(STATUS_LAYOUT)]
    """One bit, or none without a command."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = MatrixWalk(self.config)
        m.submodules.distance = distance = MatrixDistance(self.config)
        m.submodules.operands = operands = MatrixOperands(self.config)
        m.submodules.array = array = MacArray(self.config)
        m.submodules.results = results = MatrixResults(self.config)
        connect(m, walk.o, distance.i)
        connect(m, distance.o, operands.i)
        connect(m, operands.read, flipped(self.scratch_read))
        connect(m, operands.activations, array.activations)
        connect(m, flipped(self.weights), array.weights)
        connect(m, flipped(self.parameters), array.parameters)
        connect(m, array.results, results.results)
        connect(m, flipped(self.vector), array.vector)
        connect(m, results.write, flipped(self.scratch_write))
        command = self.engine.command
        m.d.comb += [
            walk.command.valid.eq(command.valid & results.available),
            walk.command.payload.eq(command.payload),
            command.ready.eq(walk.command.ready & results.available),
            distance.distance.eq(walk.distance),
            distance.written.eq(results.written),
            results.push.eq(command.valid & command.ready),
            *(field.eq(command.payload[name]) for name, field in self._fields(results.command)),
            self.engine.fault.eq(results.fault),
            self.engine.code.eq(ErrorCode.ADDRESS),
        ]
        self._done(m, operands.finished, results)
        self._status(m, walk, distance, array)
        return m

    def _fields(self, view: data.View) -> list[tuple[str, Value]]:
        return [(name, view[name]) for name, _ in view.shape()]

    def _done(self, m: Module, finished: Value, results: MatrixResults) -> None:
        """Tell of each command that all of it is read and all its results are written."""
        waiting = []
        for name, event in (("finished", finished), ("complete", results.complete)):
            # Commands at `results`, on the way out of it, and in its counter.
            count = Signal(range(2 * MatrixResults.COMMANDS), name=name)
            m.d.sync += count.eq(count + event - self.engine.done)
            waiting.append(count != 0)
        m.d.comb += self.engine.done.eq(waiting[0] & waiting[1])

    def _status(
        self, m: Module, walk: MatrixWalk, distance: MatrixDistance, array: MacArray
    ) -> None:
        """Count the commands, and register the reason of the last cycle."""
        pending = Signal(range(MatrixOperands.DEPTH + 4))  # vectors between the walk and the array
        commands = Signal(range(2 * MatrixResults.COMMANDS))
        m.d.sync += [
            pending.eq(
                pending
                + (walk.o.valid & walk.o.ready)
                - (array.activations.valid & array.activations.ready)
            ),
            commands.eq(
                commands
                + (self.engine.command.valid & self.engine.command.ready)
                - self.engine.done
            ),
        ]
        m.d.comb += distance.alone.eq(commands <= 1)
        ahead = (walk.busy & ~distance.waits) | (pending != 0)
        none = ~Value.cast(array.reason).any()
        m.d.sync += [
            self.status.issue.eq(array.reason.issue),
            self.status.weights.eq(array.reason.weights),
            self.status.parameters.eq(array.reason.parameters),
            self.status.held.eq(array.reason.held),
            self.status.operands.eq(none & ahead),
            self.status.drain.eq(none & ~ahead & (commands != 0)),
        ]
