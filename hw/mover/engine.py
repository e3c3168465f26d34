"""The mover: copies runs of bytes between memory, scratchpad and tables, also by indices."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, ShapeLike, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.skid import Bypass, Stage
from eightfold.hw.mover.indices import Indices
from eightfold.hw.mover.runs import Runs
from eightfold.hw.mover.units import Units
from eightfold.hw.mover.writer import Writer, table_entry_layout
from eightfold.hw.ports import (
    BURST,
    engine_port,
    memory_read,
    memory_write,
    region_layout,
    scratchpad_read,
    scratchpad_write,
    vector_layout,
)
from eightfold.isa import GATHER, MOVE, Opcode
from eightfold.target.config import AcceleratorConfig

BEATS = 64
"""Beats from memory on their way or waiting; three bursts cover a latency of 48 cycles."""

VECTORS = 16
"""Vectors from the scratchpad on their way or waiting; enough for one per cycle."""


class Mover(Component):
    """Execute MOVE and GATHER commands; see `eightfold.isa`.

    Runs are cut into units at the beats of the memory, so that a byte keeps its place in the
    port: the scratchpad's side takes the address at which the unit's byte 0 would lie, and a mask.
    Nothing in memory is read but beats with at least one byte of a run.

    A command is a fault if memory is copied to memory, FILL to TABLES, ``run`` is 0, a space is
    none that can be read or written, or if, with target TABLES, ``run`` is no multiple of 4; and
    from the first run that is not all inside its spaces, or not at a multiple of 4 where the
    target is TABLES. In a GATHER also if FILL is read, TABLES are written, or from the first run
    whose index is not all inside the scratchpad, or not in [0, limit), which alone is an INDEX
    error. Runs before that one are written, it and all behind it are not; after the fault the mover
    waits for a reset.

    Timing
    ------
    ``port`` bytes per cycle to and from memory, ``vector`` bytes otherwise, one entry per cycle to
    the tables; of runs that lie in one unit, a run per cycle. Reading runs ahead of writing, across
    runs and commands; a command is taken up to 5 cycles after the last run of the one before was
    cut. Done: see `Writer`. Indices, see `Indices`, share the scratchpad's reads with the bytes.

    Parameters
    ----------
    config
        Sizes of scratchpad, tables and port.
    """

    engine: Annotated[Any, Out(engine_port(MOVE, GATHER))]
    """Commands."""
    model: Annotated[data.View, In(region_layout())]
    """Region of constants; does not change while a command is in work."""
    arena: Annotated[data.View, In(region_layout())]
    """Region of tensors; does not change either."""
    read: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """The port that reads memory."""
    write: Annotated[Any, lambda self: Out(memory_write(self.config))]
    """To memory."""
    scratch_read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """The port that reads the bytes that are moved."""
    index_read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """The port that reads indices."""
    scratch_write: Annotated[stream.Interface, lambda self: Out(scratchpad_write(self.config))]
    """The port that writes the bytes that are moved."""
    tables: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(table_entry_layout(self.config)))
    ]
    """Entries, in order; done when transferred."""
    reads: Annotated[Signal, Out(1)]
    """As in `Units`: others may hold back meanwhile."""
    moving: Annotated[Signal, Out(1)]
    """Something has advanced in the cycle before."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.runs = runs = Runs(self.config)
        m.submodules.units = units = Units(self.config)
        m.submodules.writer = writer = Writer(self.config)
        beats = self._queue(m, "beats", unsigned(8 * self.config.port), BEATS, self.read)
        m.submodules.arrived = arrived = Stage(unsigned(8 * self.config.port))
        vectors = self._queue(m, "vectors", vector_layout(self.config), VECTORS, self.scratch_read)
        # The writer's ``ready`` comes late, too late for the enables of RAM and registers behind.
        m.submodules.bypass = bypass = Bypass(unsigned(8 * self.config.port))
        m.submodules.vectors_bypass = vectors_bypass = Bypass(vector_layout(self.config))
        for source, sink in (
            (wiring.flipped(self.engine.command), runs.command),
            (runs.runs, units.runs),
            (units.read, wiring.flipped(self.read.request)),
            (units.write, wiring.flipped(self.write.request)),
            (units.vectors, wiring.flipped(self.scratch_read.request)),
            (units.units, writer.units),
            (beats.o, arrived.i),
            (arrived.o, bypass.i),
            (bypass.o, writer.from_memory),
            (vectors.o, vectors_bypass.i),
            (vectors_bypass.o, writer.from_scratchpad),
            (writer.beats, wiring.flipped(self.write.beats)),
            (writer.scratchpad, wiring.flipped(self.scratch_write)),
            (writer.tables, wiring.flipped(self.tables)),
        ):
            wiring.connect(m, source, sink)
        if self.config.gather:
            self._indices(m, runs)
        m.d.comb += [
            runs.model.eq(self.model),
            runs.arena.eq(self.arena),
            beats.take.eq(units.take_beat),
            vectors.take.eq(units.take_vector),
            units.beats_free.eq(self._burst_fits(m, beats)),
            units.vectors_free.eq(vectors.available),
            self.reads.eq(units.reads),
            writer.answered.eq(self.write.answered),
            self.engine.done.eq(writer.done),
            self.engine.fault.eq(writer.fault),
            self.engine.code.eq(writer.code),
        ]
        moves = [self.read.valid, self.write.answered]
        moves += [s.valid & s.ready for s in (units.runs, writer.units, writer.tables)]
        m.d.sync += self.moving.eq(Cat(moves).any())
        return m

    def _indices(self, m: Module, runs: Runs) -> None:
        """Add what gives the runs of a GATHER their offsets."""
        m.submodules.indices = indices = Indices(self.config)
        wiring.connect(m, indices.read, wiring.flipped(self.index_read))
        wiring.connect(m, indices.offsets, runs.offsets)
        command = runs.command
        m.d.comb += [
            # Runs takes a command when those of the one before have left, so that no offset waits.
            indices.command.valid.eq(
                command.valid & command.ready & (command.payload.gather.opcode == Opcode.GATHER)
            ),
            indices.command.payload.eq(command.payload.gather),
        ]

    def _queue(
        self, m: Module, name: str, shape: ShapeLike, depth: int, answers: Any
    ) -> CreditQueue:
        """Add the queue of what is read somewhere."""
        m.submodules[name] = queue = CreditQueue(shape, depth)
        m.d.comb += [queue.push.eq(answers.valid), queue.push_data.eq(answers.data)]
        return queue

    def _burst_fits(self, m: Module, beats: CreditQueue) -> Signal:
        """Return whether the queue has places for a whole burst."""
        used = Signal(range(BEATS + 1))
        fits = Signal(init=1)
        leaves = beats.o.valid & beats.o.ready
        m.d.sync += [
            used.eq(used + beats.take - leaves),
            # One place more, for the beat that may be taken in this cycle.
            fits.eq(used < BEATS - BURST),
        ]
        return fits
