"""GATHER commands: what they do, in numpy, and random ones."""

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import SPACES, ErrorCode, Opcode, Space
from eightfold.sim.machine.accesses import copied_to, index_starts, move_starts
from eightfold.sim.stimuli.move import Move, Spaces, add_offsets, execute

LEGAL = SPACES[Opcode.GATHER]

FAULTS = {
    "memory_to_memory": ErrorCode.ADDRESS,
    "from_fill": ErrorCode.ADDRESS,
    "from_tables": ErrorCode.ADDRESS,
    "to_tables": ErrorCode.ADDRESS,
    "to_model": ErrorCode.ADDRESS,
    "no_bytes": ErrorCode.ADDRESS,
    "index_begins": ErrorCode.ADDRESS,
    "index_ends": ErrorCode.ADDRESS,
    "source_far": ErrorCode.ADDRESS,
    "target_far": ErrorCode.ADDRESS,
    "n_limit": ErrorCode.INDEX,
    "n_negative": ErrorCode.INDEX,
    "n_lowest": ErrorCode.INDEX,
    "n_high": ErrorCode.INDEX,
    "n_and_target": ErrorCode.INDEX,
    "int16_ends": ErrorCode.ADDRESS,
    "int32_ends": ErrorCode.ADDRESS,
    "int64_ends": ErrorCode.ADDRESS,
}
"""What can be wrong with a command, see `spoil`, and the error."""

_WORD = 1 << 32

_LIMITS = {0: 1 << 7, 1: 1 << 15, 2: 1 << 31, 3: _WORD - 1}
"""Most that ``limit`` can let pass, by ``index_size``."""


class CrowdedError(Exception):
    """What is taken leaves no room for a command's indices."""


def addresses(gather: Move) -> list[int]:
    """Return where each run's index is."""
    return index_starts(gather).tolist()


def indices(gather: Move, scratchpad: NDArray[np.uint8]) -> list[int]:
    """Return each run's index."""
    size = 1 << gather["index_size"]
    return [
        int.from_bytes(scratchpad[address : address + size].tobytes(), "little", signed=True)
        for address in addresses(gather)
    ]


def put(gather: Move, run: int, n: int, scratchpad: NDArray[np.uint8]) -> None:
    """Write a run's index, which wraps if it has too few bits."""
    _put_at(addresses(gather)[run], gather, n, scratchpad)


def _put_at(address: int, gather: Move, n: int, scratchpad: NDArray[np.uint8]) -> None:
    size = 1 << gather["index_size"]
    word = (n % (1 << 8 * size)).to_bytes(size, "little")
    scratchpad[address : address + size] = list(word)


def carry_out(command: Move, spaces: Spaces) -> ErrorCode:
    """Carry out a GATHER or MOVE, up to its first run that is an error; return what error."""
    if "limit" not in command:
        return ErrorCode.NONE if execute(command, spaces) else ErrorCode.ADDRESS
    pair = (command["source_space"], command["target_space"])
    run = command["run"]
    if pair not in [tuple(space.value for space in legal) for legal in LEGAL] or not run:
        return ErrorCode.ADDRESS
    source, target = spaces[Space(pair[0])], spaces[Space(pair[1])]
    scratchpad = spaces[Space.SCRATCHPAD]
    size = 1 << command["index_size"]
    found = indices(command, scratchpad)
    starts = (*(move_starts(command, side) for side in ("source", "target")), addresses(command))
    for n, read, write, at in zip(found, *starts, strict=True):
        if not 0 <= at <= len(scratchpad) - size:
            return ErrorCode.ADDRESS
        if not 0 <= n < command["limit"]:
            return ErrorCode.INDEX
        first = (int(read) + n * command["step"]) % _WORD
        place = int(write) % _WORD
        if first + run > len(source) or place + run > len(target):
            return ErrorCode.ADDRESS
        target[place : place + run] = source[first : first + run].copy()
    return ErrorCode.NONE


