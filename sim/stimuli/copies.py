"""MOVE and GATHER commands: what they do, in numpy, and random ones."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import SPACES, ErrorCode, Opcode, Space
from eightfold.sim.machine.accesses import index_starts, move_starts

MOVES, GATHERS = SPACES[Opcode.MOVE], SPACES[Opcode.GATHER]
"""Source and target space of the commands that are legal."""

_WORD = 1 << 32

Move = dict[str, int]
"""The fields of a command but its header, of a GATHER with its limit; a space as its number."""

Spaces = dict[Space, NDArray[np.uint8]]
"""Content of every space that has one."""


def runs(move: Move) -> Iterator[tuple[int, int]]:
    """Yield source and target offset of every run, in order, modulo 2^32; n is 0."""
    source, target = (move_starts(move, side) % _WORD for side in ("source", "target"))
    yield from zip(source.tolist(), target.tolist(), strict=True)


def carry_out(command: Move, spaces: Spaces) -> ErrorCode:
    """Carry out a command, up to its first run that is an error; return what error.

    A MOVE leads where a GATHER does whose indices are 0.
    """
    gathers = "limit" in command
    legal = GATHERS if gathers else MOVES
    numbers = command["source_space"], command["target_space"]
    run = command["run"]
    words = numbers[1] == Space.TABLES.value
    if numbers not in [tuple(s.value for s in pair) for pair in legal] or not run:
        return ErrorCode.ADDRESS
    if words and run % 4:
        return ErrorCode.ADDRESS
    target = spaces[Space(numbers[1])]
    source = spaces.get(Space(numbers[0]))  # None: FILL has no content
    scratchpad = spaces[Space.SCRATCHPAD]
    places, found = (addresses(command), indices(command, scratchpad)) if gathers else ([], [])
    for number, (first, write) in enumerate(runs(command)):
        if gathers:
            if not 0 <= places[number] <= len(scratchpad) - (1 << command["index_size"]):
                return ErrorCode.ADDRESS
            if not 0 <= found[number] < command["limit"]:
                return ErrorCode.INDEX
            first = (first + found[number] * command["step"]) % _WORD
        outside = write + run > len(target) or (source is not None and first + run > len(source))
        if outside or (words and (first % 4 or write % 4)):
            return ErrorCode.ADDRESS
        content = command["fill"] if source is None else source[first : first + run].copy()
        target[write : write + run] = content
    return ErrorCode.NONE


def random_move(
    generator: np.random.Generator,
    pair: tuple[Space, Space],
    areas: tuple[tuple[int, int], tuple[int, int]],
    longest: int = 300,
) -> Move:
    """Return a command whose runs stay inside an area of each space, ``[begin, end)``."""
    unit = 4 if pair[1] == Space.TABLES else 1
    while True:
        run = int(generator.choice([1, 2, 4, 16, 20, int(generator.integers(1, longest + 1))]))
        run = unit * max(1, run // unit)
        counts = [int(count) for count in generator.choice([1, 1, 2, 3, 4], 4)]
        move = {"source_space": pair[0].value, "target_space": pair[1].value, "run": run}
        move |= {"fill": int(generator.integers(256))}
        move |= {f"count{k}": count for k, count in enumerate(counts)}
        if run * np.prod(counts) > 1500:
            continue
        if all(
            add_offsets(generator, move, name, counts, area, unit)
            for name, area in zip(("source", "target"), areas, strict=True)
        ):
            return move


def add_offsets(
    generator: np.random.Generator,
    move: Move,
    name: str,
    counts: list[int],
    area: tuple[int, int],
    unit: int = 1,
) -> bool:
    """Choose strides and a start of the loops that fit, if these strides do."""
    run = move["run"]
    # Zero, windows that overlap, runs that follow each other, and any others.
    strides = [
        unit
        * (int(generator.choice([0, 1, run, 3 * run, int(generator.integers(-90, 90))])) // unit)
        for _ in counts
    ]
    ends = [(count - 1) * stride for count, stride in zip(counts, strides, strict=True)]
    low = area[0] - sum(min(end, 0) for end in ends)
    high = area[1] - run - sum(max(end, 0) for end in ends)
    if low > high:
        return False
    start = unit * int(generator.integers(-(-low // unit), high // unit + 1))
    if not low <= start <= high:
        return False
    move |= {name: start} | {f"{name}_stride{k}": stride for k, stride in enumerate(strides)}
    return True


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
