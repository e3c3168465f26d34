"""Copies in strides put every element in its place, and no others."""

import numpy as np
import pytest

from eightfold.compiler.exact import CompileError
from eightfold.compiler.steps.movement import Copy, copies, filled


def run(found: list[Copy], source: np.ndarray, size: int) -> np.ndarray:
    """Return a target of ``size`` bytes, 0 at first, after the copies; each byte comes once."""
    target = np.zeros(size, np.uint8)
    seen = np.zeros(size, int)
    for copy in found:
        offsets = places(copy)
        target[offsets[:, 1]] = source[offsets[:, 0]]
        np.add.at(seen, offsets[:, 1], 1)
    assert seen.max() <= 1
    return target


def places(copy: Copy) -> np.ndarray:
    """Return the offsets of every byte of a copy, int64 (bytes, 2): in the source, the target."""
    found = np.array([[copy.source_offset, copy.target_offset]])
    for count, step, target_step in (*copy.loops, (copy.run, 1, 1)):
        moved = np.arange(count)[:, None] * np.array([step, target_step])
        found = (found[:, None] + moved).reshape(-1, 2)
    return found


def expect(picked: np.ndarray, shape: tuple[int, ...], item: int) -> list[Copy]:
    """Check the copies of what ``picked`` names from a tensor of ``shape``."""
    found = copies(picked, 3, shape, item)
    assert all(copy.source == 3 for copy in found)
    source = np.random.default_rng(0).integers(1, 256, (int(np.prod(shape)), item), np.uint8)
    expected = np.where(picked.reshape(-1, 1) >= 0, source[picked.reshape(-1)], 0)
    got = run(found, source.reshape(-1), expected.size)
    np.testing.assert_array_equal(got, expected.reshape(-1))
    return found


def random_picks(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return some of the indices below ``size``: with steps, repeated, backward or at random."""
    kinds = [
        np.arange(size)[:: int(rng.choice([-2, -1, 1, 2]))],
        np.repeat(np.arange(size), int(rng.integers(1, 4)))[int(rng.integers(0, 3)) :],
        rng.integers(0, size, int(rng.integers(1, 5))),
    ]
    picks = kinds[rng.integers(3)]
    return picks if picks.size else np.zeros(1, int)


@pytest.mark.parametrize("seed", range(80))
def test_picked_along_axes_and_transposed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, int(rng.integers(0, 5))).tolist())
    places = np.arange(int(np.prod(shape))).reshape(shape)
    picked = places[np.ix_(*(random_picks(rng, size) for size in shape))] if shape else places
    picked = np.transpose(picked, rng.permutation(picked.ndim))
    if picked.ndim and rng.integers(2):  # among others
        picked = np.pad(picked, rng.integers(0, 3, (picked.ndim, 2)), constant_values=-1)
    expect(picked, shape, int(rng.choice([1, 4, 8])))


@pytest.mark.parametrize("seed", range(40))
def test_scattered_along_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, int(rng.integers(1, 4))).tolist())
    target = tuple(size + int(rng.integers(0, 4)) for size in shape)
    where = [rng.permutation(n)[:size] for n, size in zip(target, shape, strict=True)]
    picked = np.full(target, -1)
    picked[np.ix_(*where)] = np.arange(int(np.prod(shape))).reshape(shape)
    expect(picked.reshape(-1), shape, int(rng.choice([1, 4])))  # only the source's axes are left


@pytest.mark.parametrize("seed", range(40))
def test_fills_what_is_outside_of_a_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, int(rng.integers(1, 5))).tolist())
    sizes = [int(rng.integers(1, size + 1)) for size in shape]
    inside = [rng.permutation(n)[:size] for n, size in zip(shape, sizes, strict=True)]
    outside = np.ones(shape, bool)
    outside[np.ix_(*inside)] = False
    found = filled(outside, 7, 16)
    assert all((copy.source, copy.fill) == (None, 7) for copy in found)
    offsets = [places(copy)[:, 1] for copy in found]
    reached = np.bincount(np.concatenate(offsets), minlength=outside.size) if found else 0
    if [copy.run for copy in found] != [outside.size]:  # else everything at once
        np.testing.assert_array_equal(reached, outside.reshape(-1))


def test_fills_by_slabs_where_these_are_thick() -> None:
    outside = np.ones((36, 36, 16), bool)
    outside[2:-2, 2:-2] = False
    assert [copy.run for copy in filled(outside, 0, 16)] == [2 * 36 * 16, 2 * 16]
    thin = np.ones((32, 32, 24), bool)
    thin[:, :, 4:-4] = False
    assert [copy.run for copy in filled(thin, 0, 16)] == [thin.size]
    everything = np.ones((2, 3), bool)
    assert [copy.run for copy in filled(everything, 0, 16)] == [6]
    diagonal = np.eye(4, dtype=bool)  # around no box
    assert [copy.run for copy in filled(diagonal, 0, 16)] == [16]


def test_loops_beyond_a_moves_four_are_the_shortest_ones() -> None:
    shape = (5, 2, 4, 3, 6, 7)
    picked = np.arange(int(np.prod(shape))).reshape(shape).transpose(5, 1, 3, 0, 4, 2)
    (copy,) = expect(picked, shape, 1)
    assert [count for count, *_ in copy.loops[:2]] == [2, 3]


@pytest.mark.parametrize(
    ("picked", "shape"),
    [
        ([[0, 1], [2, 4]], (2, 3)),  # 0 + 2 + 1 is not 4
        ([[1, 0], [0, -1]], (2,)),  # -1 is none, although it is 1 - 1 - 1
    ],
)
def test_elements_that_do_not_move_in_strides_are_refused(
    picked: list[list[int]], shape: tuple[int, ...]
) -> None:
    with pytest.raises(CompileError, match="do not move in strides"):
        copies(np.array(picked), 3, shape, 1)


def test_any_positions_are_a_list() -> None:
    expect(np.array([[0, 1], [2, 4]]), (5,), 1)
