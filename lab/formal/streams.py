"""Streams: no word is lost, doubled, put out of order or changed, and none waits for ever."""

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.gearbox import Gearbox
from eightfold.hw.blocks.skid import Bypass, Skid, Stage
from lab.formal.checker import Checked, Property, implies
from lab.formal.proof import Break, Proof

WORD = 8
"""Bits of a word in a register."""

STORED = 2
"""Bits of a word in a queue: each is a word's length of state for the solver."""


def follow(
    p: Property, m: Module, places: int, enters: Value, word: Value, leaves: Value, offered: Value
) -> Signal:
    """Count the words under way, and follow one of them; return how many are before a cycle.

    Which one is free, so that what holds of it holds of each. It leaves after those that were
    before it, as it came; and since the unit never has more words than places, and offers one
    whenever it has any, none is lost. ``word`` enters with ``enters``, ``offered`` leaves with
    ``leaves``, also in one cycle.
    """
    held = Signal(range(places + 1))
    chosen = p.free("chosen")
    followed = Signal()
    ahead = Signal(range(places + 1))
    kept = Signal(len(word))
    m.d.sync += held.eq(held + enters - leaves)
    p.always(implies(leaves, (held != 0) | enters))
    p.always(implies(enters, (held < places) | leaves))
    p.always(implies(leaves & (held == 0), offered == word))
    with m.If(~followed & chosen & enters & ~(leaves & (held == 0))):
        m.d.sync += [followed.eq(1), ahead.eq(held - leaves), kept.eq(word)]
    with m.Elif(followed & leaves):
        m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
        p.always(implies(ahead == 0, offered == kept))
    p.reaches("a word that was followed leaves", followed & leaves & (ahead == 0))
    p.reaches("all places are taken", held == places)
    return held


def register(p: Property, m: Module, unit_class: Callable[[int], Any]) -> None:
    """One of the registers in a stream."""
    m.submodules.unit = unit = unit_class(WORD)
    places = 2 if unit_class is Skid else 1
    valid, ready = p.drive("valid", unit.i.valid), p.drive("ready", unit.o.ready)
    word = p.drive("word", unit.i.payload)
    enters, leaves = valid & unit.i.ready, unit.o.valid & ready
    held = follow(p, m, places, enters, word, leaves, unit.o.payload)
    p.always(p.stable(unit.o.valid, ready, unit.o.payload))
    arrives = enters if unit_class is Bypass else Const(0)
    p.always(unit.o.valid == ((held != 0) | arrives))
    p.always(implies(held == 0, unit.i.ready))
    p.always(implies(ready & p.before(ready), unit.i.ready))
    steady = enters & p.before(enters)
    p.reaches("words enter in two cycles one after the other", steady)


def credits(p: Property, m: Module, depth: int) -> None:
    """A `CreditQueue` behind a pipeline that pushes whenever it likes, but once for each credit."""
    m.submodules.unit = unit = CreditQueue(STORED, depth)
    take = p.free("take") & unit.available
    owed = Signal(range(depth + 1))
    push = p.free("push") & ((owed != 0) | take)
    m.d.comb += [unit.take.eq(take), unit.push.eq(push)]
    ready, word = p.drive("ready", unit.o.ready), p.drive("word", unit.push_data)
    leaves = unit.o.valid & ready
    m.d.sync += owed.eq(owed + take - push)
    held = follow(p, m, depth, push, word, leaves, unit.o.payload)
    p.always(p.stable(unit.o.valid, ready, unit.o.payload))
    used = held + owed
    p.always(used <= depth)
    p.always(unit.available == (used < depth))
    p.always(unit.several == (used + 1 < depth))
    waited = p.before(held - leaves) != 0
    p.always(implies(unit.o.valid, held != 0))
    p.always(implies(waited, unit.o.valid))
    p.reaches("the last credit is out while no result has come", owed == depth)


