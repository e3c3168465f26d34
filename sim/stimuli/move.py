"""MOVE commands: what they do, in numpy, and random ones."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import GATHER, MOVE, SPACES, Opcode, Space
from eightfold.sim.machine.accesses import move_starts

LEGAL = SPACES[Opcode.MOVE]

FAULTS = (
    "memory_to_memory",
    "fill_to_tables",
    "from_tables",
    "from_nowhere",
    "to_model",
    "to_fill",
    "to_nowhere",
    "no_bytes",
    "source_ends",
    "source_begins",
    "target_ends",
    "target_begins",
    "target_far",
    "odd_source",
    "odd_target",
    "odd_run",
)
"""What can be wrong with a command; see `eightfold.sim.benches.mover.spoil`."""

Move = dict[str, int]
"""The fields of a command but its header; a space as its number."""

Spaces = dict[Space, NDArray[np.uint8]]
"""Content of every space that has one."""


def encode(move: Move) -> NDArray[np.uint32]:
    """Return the words of a MOVE, or of the GATHER that has a limit."""
    return (GATHER if "limit" in move else MOVE).encode(**move)


def runs(move: Move) -> Iterator[tuple[int, int]]:
    """Yield source and target offset of every run, in order, modulo 2^32."""
    source, target = (move_starts(move, side) % (1 << 32) for side in ("source", "target"))
    yield from zip(source.tolist(), target.tolist(), strict=True)


def execute(move: Move, spaces: Spaces) -> bool:
    """Carry out a command, up to its first run that leaves a space; return whether none does."""
    source = Space(move["source_space"])
    target = Space(move["target_space"])
    run = move["run"]
    odd = target == Space.TABLES and run % 4
    if (source, target) not in LEGAL or not run or odd:
        return False
    for read, write in runs(move):
        inside = write + run <= len(spaces[target])
        if source != Space.FILL:
            inside &= read + run <= len(spaces[source])
        if not inside or (target == Space.TABLES and (read % 4 or write % 4)):
            return False
        content = (
            np.full(run, move["fill"], dtype=np.uint8)
            if source == Space.FILL
            else spaces[source][read : read + run].copy()
        )
        spaces[target][write : write + run] = content
    return True


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
