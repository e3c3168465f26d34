"""The mover's first part: a command's runs, checked against the buffers and placed in memory."""

from typing import Annotated, cast

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.loops import Address, Loops
from eightfold.hw.blocks.skid import Stage
from eightfold.hw.mover.indices import offset_layout
from eightfold.hw.ports import command_layout, region_layout
from eightfold.isa import ADDRESS_BITS, GATHER, MOVE, Opcode, Space
from eightfold.target.config import AcceleratorConfig

LEVELS = 4
"""Loops of a MOVE."""

TABLE_BYTES = 1024
"""The bytes of a table of the vector engine: 256 entries of 4 bytes."""

_RUN_BITS = MOVE.layout["run"].width
_WORD_BITS = 2
"""Low bits of an address in the tables, which are 0."""


def place(config: AcceleratorConfig) -> range:
    """Return the shape of a byte's place in a scratchpad access."""
    return range(config.vector)


def local_place(config: AcceleratorConfig) -> range:
    """Return the shape of a byte's place in the scratchpad, or else in the tables."""
    return range(max(config.scratchpad, TABLE_BYTES * config.tables))


def spaces_layout() -> data.StructLayout:
    """Return where bytes come from and go to: the scratchpad, unless a bit is set."""
    return data.StructLayout(
        {
            "from_memory": unsigned(1),
            "from_fill": unsigned(1),
            "to_memory": unsigned(1),
            "to_tables": unsigned(1),
        }
    )


