"""Nested loops of runs, as a MOVE has them: joined where they continue each other, or split."""

from collections.abc import Iterator, Sequence
from itertools import permutations

Loop = tuple[int, int, int]
"""Iterations, and the bytes that each moves on in source and target."""

LOOPS = 4
"""Of a MOVE."""

LONGEST_RUN = (1 << 24) - 1
MOST_ITERATIONS = (1 << 16) - 1


def joined(loops: list[Loop]) -> list[Loop]:
    """Return the loops, in any order, with each that goes on where another ends made part of it."""
    for outer, inner in permutations(loops, 2):
        if outer[1:] == (inner[0] * inner[1], inner[0] * inner[2]):
            left = [loop for loop in loops if loop != outer]
            left[left.index(inner)] = (outer[0] * inner[0], *inner[1:])
            return joined(left)
    return loops


def movable(
    source: int, target: int, run: int, loops: Sequence[Loop]
) -> Iterator[tuple[int, int, int, Sequence[Loop]]]:
    """Yield source, target, run and loops of programs that a MOVE has room for.

    Long runs and loops of many iterations are cut; of too many loops the first one is repeated.
    """
    if run > LONGEST_RUN:
        for start in range(0, run, LONGEST_RUN):
            part = min(LONGEST_RUN, run - start)
            yield from movable(source + start, target + start, part, loops)
        return
    place = next((i for i, loop in enumerate(loops) if loop[0] > MOST_ITERATIONS), 0)
    if len(loops) <= LOOPS and not (loops and loops[place][0] > MOST_ITERATIONS):
        yield source, target, run, loops
        return
    count, step, target_step = loops[place]
    size = MOST_ITERATIONS if count > MOST_ITERATIONS else 1
    for start in range(0, count, size):
        part = min(size, count - start)
        left = [(part, step, target_step)] if part > 1 else []
        inner = [*loops[:place], *left, *loops[place + 1 :]]
        yield from movable(source + start * step, target + start * target_step, run, inner)
