"""Commands as they are drawn, and the tokens and words that make a stream of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import Decoded, command_places
from eightfold.isa.distances import distances
from eightfold.sim.machine.accesses import Accesses, accesses
from eightfold.sim.stimuli.commands import begin_command, end_command
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Item:
    """A command between BEGIN and END, without tokens; fields not given are 0."""

    opcode: isa.Opcode
    fields: Mapping[str, int] = field(hash=False)

    def decoded(self, number: int = 0) -> Decoded:
        """Return it as if read from a stream."""
        names = [place.name for place in command_places(self.opcode)[len(isa.HEADER) :]]
        fields = dict.fromkeys(names, 0) | dict(self.fields)
        return Decoded(number, self.opcode, (), (), fields)


@dataclass
class _Tokens:
    """Bits of a header."""

    wait: int = 0
    signal: int = 0


def stream(
    config: AcceleratorConfig, items: Sequence[Item], rng: np.random.Generator
) -> list[NDArray[np.uint32]]:
    """Return the words of BEGIN, of each item with the tokens that it needs, and of END.

    A command waits for the last one before it, of each engine, that touches a byte which it touches
    too, one of them writing; now and then for a later one, which is as right. In half of the
    streams those of the matrix engine wait for each other by `distance` instead.
    """
    apart = [0] * len(items)
    if rng.random() < 0.5:
        apart = distances(config, [_instruction(item) for item in items])
    tokens = _tokens(config, items, rng, any(apart))
    words = [begin_command(config).words]
    for index, (item, bits) in enumerate(zip(items, tokens, strict=True), start=1):
        header = {"index": index, "wait": bits.wait, "signal": bits.signal}
        fields = dict(item.fields) | ({"distance": apart[index - 1]} if apart[index - 1] else {})
        words.append(isa.COMMANDS[item.opcode].encode(**header, **fields))
    return [*words, end_command(len(words)).words]


def _instruction(item: Item) -> isa.Instruction | None:
    """Return a MATRIX as the compiler has it."""
    if item.opcode != isa.Opcode.MATRIX:
        return None
    return isa.Matrix(**item.decoded().fields)


def _tokens(
    config: AcceleratorConfig, items: Sequence[Item], rng: np.random.Generator, apart: bool
) -> list[_Tokens]:
    tokens = [_Tokens() for _ in items]
    touched: list[Accesses] = []
    taken: dict[tuple[isa.Engine, isa.Engine], int] = {}
    for number, item in enumerate(items):
        touched.append(accesses(config, item.decoded()))
        if item.opcode not in isa.ENGINES:
            continue
        engine = isa.ENGINES[item.opcode]
        for other in isa.Engine:
            if apart and other is engine is isa.Engine.MATRIX:
                continue
            theirs = [n for n in range(number) if isa.ENGINES.get(items[n].opcode) == other]
            since = [n for n in theirs if n > taken.get((other, engine), -1)]
            needed = [n for n in since if _conflict(touched[n], touched[number])]
            if rng.random() < 0.15 and since:
                needed.append(int(rng.choice([n for n in since if n >= max(needed, default=0)])))
            if needed:
                last = taken[other, engine] = max(needed)
                tokens[number].wait |= 1 << other.value
                tokens[last].signal |= 1 << engine.value
    return tokens


def _conflict(one: Accesses, other: Accesses) -> bool:
    """Return whether both touch a byte, and one of them writes it; the model never changes."""
    pairs = ((one.writes, other.reads), (one.reads, other.writes), (one.writes, other.writes))
    return any(
        len(np.intersect1d(offsets, second[space], assume_unique=True)) > 0
        for first, second in pairs
        for space, offsets in first.items()
        if space in second
    )