def run_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a run, cut into units of ``port`` bytes if it is in memory, else of ``vector``.

    Units are those of the memory: the addresses are of a unit's byte 0, which may lie before the
    run. Since the scratchpad takes any address, no byte ever changes its place in the unit.
    """
    return data.StructLayout(
        {
            "spaces": spaces_layout(),
            "outer": unsigned(ADDRESS_BITS),  # in memory; without memory, of the source
            "local": local_place(config),  # of the other side; in the tables, of the bytes
            "more": unsigned(_RUN_BITS - 1),  # units after the first one
            "first": place(config),  # first byte of the run in its first unit
            "end": place(config),  # last byte of the run in its last unit
            "fill": unsigned(8),
            "last": unsigned(1),  # run of the command
            "fault": unsigned(1),  # leaves the buffers; `spaces` are all 0, and `more`
            "index": unsigned(1),  # or, with `fault`, has an index outside of [0, limit)
        }
    )


def _located_layout() -> data.StructLayout:
    return data.StructLayout(
        {
            "source": unsigned(ADDRESS_BITS),
            "target": unsigned(ADDRESS_BITS),
            "last": unsigned(1),
            "wrong": unsigned(1),  # as in `offset_layout`
            "outside": unsigned(1),
        }
    )


def _kept_layout() -> data.StructLayout:
    return data.StructLayout(
        {
            "gather": unsigned(1),
            "spaces": spaces_layout(),
            "illegal": unsigned(1),  # whatever its runs
            "fill": unsigned(8),
            "run": unsigned(_RUN_BITS),
            "base": unsigned(ADDRESS_BITS),
            # Greatest offset at which a run may start, of source and target; negative: none.
            "limits": data.ArrayLayout(signed(ADDRESS_BITS + 1), 2),
        }
    )


class Runs(Component):
    """Take MOVE and GATHER commands, and send out their runs.

    Timing
    ------
    One run per cycle, the first one 6 cycles after the command's transfer, of a GATHER 5 cycles
    after its offset; a command is taken when the runs of the one before have left for the queue, so
    that 5 cycles pass between the runs of two commands. ``command.ready`` does not depend on
    ``runs.ready``.

    Parameters
    ----------
    config
        Sizes of scratchpad, tables and port.
    """

    command: Annotated[stream.Interface, In(stream.Signature(command_layout(MOVE, GATHER)))]
    """What is moved."""
    offsets: Annotated[stream.Interface, In(stream.Signature(offset_layout()))]
    """The offsets of the runs of a GATHER."""
    model: Annotated[data.View, In(region_layout())]
    """Region of constants; does not change while a command is in work."""
    arena: Annotated[data.View, In(region_layout())]
    """Region of tensors; does not change either."""
    runs: Annotated[stream.Interface, lambda self: Out(stream.Signature(run_layout(self.config)))]
    """In loop order."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = Address(self.config.memory_bits, range(LEVELS))
        addresses = {"source": address, "target": address}
        m.submodules.loops = loops = Loops(LEVELS, addresses)
        m.submodules.located = located = Stage(_located_layout())
        m.submodules.queue = queue = CreditQueue(run_layout(self.config), depth=16)
        wiring.connect(m, queue.o, wiring.flipped(self.runs))
        take, prepare, checked, step = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            # What is kept of the command stays until its last run is in the queue.
            self.command.ready.eq(~(loops.o.valid | located.o.valid | checked | queue.push)),
            take.eq(self.command.valid & self.command.ready),
            loops.i.valid.eq(take),
            located.o.ready.eq(queue.available),
            step.eq(located.o.valid & located.o.ready),
            queue.take.eq(step),
        ]
        m.d.sync += [prepare.eq(take), checked.eq(step), queue.push.eq(checked)]
        command = self.command.payload.move
        nest = loops.i.payload
        m.d.comb += [nest.counts[k].eq(command[f"count{k}"]) for k in range(LEVELS)]
        # In place of the last loop a GATHER has other fields: it runs once.
        m.d.comb += nest.counts[LEVELS - 1].eq(command[f"count{LEVELS - 1}"] | self._is_gather())
        for name in addresses:
            m.d.comb += nest[name].start.eq(command[name])
            for k in range(LEVELS):
                m.d.comb += nest[name].strides[k].eq(command[f"{name}_stride{k}"])
        kept = self._keep(m, take, prepare)
        self._locate(m, kept, loops.o, located.i)
        self._place(m, kept, located.o.payload, cast(data.View, queue.push_data))
        return m

    def _is_gather(self) -> Value:
        if not self.config.gather:
            return Const(0)
        return self.command.payload.move.opcode == Opcode.GATHER

    def _locate(
        self, m: Module, kept: data.View, run: stream.Interface, located: stream.Interface
    ) -> None:
        """Add the offset to the source of a GATHER's run, which waits for it."""
        ready = Signal()
        gather = kept.gather
        offset = self.offsets.payload
        source = Signal(self.config.memory_bits)
        m.d.comb += [
            ready.eq(~gather | self.offsets.valid),
            located.valid.eq(run.valid & ready),
            run.ready.eq(located.ready & ready),
            self.offsets.ready.eq(gather & run.valid & located.ready),
            source.eq(run.payload.source + Mux(gather, offset.offset, 0)),
            located.payload.source.eq(source),
            located.payload.target.eq(run.payload.target),
            located.payload.last.eq(run.payload.last),
            located.payload.wrong.eq(gather & offset.wrong),
            located.payload.outside.eq(gather & offset.outside),
        ]

    def _keep(self, m: Module, take: Value, prepare: Value) -> data.View:
        """Return what is known of the command's runs; the limits one cycle after the rest."""
        kept = Signal(_kept_layout(), reset_less=True)
        command = self.command.payload.move
        gather = self._is_gather()
        source, target = Value.cast(command.source_space), Value.cast(command.target_space)
        from_memory = source.matches(Space.MODEL, Space.ARENA)
        to_memory, to_tables = target == Space.ARENA, target == Space.TABLES
        run = Value.cast(command.run)
        model = Signal(reset_less=True)
        from_fill, to_scratchpad = source == Space.FILL, target == Space.SCRATCHPAD
        may_fill = ~gather & (to_memory | to_scratchpad)
        may_read = Mux(from_memory, ~to_memory, source == Space.SCRATCHPAD)
        may_write = to_memory | (to_tables & ~gather) | to_scratchpad
        legal = Mux(from_fill, may_fill, may_read & may_write)
        with m.If(take):
            m.d.sync += [
                kept.gather.eq(gather),
                kept.spaces.from_memory.eq(from_memory),
                kept.spaces.from_fill.eq(from_fill),
                kept.spaces.to_memory.eq(to_memory),
                kept.spaces.to_tables.eq(to_tables),
                kept.illegal.eq(~legal | (run == 0) | (to_tables & run[:_WORD_BITS].any())),
                kept.fill.eq(command.fill),
                kept.run.eq(run),
                model.eq(source == Space.MODEL),
            ]
        with m.If(prepare):
            self._limit(m, kept, model)
        return kept

    def _limit(self, m: Module, kept: data.View, model: Value) -> None:
        """Keep the base of the region, and the last places at which runs may begin."""
        spaces = kept.spaces
        region = data.View(region_layout(), Mux(model, self.model, self.arena))
        scratchpad = self.config.scratchpad
        tables = TABLE_BYTES * self.config.tables
        source_size = Mux(spaces.from_memory, region.size, scratchpad)
        local_size = Mux(spaces.to_tables, tables, scratchpad)
        target_size = Mux(spaces.to_memory, self.arena.size, local_size)
        m.d.sync += [
            kept.base.eq(Mux(spaces.from_memory | spaces.to_memory, region.base, 0)),
            kept.limits[0].eq(source_size - kept.run),
            kept.limits[1].eq(target_size - kept.run),
        ]

    def _place(self, m: Module, kept: data.View, run: data.View, placed: data.View) -> None:
        """Check a run in one cycle, and work out where its units lie in the next one."""
        spaces = kept.spaces
        port = self.config.port
        memory = spaces.from_memory | spaces.to_memory
        outer = Signal(ADDRESS_BITS, reset_less=True)
        local = Signal(local_place(self.config), reset_less=True)
        last, fault, index = (Signal(name=n, reset_less=True) for n in ("last", "fault", "index"))
        source_outside, target_outside = (
            (limit < 0) | (start > limit[:ADDRESS_BITS])
            for start, limit in ((run.source, kept.limits[0]), (run.target, kept.limits[1]))
        )
        misaligned = (run.source | run.target)[:_WORD_BITS].any()
        m.d.sync += [
            outer.eq(Mux(spaces.to_memory, run.target, run.source)),
            local.eq(Mux(spaces.to_memory, run.source, run.target)),
            last.eq(run.last),
            index.eq(run.wrong & ~run.outside & ~kept.illegal),
            fault.eq(
                kept.illegal
                | run.wrong
                | run.outside
                | (source_outside & ~spaces.from_fill)
                | target_outside
                | (spaces.to_tables & misaligned)
            ),
        ]
        # Regions begin at a multiple of the port.
        low = outer[: exact_log2(port)]
        first = Mux(memory, low, 0)
        rest = Signal(_RUN_BITS + 1)
        m.d.comb += rest.eq((kept.run - 1)[:_RUN_BITS] + first)
        sizes = [exact_log2(size) for size in (self.config.vector, port)]
        m.d.sync += [
            placed.spaces.eq(Mux(fault, 0, spaces)),
            placed.outer.eq(Cat(Mux(memory, 0, low), outer[len(low) :]) + kept.base),
            placed.local.eq(local - first),
            placed.more.eq(Mux(fault, 0, Mux(memory, rest[sizes[1] :], rest[sizes[0] :]))),
            placed.first.eq(first),
            placed.end.eq(Mux(memory, rest[: sizes[1]], rest[: sizes[0]])),
            placed.fill.eq(kept.fill),
            placed.last.eq(last),
            placed.fault.eq(fault),
            placed.index.eq(index),
        ]
