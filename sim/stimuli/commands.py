"""Random command streams whose tokens let every command start, and how they can be spoilt:
bits, fields, words, commands."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa import Space
from eightfold.isa.decode import Place, command_places
from eightfold.target.config import AcceleratorConfig

INNER = tuple(o for o in isa.COMMANDS if o not in (isa.Opcode.BEGIN, isa.Opcode.END))
"""The opcodes of commands between BEGIN and END."""


@dataclass
class RandomCommand:
    """A command with its words; ``wait`` and ``signal`` are a header's bits."""

    opcode: isa.Opcode
    wait: int
    signal: int
    words: NDArray[np.uint32]


def random_stream(
    config: AcceleratorConfig, rng: np.random.Generator, count: int
) -> list[RandomCommand]:
    """Return BEGIN, ``count`` commands with arbitrary fields, and END.

    A command waits only for tokens that commands before it have given, so that the order of the
    stream is one in which all can run. Many tokens are never taken.
    """
    commands = [begin_command(config)]
    given: Counter[tuple[int, int]] = Counter()
    while len(commands) <= count:
        opcode = INNER[rng.integers(len(INNER))]
        index = len(commands)
        wait = signal = 0
        if opcode in isa.ENGINES:
            me = isa.ENGINES[opcode].value
            for other in range(len(isa.Engine)):
                if given[other, me] and rng.random() < 0.6:
                    given[other, me] -= 1
                    wait |= 1 << other
            signal = int(rng.integers(1 << len(isa.Engine)))
            for other in range(len(isa.Engine)):
                given[me, other] += signal >> other & 1
        commands.append(_random_command(config, rng, opcode, wait, signal, index))
    return [*commands, end_command(len(commands))]


def begin_command(config: AcceleratorConfig) -> RandomCommand:
    return RandomCommand(isa.Opcode.BEGIN, 0, 0, isa.BEGIN.encode(**isa.begin(config).values()))


def end_command(index: int) -> RandomCommand:
    return RandomCommand(isa.Opcode.END, 0, 0, isa.END.encode(index=index % (1 << 16)))


def any_command(
    config: AcceleratorConfig, rng: np.random.Generator, opcode: isa.Opcode, index: int
) -> RandomCommand:
    """Return a command with arbitrary fields, tokens among them if its opcode takes some."""
    wait = signal = 0
    if opcode in isa.ENGINES:
        wait, signal = (int(rng.integers(1 << len(isa.Engine))) for _ in range(2))
    return _random_command(config, rng, opcode, wait, signal, index)


def round_robin(config: AcceleratorConfig, count: int) -> list[RandomCommand]:
    """Return BEGIN, ``count`` commands of all opcodes in turn, all fields 0, no tokens, and END."""
    opcodes = [INNER[index % len(INNER)] for index in range(1, count + 1)]
    inner = [
        RandomCommand(opcode, 0, 0, isa.COMMANDS[opcode].encode(index=index))
        for index, opcode in enumerate(opcodes, start=1)
    ]
    return [begin_command(config), *inner, end_command(count + 1)]


def _random_command(
    config: AcceleratorConfig,
    rng: np.random.Generator,
    opcode: isa.Opcode,
    wait: int,
    signal: int,
    index: int,
) -> RandomCommand:
    header = {"opcode": opcode.value, "wait": wait, "signal": signal, "index": index % (1 << 16)}
    bits = 0
    for place in command_places(opcode):
        value = header.get(place.name)
        if value is None:
            value = int.from_bytes(rng.bytes(8), "little")
        bits |= (value & ((1 << place.width) - 1)) << place.offset
    words = np.frombuffer(bits.to_bytes(4 * isa.COMMANDS[opcode].words, "little"), dtype="<u4")
    return RandomCommand(opcode, wait, signal, words & used_words(opcode, config))


def join(commands: list[RandomCommand]) -> NDArray[np.uint32]:
    """Return the words of a stream."""
    return np.concatenate([command.words for command in commands])


