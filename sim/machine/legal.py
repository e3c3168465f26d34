"""Which field values a command may have, beyond what fits into its bits."""

from collections.abc import Iterator, Mapping

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded, command_places
from eightfold.isa.vector_fields import has_one_result, is_on_rows, resumes, used_tables
from eightfold.sim.machine.accesses import firing, move_starts
from eightfold.sim.machine.matrix import group_lanes
from eightfold.target.config import AcceleratorConfig

Finding = tuple[bool, isa.ErrorCode, str]
"""Whether something is wrong, what the error is, and what is wrong."""

_ILLEGAL = isa.ErrorCode.ILLEGAL_COMMAND
_ADDRESS = isa.ErrorCode.ADDRESS

_AT_LEAST_1 = {
    isa.Opcode.PARAMETERS: ("channels",),
    isa.Opcode.MOVE: ("run", *(f"count{i}" for i in range(4))),
    isa.Opcode.MATRIX: (
        "groups", "last_lanes", "ky", "kx", "kc", "y", "x", "fire_y_step", "fire_x_step",
    ),
    isa.Opcode.VECTOR: ("run", "count0", "count1", "count2", "window0", "window1"),
    isa.Opcode.GATHER: ("run", *(f"count{i}" for i in range(3))),
}  # fmt: skip


def check_legal(config: AcceleratorConfig, command: Decoded) -> None:
    """Check what the instruction set says about a command's fields, other than address ranges.

    The hardware leaves out some of these checks: what it does then is not defined.

    Raises
    ------
    CommandError
        ADDRESS for spaces, tables and alignment, ILLEGAL_COMMAND for the rest.
    """
    f = command.fields
    for name in _AT_LEAST_1.get(command.opcode, ()):
        if f[name] < 1:
            raise CommandError(_ILLEGAL, command.number, f"{name} must be at least 1")
    for place in command_places(command.opcode):
        if isinstance(place.shape, type) and place.name in f:
            known = {member.value for member in place.shape}
            if f[place.name] not in known:
                code = _ADDRESS if place.shape is isa.Space else _ILLEGAL
                raise CommandError(code, command.number, f"{place.name} {f[place.name]}")
    checks = {
        isa.Opcode.WEIGHTS: _weights,
        isa.Opcode.PARAMETERS: _parameters,
        isa.Opcode.MOVE: _move,
        isa.Opcode.MATRIX: _matrix,
        isa.Opcode.VECTOR: _vector,
        isa.Opcode.GATHER: _gather,
    }
    if command.opcode in checks:
        for wrong, code, text in checks[command.opcode](config, f):
            if wrong:
                raise CommandError(code, command.number, text)


Fields = Mapping[str, int]


def _weights(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
    unaligned = f["address"] % config.port != 0
    yield unaligned, _ADDRESS, f"address must be a multiple of {config.port}"
    few = f["partial"] and not 1 <= f["partial_lanes"] <= config.lanes
    yield bool(few), _ILLEGAL, f"partial_lanes must be in 1..{config.lanes}"


def _parameters(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
    unit = max(16, config.port)
    yield f["address"] % unit != 0, _ADDRESS, f"address must be a multiple of {unit}"


def _move(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
    yield _spaces(isa.Opcode.MOVE, f)
    if f["target_space"] == isa.Space.TABLES.value:
        for side in ("source", "target"):
            unaligned = (move_starts(f, side) % 4).any()
            yield bool(unaligned), _ADDRESS, f"{side} must be a multiple of 4"
        yield f["run"] % 4 != 0, _ADDRESS, "run must be a multiple of 4"


def _gather(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
    yield _spaces(isa.Opcode.GATHER, f)


def _spaces(opcode: isa.Opcode, f: Fields) -> Finding:
    source, target = isa.Space(f["source_space"]), isa.Space(f["target_space"])
    text = f"no {opcode.name} is from {source.name} to {target.name}"
    return (source, target) not in isa.SPACES[opcode], _ADDRESS, text


def _matrix(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
    lanes = group_lanes(config, bool(f["depthwise"]))
    yield f["last_lanes"] > lanes, _ILLEGAL, f"last_lanes must be in 1..{lanes}"
    line = f["depthwise"] and not isa.MIN_LINE <= f["line"] <= config.line_depth
    yield bool(line), _ILLEGAL, f"line must be in {isa.MIN_LINE}..{config.line_depth}"
    rows, columns = firing(f)
    kept = not (f["first"] and f["last"]) or f["ky"] * f["kx"] * f["kc"] > 1
    many = kept and len(rows) * len(columns) > config.psum_depth
    yield many, _ILLEGAL, f"more than {config.psum_depth} positions"


def _vector(config: AcceleratorConfig, f: Fields) -> Iterator[Finding]:
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
