"""Random command streams whose tokens let every command start, and how they can be spoilt."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import command_places
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

    @property
    def engine(self) -> isa.Engine | None:
        return isa.ENGINES.get(self.opcode)


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
        commands.append(_random_command(rng, opcode, wait, signal, index))
    return [*commands, end_command(len(commands))]


def begin_command(config: AcceleratorConfig) -> RandomCommand:
    first, second = isa.configuration_words(config)
    begin = {"version": isa.VERSION, "configuration": first, "memories": second}
    return RandomCommand(isa.Opcode.BEGIN, 0, 0, isa.BEGIN.encode(**begin))


def end_command(index: int) -> RandomCommand:
    return RandomCommand(isa.Opcode.END, 0, 0, isa.END.encode(index=index % (1 << 16)))


ROWS = ("row", "relative", "resume")
"""Fields of VECTOR that are 0 without row functions."""


def any_command(
    config: AcceleratorConfig, rng: np.random.Generator, opcode: isa.Opcode, index: int
) -> RandomCommand:
    """Return a command with arbitrary fields, tokens among them if its opcode takes some."""
    wait = signal = 0
    if opcode in isa.ENGINES:
        wait, signal = (int(rng.integers(1 << len(isa.Engine))) for _ in range(2))
    command = _random_command(rng, opcode, wait, signal, index)
    bits = unused_bits(opcode, config)
    unused = [
        sum(1 << bit % 32 for bit in bits if bit // 32 == w) for w in range(len(command.words))
    ]
    command.words = command.words & ~np.array(unused, np.uint32)
    return command


def round_robin(config: AcceleratorConfig, count: int) -> list[RandomCommand]:
    """Return BEGIN, ``count`` commands of all opcodes in turn, all fields 0, no tokens, and END."""
    opcodes = [INNER[index % len(INNER)] for index in range(1, count + 1)]
    inner = [
        RandomCommand(opcode, 0, 0, isa.COMMANDS[opcode].encode(index=index))
        for index, opcode in enumerate(opcodes, start=1)
    ]
    return [begin_command(config), *inner, end_command(count + 1)]


def _random_command(
    rng: np.random.Generator, opcode: isa.Opcode, wait: int, signal: int, index: int
) -> RandomCommand:
    header = {"opcode": opcode.value, "wait": wait, "signal": signal, "index": index % (1 << 16)}
    bits = 0
    for place in command_places(opcode):
        value = header.get(place.name)
        if value is None:
            value = int.from_bytes(rng.bytes(8), "little")
        bits |= (value & ((1 << place.width) - 1)) << place.offset
    words = bits.to_bytes(4 * isa.COMMANDS[opcode].words, "little")
    return RandomCommand(opcode, wait, signal, np.frombuffer(words, dtype="<u4"))


def join(commands: list[RandomCommand]) -> NDArray[np.uint32]:
    """Return the words of a stream."""
    return np.concatenate([command.words for command in commands])


def unused_bits(opcode: isa.Opcode, config: AcceleratorConfig) -> list[int]:
    """Return the bits that have to be 0 in every command of that opcode."""
    used = set()
    for place in command_places(opcode):
        bits = place.width
        if place.name in ("wait", "signal"):
            bits = len(isa.Engine) if opcode in isa.ENGINES else 0
        if opcode == isa.Opcode.VECTOR and place.name in ROWS and not config.rows:
            bits = 0
        used |= set(range(place.offset, place.offset + bits))
    return sorted(set(range(32 * isa.COMMANDS[opcode].words)) - used)


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