def used_words(opcode: isa.Opcode, config: AcceleratorConfig) -> NDArray[np.uint32]:
    """Return the bits that may be 1 in the words of a command, as ones; GATHER's in any case."""
    command = isa.COMMANDS[opcode]
    bits = isa.used_bits(command, config.replace(gather=True))
    return np.frombuffer(bits.to_bytes(4 * command.words, "little"), dtype="<u4")


def unused_bits(opcode: isa.Opcode, config: AcceleratorConfig) -> list[int]:
    """Return the bits that have to be 0 in every command of that opcode."""
    unused = ~used_words(opcode, config)
    return np.flatnonzero(np.unpackbits(unused.view(np.uint8), bitorder="little")).tolist()


def spoil(
    config: AcceleratorConfig, commands: list[RandomCommand], rng: np.random.Generator, kind: str
) -> NDArray[np.uint32]:
    """Return a stream's words with one thing wrong.

    ``kind``: ``opcode``, ``index``, ``unused``, ``second_begin``, ``begin``: one command is wrong;
    ``no_begin``, ``cut``, ``cut_command``, ``empty``: some are missing.
    """
    words = [command.words.copy() for command in commands]
    victim = int(rng.integers(1, len(words)))
    match kind:
        case "opcode":
            known = {opcode.value for opcode in isa.Opcode}
            unknown = [value for value in range(256) if value not in known]
            words[victim][0] = (words[victim][0] & ~np.uint32(0xFF)) | np.uint32(
                rng.choice(unknown)
            )
        case "index":
            words[victim][0] ^= np.uint32(1 << rng.integers(16, 32))
        case "unused":
            bit = int(rng.choice(unused_bits(commands[victim].opcode, config)))
            words[victim][bit // 32] |= np.uint32(1 << bit % 32)
        case "second_begin":
            words[victim] = words[0].copy()
            words[victim][0] |= np.uint32(victim << 16)
        case "begin":
            words[0][rng.integers(1, 4)] ^= np.uint32(1 << rng.integers(0, 16))
        case "no_begin":
            words = words[1:]
        case "cut":
            words = words[:victim]
        case "cut_command":
            words = [*words[:victim], words[victim][: rng.integers(0, len(words[victim]))]]
        case "empty":
            words = []
    return np.concatenate(words) if words else np.zeros(0, np.uint32)


Kind = Literal[
    "flip", "field", "drop", "double", "swap", "cut", "omit", "lose", "repeat", "exchange",
    "garbage",
]  # fmt: skip

KINDS: tuple[Kind, ...] = (
    "flip", "field", "field", "field", "field", "drop", "double", "swap", "cut", "omit", "omit",
    "lose", "repeat", "exchange", "garbage",
)  # fmt: skip
"""As often as they are drawn."""

BEGIN, END = 0, -1
"""Places of the first and the last command; those between count from 1."""

Pieces = Mapping[int, NDArray[np.uint32]]
"""The words of commands by their places, in the order of the stream."""


@dataclass(frozen=True)
class Mutation:
    """One thing that is wrong with the command at a place.

    - ``kind``: ``flip``: bit ``at`` of word ``word``. ``field``: the ``width`` bits from bit ``at``
      of the command on are ``value``. ``drop``, ``double``, ``swap``: the word, with the next one.
      ``cut``: the stream ends before the word. ``omit``: the command is not there, and those behind
      it have the right index; ``lose``: the same with wrong indices. ``repeat``, ``exchange``: it
      comes twice, or behind the next one. ``garbage``: ``value`` in place of the word.
    """

    kind: Kind
    place: int
    word: int = 0
    at: int = 0
    width: int = 0
    value: int = 0

    def __str__(self) -> str:
        """Say it in a few words."""
        where = {BEGIN: "BEGIN", END: "END"}.get(self.place, f"command {self.place}")
        what = {
            "flip": f"word {self.word} bit {self.at}",
            "field": f"bits {self.at}..{self.at + self.width - 1} = {self.value:#x}",
            "garbage": f"word {self.word} = {self.value:#x}",
        }.get(self.kind, f"word {self.word}")
        return f"{self.kind} {where} {what}"


def random_mutation(
    rng: np.random.Generator, opcodes: Mapping[int, isa.Opcode], sizes: Mapping[Space, int]
) -> Mutation:
    """Return a mutation.

    ``opcodes``: of the commands by place. ``sizes``: bytes of the spaces, for addresses at their
    ends.
    """
    kind = KINDS[rng.integers(len(KINDS))]
    places = [place for place in opcodes if place > BEGIN or rng.random() < 0.2]
    place = int(rng.choice(places or [END]))
    opcode = opcodes[place]
    word = int(rng.integers(isa.COMMANDS[opcode].words))
    bit, value = int(rng.integers(32)), int(rng.integers(1 << 32))
    if kind != "field":
        return Mutation(kind, place, word, at=bit, value=value)
    fields = command_places(opcode)
    tokens = [each for each in fields if each.name in ("wait", "signal")]
    chosen = (tokens if rng.random() < 0.15 else fields)[: len(fields)]
    found = chosen[rng.integers(len(chosen))]
    corner = _corner(rng, found, sizes) % (1 << found.width)
    return Mutation("field", place, at=found.offset, width=found.width, value=corner)


def _corner(rng: np.random.Generator, place: Place, sizes: Mapping[Space, int]) -> int:
    """Return a value that a field has seldom: its ends, the ends of a space, or any."""
    top = (1 << (place.width - place.signed)) - 1
    ends = [0, 1, 2, -1, top, top + 1, top // 2]
    near = [size + int(rng.integers(-40, 9)) for size in sizes.values()]
    anything = int.from_bytes(rng.bytes(4), "little") >> int(rng.integers(32))
    values = (ends, near, [anything])[rng.choice(3, p=[0.4, 0.4, 0.2])]
    return values[rng.integers(len(values))]


def mutated(pieces: Pieces, mutations: Sequence[Mutation]) -> NDArray[np.uint32]:
    """Return the words of a stream with mutations, but those of commands that are not there."""
    left = [m.place for m in mutations if m.kind == "omit"]
    kept = {place: words.copy() for place, words in pieces.items() if place not in left}
    for index, words in enumerate(kept.values()):
        words[0] = (int(words[0]) & 0xFFFF) | (index % (1 << 16)) << 16
    order = list(kept)
    for each in mutations:
        if each.place in kept:
            order = _apply(each, kept, order)
    return np.concatenate([kept[place] for place in order] or [np.zeros(0, np.uint32)])


def _apply(each: Mutation, kept: dict[int, NDArray[np.uint32]], order: list[int]) -> list[int]:
    """Change the words of a command, or return another order."""
    words = kept[each.place]
    at = order.index(each.place) if each.place in order else len(order)
    word = min(each.word, len(words) - 1)
    match each.kind:
        case "cut":
            kept[each.place] = words[: each.word]
            return order[: at + 1]
        case "lose":
            return [place for place in order if place != each.place]
        case "repeat":
            return [*order[: at + 1], *order[at:]]
        case "exchange":
            return [*order[:at], *order[at + 1 : at + 2], *order[at : at + 1], *order[at + 2 :]]
        case _ if word >= 0:
            kept[each.place] = _changed(each, words, word)
    return order


def _changed(each: Mutation, words: NDArray[np.uint32], word: int) -> NDArray[np.uint32]:
    match each.kind:
        case "flip":
            words[word] ^= np.uint32(1 << each.at)
        case "garbage":
            words[word] = each.value
        case "drop":
            return np.delete(words, word)
        case "double":
            return np.insert(words, word, words[word])
        case "swap" if word + 1 < len(words):
            words[[word, word + 1]] = words[[word + 1, word]]
        case "field":
            bits = int.from_bytes(words.astype("<u4").tobytes(), "little")
            mask = ((1 << each.width) - 1) << each.at
            bits = (bits & ~mask | each.value << each.at) % (1 << 32 * len(words))
            content = bits.to_bytes(4 * len(words), "little")
            return np.frombuffer(content, "<u4").astype(np.uint32)
    return words
