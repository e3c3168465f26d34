"""Which bytes a command reads and writes: for address checks, and to prove the tokens."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded
from eightfold.isa.issued import bytes_used
from eightfold.isa.vector_fields import Fields, reads_b, run_length, used_tables
from eightfold.sim.machine.matrix import group_lanes
from eightfold.sim.machine.vector import inside, operand_addresses
from eightfold.target.config import AcceleratorConfig

TABLE_BYTES = 4 * 256


@dataclass
class Accesses:
    """Byte offsets by space, sorted, each once."""

    reads: dict[isa.Space, NDArray[np.int64]] = field(default_factory=dict)
    writes: dict[isa.Space, NDArray[np.int64]] = field(default_factory=dict)


def nested(*loops: tuple[int, int]) -> NDArray[np.int64]:
    """Return ``sum(i * step)`` for nested loops (count, step), the last one fastest."""
    total = np.zeros(1, np.int64)
    for count, step in loops:
        total = (total[:, None] + np.arange(count, dtype=np.int64) * step).ravel()
    return total


def distinct(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return offsets sorted, each once; at once where they already are, as most loops give them."""
    if (offsets[1:] > offsets[:-1]).all():
        return offsets
    return np.unique(offsets)


def runs(starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the bytes that lie in any run of ``length`` from ``starts``, sorted."""
    if not starts.size:
        return starts
    first = distinct(starts)
    # Each run up to the next one, of which it has no more: they are equally long.
    counts = np.minimum(length, np.diff(first, append=first[-1] + length))
    before = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(first - before, counts)


def accesses(config: AcceleratorConfig, command: Decoded) -> Accesses:
    """Return what a command reads and writes in arena, scratchpad and tables.

    Bytes that cannot change a result are not read: those that read as fill, and in a depthwise
    MATRIX the bytes of lanes that have no channel. A GATHER reads all that it may choose from.
    """
    if command.opcode == isa.Opcode.MOVE:
        return _move(command.fields)
    if command.opcode == isa.Opcode.GATHER:
        return _gather(command.fields)
    if command.opcode == isa.Opcode.MATRIX:
        return _matrix(config, command.fields)
    if command.opcode == isa.Opcode.VECTOR:
        return _vector(command.fields)
    return Accesses()


def check_addresses(
    config: AcceleratorConfig, command: Decoded, sizes: Mapping[isa.Space, int]
) -> None:
    """Check that all bytes lie in [0, size) of their space; a GATHER's depend on its indices.

    Raises CommandError: ADDRESS.
    """
    for verb, space, low, high in _extents(config, command):
        if low < 0 or high >= sizes[space]:
            outside = low if low < 0 else high
            text = f"{verb} {space.name} byte {outside}, of {sizes[space]}"
            raise CommandError(isa.ErrorCode.ADDRESS, command.number, text)


def _extents(
    config: AcceleratorConfig, command: Decoded
) -> Iterator[tuple[str, isa.Space, int, int]]:
    """Yield verb, space, first and last byte."""
    f = command.fields
    if command.opcode == isa.Opcode.GATHER:
        return
    if command.opcode == isa.Opcode.MOVE:  # without its bytes: they may be many if it is wrong
        for verb, side in (("reads", "source"), ("writes", "target")):
            space = isa.Space(f[f"{side}_space"])
            if space != isa.Space.FILL:
                ends = [(f[f"count{i}"] - 1) * f[f"{side}_stride{i}"] for i in range(4)]
                low = f[side] + sum(min(0, end) for end in ends)
                high = f[side] + sum(max(0, end) for end in ends) + f["run"] - 1
                yield verb, space, low, high
        return
    touched = accesses(config, command)
    for verb, sets in (("reads", touched.reads), ("writes", touched.writes)):
        for space, offsets in sets.items():
            if offsets.size:
                yield verb, space, int(offsets[0]), int(offsets[-1])


def overwritten(command: Decoded, touched: Accesses) -> NDArray[np.int64]:
    """Return scratchpad bytes that a command writes while it may still have to read them.

    MOVE and VECTOR work on one byte after the other and read it before they write its result;
    MATRIX comes back to its operands, and GATHER to what it chooses.
    """
    scratchpad = isa.Space.SCRATCHPAD
    if scratchpad not in touched.reads or scratchpad not in touched.writes:
        return np.zeros(0, np.int64)
    both = np.intersect1d(touched.reads[scratchpad], touched.writes[scratchpad], assume_unique=True)
    if not both.size or command.opcode in (isa.Opcode.MATRIX, isa.Opcode.GATHER):
        return both
    orders = _vector_orders if command.opcode == isa.Opcode.VECTOR else _move_orders
    reads, writes = orders(command.fields)
    run = command.fields["run"]
    size = int(max(np.max(each.starts) + each.length for each in (*reads, writes)))
    last_read, first_write = np.full(size, -1), np.full(size, np.iinfo(np.int64).max)
    for each in reads:
        bytes_, time = _in_order(each, run, run - 1)
        inside = bytes_ >= 0
        np.maximum.at(last_read, bytes_[inside], time[inside])
    bytes_, time = _in_order(writes, run, 0)
    first_write[bytes_[::-1]] = time[::-1]
    return both[first_write[both] < last_read[both]]


class _Runs(NamedTuple):
    """Numbers of output runs, where the runs start that belong to them, and their bytes."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    length: int


def _in_order(each: _Runs, run: int, otherwise: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of the runs, and when they are touched: element by element.

    What is not as long as ``run`` is touched at element number ``otherwise``.
    """
    element = np.arange(each.length, dtype=np.int64)
    time = element if each.length == run else np.full(each.length, otherwise)
    return (each.starts[:, None] + element).ravel(), (each.order[:, None] * run + time).ravel()


def move_starts(f: Fields, side: str) -> NDArray[np.int64]:
    """Return where the runs of a MOVE or GATHER start, in loop order, of a GATHER with n = 0.

    ``side`` is source or target.
    """
    levels = [i for i in (3, 2, 1, 0) if f"count{i}" in f]
    return f[side] + nested(*((f[f"count{i}"], f[f"{side}_stride{i}"]) for i in levels))


def index_starts(f: Fields) -> NDArray[np.int64]:
    """Return where in the scratchpad the indices of a GATHER start, in loop order."""
    loops = ((f[f"count{i}"], f[f"index_stride{i}"]) for i in (2, 1, 0))
    return f["indices"] + nested(*loops)


def copied_to(
    f: Fields, space: isa.Space, offset: int, scratchpad: NDArray[np.uint8]
) -> tuple[int, int] | None:
    """Return which run of a MOVE or GATHER writes a byte last, and from which offset; None if none.

    ``scratchpad`` has the indices of a GATHER. Offsets are modulo 2^32.
    """
    if f["target_space"] != space.value:
        return None
    places = move_starts(f, "target") % (1 << 32)
    hits = np.flatnonzero((places <= offset) & (offset < places + f["run"]))
    if not hits.size:
        return None
    run = int(hits[-1])
    start = int(move_starts(f, "source")[run] + offset - places[run])
    if "limit" in f:
        at = int(index_starts(f)[run])
        index = scratchpad[at : at + (1 << f["index_size"])].tobytes()
        start += int.from_bytes(index, "little", signed=True) * f["step"]
    return run, start % (1 << 32)


def _move_orders(f: Fields) -> tuple[list[_Runs], _Runs]:
    source, target = move_starts(f, "source"), move_starts(f, "target")
    order = np.arange(len(source))
    return [_Runs(order, source, f["run"])], _Runs(order, target, f["run"])


def _move(f: Fields) -> Accesses:
    source, target = isa.Space(f["source_space"]), isa.Space(f["target_space"])
    found = Accesses(writes={target: runs(move_starts(f, "target"), f["run"])})
    if source != isa.Space.FILL:
        found.reads[source] = runs(move_starts(f, "source"), f["run"])
    return found


def _gather(f: Fields) -> Accesses:
    source, target = isa.Space(f["source_space"]), isa.Space(f["target_space"])
    indices = runs(index_starts(f), 1 << f["index_size"])
    choices = f["step"] * np.arange(f["limit"] if f["step"] else 1, dtype=np.int64)
    starts = np.unique(move_starts(f, "source"))
    found = Accesses(
        {isa.Space.SCRATCHPAD: indices}, {target: runs(move_starts(f, "target"), f["run"])}
    )
    chosen = runs((starts[:, None] + choices).ravel(), f["run"])
    found.reads[source] = _union([chosen, found.reads.get(source, chosen[:0])])
    return found


def _matrix(config: AcceleratorConfig, f: Fields) -> Accesses:
    scratchpad = isa.Space.SCRATCHPAD
    groups = f["groups"]
    reads = []
    rows = _matrix_rows(f)
    loops = (f["kx"], f["kx_step"]), (f["kc"], config.width), (f["x"], f["x_step"])
    columns = np.unique(f["column0"] + nested(*loops))
    full = group_lanes(config, bool(f["depthwise"]))
    for first, count, lanes in ((0, groups - 1, full), (groups - 1, 1, f["last_lanes"])):
        if not count:
            continue
        steps = np.arange(first, first + count, dtype=np.int64)
        starts = np.unique(steps[:, None] * f["group_step"] + rows)
        used = bytes_used(config, bool(f["depthwise"]), bool(f["pairs"]), lanes)
        inside = runs(columns, used)
        inside = inside[(inside >= 0) & (inside < f["columns"])]
        reads.append(_sums(starts, inside))
    writes = [runs(starts, lanes) for starts, lanes in result_offsets(config, f)]
    return Accesses({scratchpad: _union(reads)}, {scratchpad: _union(writes)})


def result_offsets(config: AcceleratorConfig, f: Fields) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield where the results of a MATRIX start, in their order, and how many bytes each has."""
    matrix = isa.Matrix(**f)
    oy, ox = len(matrix.firing_rows), len(matrix.firing_columns)
    groups = f["groups"]
    full = group_lanes(config, bool(f["depthwise"]))
    for first, count, lanes in ((0, groups - 1, full), (groups - 1, 1, f["last_lanes"])):
        if count and f["last"]:
            base = f["target"] + first * f["target_group"]
            loops = (count, f["target_group"]), (oy, f["target_y"]), (ox, f["target_x"])
            yield base + nested(*loops), lanes


def vector_offsets(config: AcceleratorConfig, f: Fields) -> Iterator[NDArray[np.int64]]:
    """Yield the bytes that each vector of a MATRIX reads, in their order, the lead's too."""
    lanes = group_lanes(config, bool(f["depthwise"]))
    for group, ky, kx, kc in np.ndindex(f["groups"], f["ky"], f["kx"], f["kc"]):
        final = group == f["groups"] - 1
        channels = f["last_lanes"] if final else lanes
        used = bytes_used(config, bool(f["depthwise"]), bool(f["pairs"]), channels)
        yield from [np.zeros(0, np.int64)] * f["lead"]
        for y, x in np.ndindex(f["y"], f["x"]):
            row = f["base"] + group * f["group_step"] + ky * f["ky_step"] + y * f["y_step"]
            number = f["row0"] + ky * f["ky_rows"] + y * f["y_rows"]
            column = f["column0"] + kx * f["kx_step"] + kc * config.width + x * f["x_step"]
            stop = min(column + used, f["columns"]) if 0 <= number < f["rows"] else 0
            yield row + np.arange(max(column, 0), max(stop, column, 0))


def _matrix_rows(f: Fields) -> NDArray[np.int64]:
    """Return where the rows start that are inside of the input, for group 0."""
    address = nested((f["ky"], f["ky_step"]), (f["y"], f["y_step"]))
    number = f["row0"] + nested((f["ky"], f["ky_rows"]), (f["y"], f["y_rows"]))
    return np.unique(f["base"] + address[(number >= 0) & (number < f["rows"])])


def _sums(starts: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all sums of a start and an offset, sorted, each once; by runs of offsets."""
    if not starts.size or not offsets.size:
        return np.zeros(0, np.int64)
    pieces = np.split(offsets, np.flatnonzero(np.diff(offsets) != 1) + 1)
    return _union([runs(starts + piece[0], len(piece)) for piece in pieces])


def _union(sets: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return distinct(np.concatenate([np.zeros(0, np.int64), *sets]))


def _vector_orders(f: Fields) -> tuple[list[_Runs], _Runs]:
    """Return the runs that VECTOR reads as a and as b, and those it writes, by output run."""
    number = np.arange(f["window1"] * f["window0"])[:, None, None, None, None]
    w1, w0 = np.divmod(number, f["window0"])

    def starts(base: str, step: str, window: str) -> NDArray[np.int64]:
        offset = w1 * f[f"{window}1"] + w0 * f[f"{window}0"]
        return operand_addresses(f, base, step, repeated=True) + offset

    def in_order(by_position: NDArray) -> NDArray:
        """Return what positions of the window have, by output run and position."""
        return np.moveaxis(by_position[..., 0], 0, -1).ravel()

    targets = operand_addresses(f, "target", "target_step", repeated=True).ravel()
    order = np.arange(len(targets))
    repeated = np.repeat(order, number.size)
    a, b = (starts(f"source_{name}", f"{name}_step", f"{name}_window") for name in "ab")
    exists = np.broadcast_to(inside(f, w1, w0), a.shape)
    inner = in_order(exists)
    reads = [_Runs(repeated[inner], in_order(a)[inner], run_length(f, "a"))]
    if reads_b(f):
        reads.append(_Runs(repeated, in_order(b), run_length(f, "b")))
    return reads, _Runs(order, targets, run_length(f, "target"))


def _vector(f: Fields) -> Accesses:
    scratchpad, tables = isa.Space.SCRATCHPAD, isa.Space.TABLES
    reads, writes = _vector_orders(f)
    found = Accesses(
        {scratchpad: _union([runs(each.starts, each.length) for each in reads])},
        {scratchpad: runs(writes.starts, writes.length)},
    )
    if numbers := {*used_tables(f).values()}:
        found.reads[tables] = runs(TABLE_BYTES * np.array(sorted(numbers)), TABLE_BYTES)
    return found
