"""The mover's last part: units and their bytes to scratchpad, memory and tables."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import constant, hdl
from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.mover.runs import TABLE_BYTES
from eightfold.hw.mover.units import unit_layout
from eightfold.hw.ports import (
    memory_write,
    scratchpad_write,
    scratchpad_write_layout,
    vector_layout,
)
from eightfold.isa import ErrorCode
from eightfold.target.config import AcceleratorConfig

_WORD = 4
"""Bytes of a table's entry."""

_MOST_OPEN = 48
"""Write requests without an answer, about."""


def table_entry_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return entry ``index % 256`` of the vector engine's table ``index // 256``."""
    return data.StructLayout(
        {"index": range(TABLE_BYTES // _WORD * config.tables), "value": signed(32)}
    )


class Writer(Component):
    """Write units in order, and say when those of a command have been written.

    Timing
    ------
    One unit per cycle, or one entry of a table, from a register behind the queues' outputs.
    ``done`` comes one cycle after the last write, in memory after the answer to it. The next
    command's units are written meanwhile, except its last one.

    Parameters
    ----------
    config
        Sizes of scratchpad, tables and port.
    """

    units: Annotated[stream.Interface, lambda self: In(stream.Signature(unit_layout(self.config)))]
    """What is written, in order."""
    from_memory: Annotated[
        stream.Interface, lambda self: In(stream.Signature(unsigned(8 * self.config.port)))
    ]
    """Bytes of units that come from memory."""
    from_scratchpad: Annotated[
        stream.Interface, lambda self: In(stream.Signature(vector_layout(self.config)))
    ]
    """Bytes of units that come from the scratchpad."""
    scratchpad: Annotated[stream.Interface, lambda self: Out(scratchpad_write(self.config))]
    """Writes there."""
    beats: Annotated[
        stream.Interface, lambda self: Out(memory_write(self.config).members["beats"].signature)
    ]
    """Writes to memory, as the ``beats`` of `eightfold.hw.ports.memory_write`."""
    answered: Annotated[Signal, In(1)]
    """As in `eightfold.hw.ports.memory_write`."""
    tables: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(table_entry_layout(self.config)))
    ]
    """Entries, in order."""
    done: Annotated[Signal, Out(1)]
    """As in `eightfold.hw.ports.engine_port`, like ``fault`` and ``code``."""
    fault: Annotated[Signal, Out(1)]
    code: Annotated[Signal, Out(hdl(ErrorCode))]

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout(
            {"unit": unit_layout(self.config), "mask": self.config.vector}
            | {"data": vector_layout(self.config)}
        )
        held = Signal(layout, reset_less=True)
        valid = Signal()
        active, written, load, crowded = Signal(), Signal(), Signal(), Signal()
        unit = self.units.payload
        spaces = self.units.payload.spaces
        from_scratchpad = ~(spaces.from_memory | spaces.from_fill | unit.fault)
        free = ~valid | written
        has_beat = ~spaces.from_memory | self.from_memory.valid
        has_vector = ~from_scratchpad | self.from_scratchpad.valid
        too_many = spaces.to_memory & crowded
        m.d.comb += [
            load.eq(free & self.units.valid & has_beat & has_vector & ~too_many),
            self.units.ready.eq(load),
            self.from_memory.ready.eq(load & spaces.from_memory),
            self.from_scratchpad.ready.eq(load & from_scratchpad),
        ]
        with m.If(load | written):
            m.d.sync += valid.eq(load)
        with m.If(load):
            m.d.sync += held.eq(self._join())
        # The scratchpad's ``ready`` comes late, from other engines.
        m.submodules.bypass = bypass = Bypass(scratchpad_write_layout(self.config))
        connect(m, bypass.o, flipped(self.scratchpad))
        m.d.comb += written.eq(self._write(m, held, active, load, bypass.i))
        self._complete(m, held, valid, active, written, crowded, bypass.full)
        return m

    def _join(self) -> Value:
        """Return a unit, which of its bytes count, and its bytes."""
        unit = self.units.payload
        size = 8 * self.config.vector
        mask = Cat((j >= unit.first) & (j <= unit.end) for j in range(self.config.vector))
        beat, vector = (Value.cast(s.payload) for s in (self.from_memory, self.from_scratchpad))
        fill = Value.cast(unit.fill).replicate(self.config.vector)
        inner = Mux(unit.spaces.from_fill, fill, vector)
        word = Mux(unit.spaces.from_memory, beat, inner)
        return Cat(Value.cast(unit), mask, word[:size])

    def _write(
        self,
        m: Module,
        held: data.View,
        active: Value,
        load: Value,
        scratchpad: stream.Interface,
    ) -> Value:
        """Drive the outputs; return whether the unit is written with this cycle."""
        unit = held.unit
        word = Value.cast(held.data)
        entry = Signal(table_entry_layout(self.config)["index"].shape, reset_less=True)
        at = Signal(range(max(2, self.config.vector // _WORD)), reset_less=True)
        new = self.units.payload
        with m.If(load):
            m.d.sync += [entry.eq((new.local + new.first) >> 2), at.eq(new.first >> 2)]
        with m.Elif(self.tables.valid & self.tables.ready):
            m.d.sync += [entry.eq(entry + 1), at.eq(at + 1)]
        to_memory, to_tables = unit.spaces.to_memory, unit.spaces.to_tables
        m.d.comb += [
            scratchpad.valid.eq(active & ~(to_memory | to_tables)),
            scratchpad.payload.address.eq(unit.local),
            scratchpad.payload.mask.eq(held.mask),
            scratchpad.payload.data.eq(held.data),
            self.beats.valid.eq(active & to_memory),
            self.beats.payload.data.eq(word[: 8 * self.config.port]),
            self.beats.payload.strobe.eq(held.mask[: self.config.port]),
            self.tables.valid.eq(active & to_tables),
            self.tables.payload.index.eq(entry),
            self.tables.payload.value.eq(word.word_select(at, 8 * _WORD)),
        ]
        last_entry_leaves = self.tables.ready & (at == unit.end >> 2)
        inner_takes = Mux(to_tables, last_entry_leaves, scratchpad.ready)
        return active & Mux(to_memory, self.beats.ready, inner_takes)

    def _complete(
        self,
        m: Module,
        held: data.View,
        valid: Value,
        active: Signal,
        written: Value,
        crowded: Signal,
        waits: Value,
    ) -> None:
        """Count the answers that a command waits for; ``waits``: a write to the scratchpad does."""
        open_, owed = (Signal(range(64), name=name) for name in ("open", "owed"))
        pending, stopped, opened = Signal(), Signal(), Signal()
        settled = Signal()  # none are owed: tokens follow `done`, so it is early
        after = Signal.like(open_)
        unit = held.unit
        m.d.comb += [
            active.eq(valid & ~unit.fault & ~(unit.last & pending)),
            opened.eq(written & unit.spaces.to_memory & unit.opens),
            after.eq(open_ + opened - self.answered),
            self.done.eq(pending & settled & ~waits),
            self.fault.eq(valid & unit.fault & ~pending & ~stopped),
            self.code.eq(Mux(unit.index, constant(ErrorCode.INDEX), constant(ErrorCode.ADDRESS))),
        ]
        m.d.sync += [open_.eq(after), crowded.eq(open_ >= _MOST_OPEN)]
        # A command's answers have come before the next one's last unit is written, and to its own
        # last burst there is none before that.
        with m.If(written & unit.last):
            m.d.sync += [pending.eq(1), owed.eq(after), settled.eq(~unit.spaces.to_memory)]
        with m.Else():
            with m.If(self.done):
                m.d.sync += pending.eq(0)
            with m.If(self.answered & ~settled):
                m.d.sync += [owed.eq(owed - 1), settled.eq(owed == 1)]
        with m.If(self.fault):
            m.d.sync += stopped.eq(1)