def places(p: Property, m: Module, depth: int) -> None:
    """A `Fifo` that is written and read whenever it is asked, full or empty."""
    m.submodules.unit = unit = Fifo(STORED, depth)
    asked, wanted = p.drive("asked", unit.w_en), p.drive("wanted", unit.r_en)
    word = p.drive("word", unit.w_data)
    enters, leaves = asked & unit.w_rdy, wanted & unit.r_rdy
    held = follow(p, m, depth, enters, word, leaves, unit.r_data)
    p.always(unit.w_rdy == (held < depth))
    p.always(unit.r_rdy == (held != 0))


def gearbox(p: Property, m: Module, i_bytes: int, o_bytes: int) -> tuple[Gearbox, list[Signal]]:
    """Add a `Gearbox`; return it, and what is free: ``valid``, ``ready``, ``drop``, the word."""
    m.submodules.unit = unit = Gearbox(i_bytes, o_bytes)
    ports = {"valid": unit.i.valid, "ready": unit.o.ready, "drop": unit.drop}
    return unit, [p.drive(*port) for port in (*ports.items(), ("word", unit.i.payload))]


def cut(p: Property, m: Module, i_bytes: int, o_bytes: int) -> None:
    """A `Gearbox` whose input words are the wider ones."""
    unit, (valid, ready, drop, word) = gearbox(p, m, i_bytes, o_bytes)
    bits, parts = 8 * o_bytes, i_bytes // o_bytes
    # The parts of a word leave while it is offered, so it has to stay as streams' words do.
    waited = p.before(valid & ~unit.i.ready)
    p.assume(implies(waited, valid & (p.before(word) == word)))
    left = Signal(range(parts + 1), init=parts)  # parts of the word that have not left
    rest = word >> (bits * (parts - left)[: range(parts + 1).stop.bit_length()])
    leaves = unit.o.valid & ready
    with m.If(unit.i.ready & valid):
        m.d.sync += left.eq(parts)
    with m.Elif(leaves):
        m.d.sync += left.eq(left - 1)
    p.always(left != 0)
    p.always(unit.o.valid == valid)
    p.always(unit.o.payload == rest[:bits])
    p.always(implies(valid, unit.i.ready == (ready & (drop | (left == 1)))))
    p.reaches("a word leaves whole", leaves & (left == 1))
    p.reaches("a word is dropped before its last part", leaves & drop & (left == parts))


def join(p: Property, m: Module, i_bytes: int, o_bytes: int) -> None:
    """A `Gearbox` whose output words are the wider ones."""
    unit, (valid, ready, _, word) = gearbox(p, m, i_bytes, o_bytes)
    bits, parts = 8 * i_bytes, o_bytes // i_bytes
    enters, leaves = valid & unit.i.ready, unit.o.valid & ready
    kept = [Signal(bits, name=f"kept{i}") for i in range(parts - 1)]
    held = Signal(range(parts))
    with m.If(enters):
        m.d.sync += held.eq(Mux(held == parts - 1, 0, held + 1))
        for number, part in enumerate(kept):
            with m.If(held == number):
                m.d.sync += part.eq(word)
    p.always(unit.o.valid == (valid & (held == parts - 1)))
    p.always(leaves == (enters & (held == parts - 1)))
    p.always(implies(unit.o.valid, unit.o.payload == Cat(*kept, word)))
    p.always(implies(ready | (held < parts - 1), unit.i.ready))
    again = Signal()
    with m.If(leaves):
        m.d.sync += again.eq(1)
    p.reaches("a second word leaves", leaves & again)


ORDER = "no word is lost, doubled, put out of order or changed, whenever it is reset"

REGISTER_BREAKS = {
    Skid: (
        Break(
            "with m.If(~full):\n            m.d.sync += second",
            "with m.If(self.i.valid):\n            m.d.sync += second",
        ),
        Break("m.d.sync += [valid.eq(full | self.i.valid)", "m.d.sync += [valid.eq(self.i.valid)"),
    ),
    Stage: (
        Break("self.i.ready.eq(self.o.ready | ~valid)", "self.i.ready.eq(self.o.ready)"),
        Break("with m.If(self.i.ready):", "with m.If(self.i.valid):"),
    ),
    Bypass: (
        Break("full.eq(self.o.valid & ~self.o.ready)", "full.eq(self.i.valid & ~self.o.ready)"),
        Break("self.o.valid.eq(full | self.i.valid)", "self.o.valid.eq(full)"),
    ),
}
"""Faults of each register."""