def explain_copy(
    command: Move, space: Space, offset: int, scratchpad: NDArray[np.uint8]
) -> list[str]:
    """Return which run of a command writes a byte, and from where; empty if none does.

    ``scratchpad`` has the indices of a GATHER.
    """
    found = copied_to(command, space, offset, scratchpad)
    if found is None:
        return []
    run, start = found
    name = Space(command["source_space"]).name
    what = f"fill {command['fill']}" if name == "FILL" else f"byte {start}"
    return [f"run {run} of {command}", f"copies {name}'s {what}"]


def random_gather(
    generator: np.random.Generator,
    pair: tuple[Space, Space],
    areas: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    scratchpad: NDArray[np.uint8],
    taken: NDArray[np.bool_],
    sizes: tuple[int, ...] = (0, 1, 2, 3),
    far: bool = True,
    trials: int = 100_000,
) -> Move:
    """Return a command that reads and writes areas of its spaces, ``[begin, end)``.

    - ``areas``: of source, target and indices.
    - ``scratchpad``: gets the indices.
    - ``taken``: where it must not; bool, one for each byte of the scratchpad, which gets them too.
    - ``sizes``: of the indices, one of them.
    - ``far``: whether there are steps of any size, which lead back into the source modulo 2^32.
    - ``trials``: draws after which there is no room for one.

    Raises CrowdedError if none of the draws fits.
    """
    for _ in range(trials):
        before = scratchpad.copy()
        size = int(generator.choice(sizes))
        run = int(generator.choice([1, 2, 4, 16, int(generator.integers(1, 65))]))
        counts = [int(count) for count in generator.choice([1, 2, 3, 5, 8], 3)]
        if run * np.prod(counts) > 1000:
            continue
        gather = {"source_space": pair[0].value, "target_space": pair[1].value, "run": run}
        gather |= {f"count{k}": count for k, count in enumerate(counts)} | {"index_size": size}
        # So far do the indices reach.
        reach = int(generator.integers(0, (areas[0][1] - areas[0][0]) // 2))
        inner = (areas[0][0], areas[0][1] - reach)
        placed = (
            add_offsets(generator, gather, "source", counts, inner)
            and add_offsets(generator, gather, "target", counts, areas[1])
            and _add_indices(generator, gather, counts, areas[2], taken)
            and _choose(generator, gather, reach, scratchpad, far)
        )
        if placed:
            for address in addresses(gather):
                taken[address : address + (1 << size)] = True
            return gather
        scratchpad[:] = before
    raise CrowdedError(f"no GATHER of {trials} fits")


def _add_indices(
    generator: np.random.Generator,
    gather: Move,
    counts: list[int],
    area: tuple[int, int],
    taken: NDArray[np.bool_],
) -> bool:
    """Choose where the indices are, most often one behind the other, at any address."""
    size = 1 << gather["index_size"]
    strides = [size, size * counts[0], size * counts[0] * counts[1]]
    match generator.integers(4):
        case 0:
            strides[generator.integers(3)] = 0
        case 1:
            strides = [-stride for stride in strides]
        case 2:
            strides = [int(generator.choice([0, 3 * size, size + 1, 33, -40])) for _ in counts]
    gather |= {f"index_stride{k}": stride for k, stride in enumerate(strides)}
    places = addresses(gather | {"indices": 0})
    low, high = area[0] - min(places), area[1] - size - max(places)
    if low > high:
        return False
    # Also at the very beginning or end.
    gather["indices"] = int(generator.choice([low, high, *generator.integers(low, high + 1, 6)]))
    return not any(taken[address : address + size].any() for address in addresses(gather))


def _choose(
    generator: np.random.Generator,
    gather: Move,
    reach: int,
    scratchpad: NDArray[np.uint8],
    far: bool,
) -> bool:
    """Choose step, limit and indices, if they lead to offsets up to ``reach``.

    These may be offsets from a begin of the source below its space, modulo 2^32.
    """
    most = _LIMITS[gather["index_size"]]
    last = len(addresses(gather)) - 1
    below = 0
    if far and most >= 1 << 31 and generator.random() < 0.5:
        # Any odd step has an inverse modulo 2^32, and products are of any size: all bits count.
        step = int(generator.integers(1 << 31)) * 2 + 1
        below = int(generator.integers(_WORD)) * int(generator.integers(2))
        chosen = generator.integers(reach + 1, size=2 * last + 20).tolist()
        values = [(below + offset) * pow(step, -1, _WORD) % _WORD for offset in chosen]
        values = [n for n in values if n < most][: last + 1]
        if len(values) <= last:
            return False
    else:
        step = int(generator.choice([0, 1, gather["run"], int(generator.integers(1, 60))]))
        highest = min(reach // step if step else most - 1, most - 1)
        values = generator.integers(highest + 1, size=last + 1).tolist()
        values[generator.integers(last + 1)] = highest
    for address, n in zip(addresses(gather), values, strict=True):
        _put_at(address, gather, n, scratchpad)
    found = indices(gather, scratchpad)  # others, if they overlap
    # Just above the highest one, or far above all.
    limit = int(generator.choice([max(found) + 1, _WORD - 1]))
    gather |= {"step": step, "limit": limit, "source": (gather["source"] - below) % _WORD}
    inside = all((n * step - below) % _WORD <= reach for n in found)
    return inside and limit < _WORD and all(0 <= n < limit for n in found)


def spoil(
    generator: np.random.Generator, gather: Move, kind: str, scratchpad: NDArray[np.uint8]
) -> Move:
    """Return a command with one fault, often in a late run; its indices may change."""
    spaces = {
        "memory_to_memory": (Space.MODEL, Space.ARENA),
        "from_fill": (Space.FILL, Space.SCRATCHPAD),
        "from_tables": (Space.TABLES, Space.SCRATCHPAD),
        "to_tables": (Space.SCRATCHPAD, Space.TABLES),  # at multiples of 4, as MOVE may
        "to_model": (Space.SCRATCHPAD, Space.MODEL),
    }
    if kind in spaces:
        source, target = spaces[kind]
        aligned = {f"{name}_stride{k}": 4 * k for name in ("source", "target") for k in range(3)}
        aligned |= {"run": 4, "source": 40, "target": 80, "step": 0}
        return gather | aligned | {"source_space": source.value, "target_space": target.value}
    size = 1 << gather["index_size"]
    run = int(generator.integers(len(addresses(gather))))
    match kind:
        case "no_bytes":
            return gather | {"run": 0}
        case "index_begins" | "index_ends":
            # The second run's.
            edge = -1 if kind == "index_begins" else len(scratchpad) - size + 1
            wide = {"count0": 2, "index_stride0": edge - gather["indices"]}
            return gather | wide | {"count1": 1, "count2": 1}
        case "int16_ends" | "int32_ends" | "int64_ends":
            # The second run's has its first byte inside.
            wide = {"count0": 2, "index_stride0": len(scratchpad) - 1 - gather["indices"]}
            return gather | wide | {"count1": 1, "count2": 1}
        case "source_far":
            put(gather, run, 1, scratchpad)
            return gather | {"limit": _WORD - 1, "step": 1 << 31}
        case "target_far" | "n_and_target":
            gather = gather | {"target": gather["target"] ^ 1 << 31}
    match kind:
        case "n_limit":
            return gather | {"limit": max(indices(gather, scratchpad))}
        case "n_and_target":
            return gather | {"limit": 0}
        case "n_negative":
            put(gather, run, -1, scratchpad)
        case "n_lowest":
            put(gather, run, -1 << 8 * size - 1, scratchpad)
        case "n_high":
            high = 1 << int(generator.integers(32, 64))
            put(gather, run, indices(gather, scratchpad)[run] + high, scratchpad)
    return gather
