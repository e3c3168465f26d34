"""Which commands are legal, and which the accelerator refuses.

`check_legal` says what the instruction set asks of a command's fields beyond what fits into their
bits; `read_words` and `nature` say how the hardware, which checks less, ends a stream that breaks
a rule.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import LOOPS, CommandError, Decoded, command_places, read
from eightfold.isa.vector_fields import (
    Fields,
    has_one_result,
    is_on_rows,
    resumes,
    run_length,
    used_tables,
)
from eightfold.sim.machine.accesses import index_starts, move_starts
from eightfold.sim.machine.matrix import MatrixRun, group_lanes
from eightfold.sim.machine.vector import targets
from eightfold.target.config import AcceleratorConfig

_Check = tuple[bool, isa.ErrorCode, str]
"""Whether something is wrong, what the error is, and what is wrong."""

_ILLEGAL = isa.ErrorCode.ILLEGAL_COMMAND
_ADDRESS = isa.ErrorCode.ADDRESS

_AT_LEAST_1 = ("run", "channels", "last_lanes", "fire_y_step", "fire_x_step")
"""Fields that are not 0, besides the counts of loops."""


def check_legal(config: AcceleratorConfig, command: Decoded) -> None:
    """Check what the instruction set says about a command's fields, other than address ranges.

    The hardware leaves out some of these checks: what it does then is not defined. Raises
    CommandError: ADDRESS for spaces, tables and alignment, ILLEGAL_COMMAND for the rest.
    """
    f = command.fields
    for name in (*_AT_LEAST_1, *LOOPS.get(command.opcode, ())):
        if f.get(name, 1) < 1:
            raise CommandError(_ILLEGAL, command.number, f"{name} must be at least 1")
    for place in command_places(command.opcode):
        if isinstance(place.shape, type) and place.name in f:
            known = {member.value for member in place.shape}
            if f[place.name] not in known:
                code = _ADDRESS if place.shape is isa.Space else _ILLEGAL
                raise CommandError(code, command.number, f"{place.name} {f[place.name]}")
    checks = {
        isa.Opcode.WEIGHTS: _check_weights,
        isa.Opcode.PARAMETERS: _check_parameters,
        isa.Opcode.MOVE: _check_move,
        isa.Opcode.MATRIX: _check_matrix,
        isa.Opcode.VECTOR: _check_vector,
        isa.Opcode.GATHER: lambda config, f: (_spaces(isa.Opcode.GATHER, f),),
    }
    if command.opcode in checks:
        for wrong, code, text in checks[command.opcode](config, f):
            if wrong:
                raise CommandError(code, command.number, text)


def _check_weights(config: AcceleratorConfig, f: Fields) -> Iterator[_Check]:
    unaligned = f["address"] % config.port != 0
    yield unaligned, _ADDRESS, f"address must be a multiple of {config.port}"
    few = f["partial"] and not 1 <= f["partial_lanes"] <= config.lanes
    yield bool(few), _ILLEGAL, f"partial_lanes must be in 1..{config.lanes}"


def _check_parameters(config: AcceleratorConfig, f: Fields) -> Iterator[_Check]:
    unit = max(16, config.port)
    yield f["address"] % unit != 0, _ADDRESS, f"address must be a multiple of {unit}"


def _check_move(config: AcceleratorConfig, f: Fields) -> Iterator[_Check]:
    yield _spaces(isa.Opcode.MOVE, f)
    if f["target_space"] == isa.Space.TABLES.value:
        for side in ("source", "target"):
            unaligned = (move_starts(f, side) % 4).any()
            yield bool(unaligned), _ADDRESS, f"{side} must be a multiple of 4"
        yield f["run"] % 4 != 0, _ADDRESS, "run must be a multiple of 4"


def _spaces(opcode: isa.Opcode, f: Fields) -> _Check:
    source, target = isa.Space(f["source_space"]), isa.Space(f["target_space"])
    text = f"no {opcode.name} is from {source.name} to {target.name}"
    return (source, target) not in isa.SPACES[opcode], _ADDRESS, text


def _check_matrix(config: AcceleratorConfig, f: Fields) -> Iterator[_Check]:
    lanes = group_lanes(config, bool(f["depthwise"]))
    yield f["last_lanes"] > lanes, _ILLEGAL, f"last_lanes must be in 1..{lanes}"
    line = f["depthwise"] and not isa.MIN_LINE <= f["line"] <= config.line_depth
    yield bool(line), _ILLEGAL, f"line must be in {isa.MIN_LINE}..{config.line_depth}"
    m = isa.Matrix(**f)
    kept = not (m.first and m.last) or m.ky * m.kx * m.kc > 1
    many = kept and len(m.firing_rows) * len(m.firing_columns) > config.psum_depth
    yield many, _ILLEGAL, f"more than {config.psum_depth} positions"


def _check_vector(config: AcceleratorConfig, f: Fields) -> Iterator[_Check]:
    for operand, number in used_tables(f).items():
        missing = number >= config.tables
        yield missing, _ADDRESS, f"table_{operand} must be in 0..{config.tables - 1}"
    scales = is_on_rows(f) and not has_one_result(f)
    window = scales and f["window0"] * f["window1"] > 1
    yield window, _ILLEGAL, f"{isa.Row(f['row']).name} has no window"
    yield bool(is_on_rows(f) and f["repeat_a"]), _ILLEGAL, "a row has more than one byte"
    several = resumes(f) and f["count0"] * f["count1"] * f["count2"] > 1
    yield several, _ILLEGAL, "one row at a time resumes"
    low, high = f["requantize.low"], f["requantize.high"]
    yield low > high, _ILLEGAL, "requantize.low is above requantize.high"


SEQUENCER, WEIGHTS, PARAMETERS = 255, 254, 253
"""Numbers in register ERROR of what is not an engine."""

MOST = 15_000
"""Cycles about which a command takes at most, or it may not end while somebody waits."""


@dataclass(frozen=True)
class Refusal:
    """What register ERROR says; an index of None is not known."""

    code: isa.ErrorCode
    engine: int
    index: int | None


@dataclass(frozen=True)
class Nature:
    """What is known of a command before it runs.

    ``refusal``: what it certainly ends the run with. ``perhaps``: what it may end the run with:
    that depends on what it finds. ``free``: whether it breaks a rule that is not checked: then it
    does anything within the arena. ``long``: whether it may take longer than `MOST`.
    """

    refusal: Refusal | None = None
    perhaps: tuple[Refusal, ...] = ()
    free: bool = False
    long: bool = False


def read_words(
    config: AcceleratorConfig, words: NDArray[np.uint32]
) -> tuple[list[Decoded], Refusal | None]:
    """Return the commands before the first word that breaks a rule, and how that is refused.

    The rules are those of `eightfold.isa.decode.read`, each checked when its word comes: of several
    the first word's counts. What follows END is not read.
    """
    begin = isa.BEGIN.encode(**isa.begin(config).values())
    unlike = np.flatnonzero(words[: len(begin)] != begin[: len(words)])
    if unlike.size:
        is_header = unlike[0] == 0 and words[0] & 0xFF == isa.Opcode.BEGIN.value
        return [], Refusal(_ILLEGAL if is_header else isa.ErrorCode.VERSION, SEQUENCER, 0)
    commands: list[Decoded] = []
    with suppress(CommandError):
        for command in read(config, words):
            commands.append(command)
            if command.opcode == isa.Opcode.END:
                return commands, None
    return commands, Refusal(_ILLEGAL, SEQUENCER, len(commands) % (1 << 16))


def nature(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    """Return what is known of a command that was read without a refusal.

    ``sizes``: bytes of each space that has contents.
    """
    match command.opcode:
        case isa.Opcode.WEIGHTS | isa.Opcode.PARAMETERS:
            return _fetch(config, command, sizes[isa.Space.MODEL])
        case isa.Opcode.MOVE | isa.Opcode.GATHER:
            return _move(config, command, sizes)
        case isa.Opcode.MATRIX | isa.Opcode.VECTOR if _is_free(config, command):
            return Nature(free=True)
        case isa.Opcode.MATRIX:
            return _matrix(config, command)
        case isa.Opcode.VECTOR:
            return _vector(config, command)
    return Nature()


def _address(command: Decoded, engine: int) -> Refusal:
    return Refusal(isa.ErrorCode.ADDRESS, engine, command.number % (1 << 16))


def _fetch(config: AcceleratorConfig, command: Decoded, model: int) -> Nature:
    """Return what is known of a command that fetches from a model of so many bytes."""
    weights = command.opcode == isa.Opcode.WEIGHTS
    if weights:
        size = isa.Weights(**command.fields).words(config.lanes) * config.weight_word
    else:
        size = isa.Parameters(**command.fields).size
    if _is_free(config, command) or command.fields["address"] + size > model:
        return Nature(refusal=_address(command, WEIGHTS if weights else PARAMETERS))
    return Nature()


def _move(config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]) -> Nature:
    f = command.fields
    refusal = _address(command, isa.Engine.MOVER.value)
    pair = tuple(f[f"{side}_space"] for side in ("source", "target"))
    legal = [tuple(space.value for space in spaces) for spaces in isa.SPACES[command.opcode]]
    tables = pair[1] == isa.Space.TABLES.value
    if pair not in legal or not f["run"] or (tables and f["run"] % 4):
        return Nature(refusal=refusal)
    counts = [f[name] for name in LOOPS[command.opcode]]
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
        starts = move_starts(f, side) % (1 << config.memory_bits)
        outside |= bool((starts > sizes[isa.Space(space)] - f["run"]).any())
        outside |= bool(tables and (starts % 4).any())
    if gathers:
        # Runs before it may find a wrong index, and that comes first.
        at = index_starts(f)
        outside |= bool(((at < 0) | (at > config.scratchpad - (1 << f["index_size"]))).any())
        return Nature(perhaps=(refusal, *perhaps), refusal=refusal if outside else None)
    return Nature(refusal=refusal if outside else None)


def _matrix(config: AcceleratorConfig, command: Decoded) -> Nature:
    f = command.fields
    passes = f["groups"] * f["ky"] * f["kx"] * f["kc"]
    long = passes * (f["lead"] * f["depthwise"] + f["y"] * f["x"] + config.lanes) > MOST
    refusal = _address(command, isa.Engine.MATRIX.value)
    if long:
        return Nature(perhaps=(refusal,), long=True)
    sums = np.zeros((0, config.lanes), np.int32)
    run = MatrixRun(config, isa.Matrix(**f), np.zeros(0, np.int8), sums)
    if not run.fire.any():
        return Nature(free=True)
    if f["last"]:
        for group in range(f["groups"]):
            starts, lanes = run.targets(group)
            if ((starts < 0) | (starts + lanes > config.scratchpad)).any():
                return Nature(refusal=refusal)
    return Nature()


def _vector(config: AcceleratorConfig, command: Decoded) -> Nature:
    f = command.fields
    counts = [f[name] for name in ("run", *LOOPS[command.opcode])]
    refusal = _address(command, isa.Engine.VECTOR.value)
    if int(np.prod(counts, dtype=object)) > MOST or int(np.prod(counts[1:4], dtype=object)) > 100:
        return Nature(perhaps=(refusal,), long=True)
    places = targets(f, run_length(f, "target"))
    if places.min() < 0 or places.max() >= config.scratchpad:
        return Nature(refusal=refusal)
    return Nature()


def _is_free(config: AcceleratorConfig, command: Decoded) -> bool:
    try:
        check_legal(config, command)
    except CommandError:
        return True
    return False
