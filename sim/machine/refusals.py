"""What the accelerator refuses: streams word by word, and commands that leave where they may be."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded, command_places, read_command
from eightfold.sim.machine.accesses import index_starts, move_starts
from eightfold.sim.machine.constants import RECORD_BYTES
from eightfold.sim.machine.legal import check_legal
from eightfold.sim.machine.matrix import MatrixRun
from eightfold.sim.machine.vector import targets
from eightfold.target.config import AcceleratorConfig

SEQUENCER, WEIGHTS, PARAMETERS = 255, 254, 253
"""Numbers in register ERROR of what is not an engine."""

MOST = 15_000
"""Cycles about which a command takes at most, or it may not end while somebody waits."""

_WORD = 1 << 32


@dataclass(frozen=True)
class Refusal:
    """What register ERROR says; an index of None is not known."""

    code: isa.ErrorCode
    engine: int
    index: int | None


@dataclass(frozen=True)
class Nature:
    """What is known of a command before it runs.

    Attributes
    ----------
    refusal
        What it certainly ends the run with.
    perhaps
        What it may end the run with: that depends on what it finds.
    free
        Whether it breaks a rule that is not checked: then it does anything within the arena.
    long
        Whether it may take longer than `MOST`.
    """

    refusal: Refusal | None = None
    perhaps: tuple[Refusal, ...] = ()
    free: bool = False
    long: bool = False


def read_words(
    config: AcceleratorConfig, words: NDArray[np.uint32]
) -> tuple[list[Decoded], Refusal | None]:
    """Return the commands before the first word that breaks a rule, and how that is refused.

    The rules are those of `eightfold.isa.decode.decode`, each checked when its word comes: of
    several the first word's counts. What follows END is not read.
    """
    commands: list[Decoded] = []
    stream = [int(word) for word in words]
    expected = (isa.VERSION, *isa.configuration_words(config))
    place = 0
    while place < len(stream):
        number = len(commands)
        opcode = stream[place] & 0xFF
        if number == 0 and opcode != isa.Opcode.BEGIN.value:
            return commands, Refusal(isa.ErrorCode.VERSION, SEQUENCER, 0)
        if opcode not in _OPCODES or (number > 0 and opcode == isa.Opcode.BEGIN.value):
            break
        kind = isa.Opcode(opcode)
        part = stream[place : place + isa.COMMANDS[kind].words]
        unused = _unused(kind)
        wrong = [word & mask != 0 for word, mask in zip(part, unused, strict=False)]
        wrong[0] |= part[0] >> 16 != number % (1 << 16)
        if kind == isa.Opcode.BEGIN:
            behind = zip(part[1:], expected, strict=False)
            wrong[1:] = [word != value for word, value in behind]
        if any(wrong):
            is_version = kind == isa.Opcode.BEGIN and not wrong[0]
            code = isa.ErrorCode.VERSION if is_version else isa.ErrorCode.ILLEGAL_COMMAND
            return commands, Refusal(code, SEQUENCER, number % (1 << 16))
        if len(part) < len(unused):
            break
        content = b"".join(word.to_bytes(4, "little") for word in part)
        commands.append(read_command(number, kind, content))
        place += len(part)
        if kind == isa.Opcode.END:
            return commands, None
    return commands, Refusal(isa.ErrorCode.ILLEGAL_COMMAND, SEQUENCER, len(commands) % (1 << 16))


_OPCODES = {opcode.value for opcode in isa.COMMANDS}


@cache
def _unused(opcode: isa.Opcode) -> tuple[int, ...]:
    """Return the bits of each word that must be 0, as ones."""
    used = 0
    for place in command_places(opcode):
        width = place.width
        if place.name in ("wait", "signal"):
            width = len(isa.Engine) if opcode in isa.ENGINES else 0
        used |= ((1 << width) - 1) << place.offset
    return tuple(~used >> 32 * word & 0xFFFFFFFF for word in range(isa.COMMANDS[opcode].words))


def nature(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    """Return what is known of a command that was read without a refusal.

    Parameters
    ----------
    sizes
        Bytes of each space that has contents.
    """
    kinds = {
        isa.Opcode.WEIGHTS: _weights,
        isa.Opcode.PARAMETERS: _parameters,
        isa.Opcode.MOVE: _move,
        isa.Opcode.GATHER: _move,
        isa.Opcode.MATRIX: _matrix,
        isa.Opcode.VECTOR: _vector,
    }
    if command.opcode not in kinds:
        return Nature()
    return kinds[command.opcode](config, command, sizes)


def _address(command: Decoded, engine: int) -> Refusal:
    return Refusal(isa.ErrorCode.ADDRESS, engine, command.number % (1 << 16))


def _weights(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    f = command.fields
    words = f["full"] * config.lanes + f["partial"] * f["partial_lanes"]
    few = f["partial"] > 0 and not 1 <= f["partial_lanes"] <= config.lanes
    end = f["address"] + config.weight_word * words
    if few or f["address"] % config.port or end > sizes[isa.Space.MODEL]:
        return Nature(refusal=_address(command, WEIGHTS))
    return Nature()


def _parameters(
    config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]
) -> Nature:
    f = command.fields
    size = RECORD_BYTES + 4 * f["channels"] if f["shared"] else RECORD_BYTES * f["channels"]
    unaligned = f["address"] % max(RECORD_BYTES, config.port) != 0
    if not f["channels"] or unaligned or f["address"] + size > sizes[isa.Space.MODEL]:
        return Nature(refusal=_address(command, PARAMETERS))
    return Nature()


def _move(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    f = command.fields
    refusal = _address(command, isa.Engine.MOVER.value)
    pair = tuple(f[f"{side}_space"] for side in ("source", "target"))
    legal = [tuple(space.value for space in spaces) for spaces in isa.SPACES[command.opcode]]
    tables = pair[1] == isa.Space.TABLES.value
    if pair not in legal or not f["run"] or (tables and f["run"] % 4):
        return Nature(refusal=refusal)
    counts = [f[f"count{i}"] for i in range(4) if f"count{i}" in f]
    if not all(counts):
        return Nature(free=True)
    gathers = command.opcode == isa.Opcode.GATHER
    perhaps = (Refusal(isa.ErrorCode.INDEX, refusal.engine, refusal.index),) if gathers else ()
    number = int(np.prod(counts, dtype=object))
    if number * (2 + f["run"] / config.port) > MOST:
        return Nature(perhaps=(refusal, *perhaps), long=True)
    outside = False
    for side, space in zip(("source", "target"), pair, strict=True):
        if space == isa.Space.FILL.value or (gathers and side == "source"):
            continue
        starts = move_starts(f, side) % _WORD
        outside |= bool((starts > sizes[isa.Space(space)] - f["run"]).any())
        outside |= bool(tables and (starts % 4).any())
    if gathers:
        # Runs before it may find a wrong index, and that comes first.
        at = index_starts(f)
        outside |= bool(((at < 0) | (at > config.scratchpad - (1 << f["index_size"]))).any())
        return Nature(perhaps=(refusal, *perhaps), refusal=refusal if outside else None)
    return Nature(refusal=refusal if outside else None)


def _matrix(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    f = command.fields
    if _is_free(config, command):
        return Nature(free=True)
    passes = f["groups"] * f["ky"] * f["kx"] * f["kc"]
    long = passes * (f["lead"] * f["depthwise"] + f["y"] * f["x"] + config.lanes) > MOST
    refusal = _address(command, isa.Engine.MATRIX.value)
    if long:
        return Nature(perhaps=(refusal,), long=True)
    sums = np.zeros((0, config.lanes), np.int32)
    run = MatrixRun(config, f, np.zeros(0, np.int8), sums)
    if not run.fire.any():
        return Nature(free=True)
    if f["last"]:
        for group in range(f["groups"]):
            starts, lanes = run.targets(group)
            if ((starts < 0) | (starts + lanes > config.scratchpad)).any():
                return Nature(refusal=refusal)
    return Nature()


def _vector(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    f = command.fields
    if _is_free(config, command):
        return Nature(free=True)
    counts = [f[name] for name in ("run", "count0", "count1", "count2", "window0", "window1")]
    refusal = _address(command, isa.Engine.VECTOR.value)
    if int(np.prod(counts, dtype=object)) > MOST or int(np.prod(counts[1:4], dtype=object)) > 100:
        return Nature(perhaps=(refusal,), long=True)
    single = isa.Row(f["row"]) in isa.ROW_RESULTS
    places = targets(f, 1 if single else f["run"])
    if places.min() < 0 or places.max() >= config.scratchpad:
        return Nature(refusal=refusal)
    return Nature()


def _is_free(config: AcceleratorConfig, command: Decoded) -> bool:
    try:
        check_legal(config, command)
    except CommandError:
        return True
    return False