REGISTERS = tuple(
    Checked(
        name=unit.__name__.lower(),
        file="hw/blocks/skid.py",
        text=f"`{unit.__name__}`: {ORDER}; words wait only while `o` does",
        build=partial(register, unit_class=unit),
        breaks=breaks,
    )
    for unit, breaks in REGISTER_BREAKS.items()
)


def _by_depth(
    name: str,
    build: Callable[..., None],
    depths: range,
    breaks: tuple[Break, ...],
    *,
    text: str,
    assumed: str = "",
) -> tuple[Checked, ...]:
    """Return a proof of a queue of each depth; breaks are tried at a depth of 3."""
    return tuple(
        Checked(
            name=f"{name}-{depth}",
            family=name,
            file=f"hw/blocks/{name}.py",
            build=partial(build, depth=depth),
            limit=300,
            long=depth > 3,
            breaks=breaks if depth == 3 else (),
            text=text,
            assumed=assumed,
        )
        for depth in depths
    )


QUEUES = _by_depth(
    "credit",
    credits,
    range(2, 9),
    (
        Break("several.eq(credits > 2)", "several.eq(credits > 1)"),
        Break("room & waiting", "waiting"),
        Break("Mux(pointer == self.depth - 1, 0, pointer + 1)", "pointer + 1"),
    ),
    text=f"`CreditQueue` of 2 to 8 results: {ORDER}; there are as many credits as places that "
    "are not taken, and a result is on `o` two cycles after its push at the latest",
    assumed="who feeds it takes a credit only if there is one, and pushes once for each",
)

FIFOS = _by_depth(
    "fifo",
    places,
    range(1, 9),
    (
        Break("reads | (level != self.depth - 1)", "reads"),
        Break("writes | (level != 1)", "writes | (level != 0)"),
        Break("Mux(port.addr == self.depth - 1, 0, port.addr + 1)", "port.addr + 1"),
    ),
    text=f"`Fifo` of 1 to 8 words: {ORDER}; it takes a word whenever it has a place, and shows "
    "the oldest whenever it has one",
)

CUTS = tuple(
    Checked(
        name=f"gearbox-{i_bytes}-to-{o_bytes}",
        family="gearbox-cut",
        file="hw/blocks/gearbox.py",
        text="`Gearbox` from wider words to narrower ones: each word leaves as its bytes in order, "
        "lowest first, but for the rest that `drop` skips, and waits only while `o` does",
        assumed="a word that is offered stays until it is taken",
        build=partial(cut, i_bytes=i_bytes, o_bytes=o_bytes),
        breaks=(
            Break("(part == parts - 1) | self.drop", "part == parts - 1"),
            Break("Mux(ends, 0, part + 1)", "part + 1"),
        )
        if (i_bytes, o_bytes) == (4, 1)
        else (),
    )
    for i_bytes, o_bytes in ((1, 1), (4, 1), (8, 2), (16, 4))
)

JOINS = tuple(
    Checked(
        name=f"gearbox-{i_bytes}-to-{o_bytes}",
        family="gearbox-join",
        file="hw/blocks/gearbox.py",
        text="`Gearbox` from narrower words to wider ones: a word is as many as come, in order, "
        "lowest bytes first, whole with the last of them, and waits only while `o` does",
        build=partial(join, i_bytes=i_bytes, o_bytes=o_bytes),
        breaks=(
            Break("waiting.eq(joined[8 * self.i_bytes :])", "waiting.eq(joined)"),
            Break("self.i.ready.eq(self.o.ready | ~complete)", "self.i.ready.eq(self.o.ready)"),
        )
        if (i_bytes, o_bytes) == (1, 4)
        else (),
    )
    for i_bytes, o_bytes in ((1, 2), (1, 4), (2, 8), (4, 16))
)

PROOFS: tuple[Proof, ...] = (*REGISTERS, *QUEUES, *FIFOS, *CUTS, *JOINS)
