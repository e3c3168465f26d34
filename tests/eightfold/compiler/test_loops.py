"""Loops of a MOVE: joined and split, they touch the same bytes in pairs."""

from itertools import product

import numpy as np
import pytest

from eightfold.compiler.emit import emitter as module
from eightfold.compiler.emit.emitter import LOOPS, Loop, joined, movable


def pairs(source: int, target: int, run: int, loops: list[Loop]) -> list[tuple[int, int]]:
    """Return source and target of every byte."""
    steps = [*loops, (run, 1, 1)]
    return sorted(
        (
            source + sum(i * loop[1] for i, loop in zip(place, steps, strict=True)),
            target + sum(i * loop[2] for i, loop in zip(place, steps, strict=True)),
        )
        for place in product(*(range(loop[0]) for loop in steps))
    )


def random_loops(rng: np.random.Generator) -> list[Loop]:
    """Return loops that go through a target without gaps, in a random order; steps may be < 0."""
    loops = []
    step = int(rng.integers(1, 5))
    for _ in range(int(rng.integers(0, 7))):
        count = int(rng.integers(2, 5))
        near = step if rng.integers(2) else int(rng.integers(-9, 9))
        loops.append((count, near, step))
        step *= count
    return [loops[i] for i in rng.permutation(len(loops))]


@pytest.mark.parametrize("seed", range(60))
def test_joined_loops_copy_the_same_bytes(seed: int) -> None:
    loops = random_loops(np.random.default_rng(seed))
    fewer = joined(loops)
    assert len(fewer) <= len(loops)
    assert pairs(5, 7, 1, fewer) == pairs(5, 7, 1, loops)


def test_contiguous_loops_become_one() -> None:
    assert joined([(3, 8, 8), (2, 4, 4), (4, 1, 1)]) == [(24, 1, 1)]
    assert joined([(4, 1, 1), (3, 8, 16), (2, 4, 8)]) == [(4, 1, 1), (6, 4, 8)]
    assert joined([(3, 0, 4), (4, 0, 1)]) == [(12, 0, 1)]
    assert joined([(3, 4, 5), (4, 1, 1)]) == [(3, 4, 5), (4, 1, 1)]


@pytest.mark.parametrize("seed", range(60))
def test_split_programs_copy_the_same_bytes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(module, "LONGEST_RUN", 5)
    monkeypatch.setattr(module, "MOST_ITERATIONS", 3)
    loops = random_loops(rng)[:6]
    run = int(rng.integers(1, 12))
    programs = list(movable(3, 4, run, loops))
    for _, _, size, inner in programs:
        assert size <= 5
        assert len(inner) <= LOOPS
        assert all(1 < count <= 3 for count, _, _ in inner)
    found = [pair for program in programs for pair in pairs(*program[:3], list(program[3]))]
    assert sorted(found) == pairs(3, 4, run, loops)


def test_what_a_move_has_room_for_stays_whole() -> None:
    loops = [(65535, 1, 3)] * 4
    assert list(movable(1, 2, (1 << 24) - 1, loops)) == [(1, 2, (1 << 24) - 1, loops)]
    assert len(list(movable(0, 0, 1, [(65536, 1, 3)]))) == 2
    assert len(list(movable(0, 0, 1 << 24, []))) == 2
