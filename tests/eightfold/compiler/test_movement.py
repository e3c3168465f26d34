"""Copies in strides put every element in its place; lists of integers become few progressions."""

import numpy as np
import pytest

from eightfold.compiler.exact import CompileError
from eightfold.compiler.steps.movement import Copy, affine_pieces, copies, filled
from eightfold.golden.resize import bilinear_taps, nearest_taps


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


def expect_all(rows: np.ndarray) -> int:
    """Check that the pieces have every row once; return how many they are."""
    pieces = affine_pieces(rows)
    every = rows[:, None] if rows.ndim == 1 else rows
    found = np.concatenate([piece.rows for piece in pieces])
    np.testing.assert_array_equal(
        found[np.lexsort(found.T[::-1])], every[np.lexsort(every.T[::-1])]
    )
    assert all(len(piece.loops) <= 2 for piece in pieces)
    assert all(count > 1 for piece in pieces for count, _ in piece.loops)
    return len(pieces)


def numbered(taps: np.ndarray) -> np.ndarray:
    return np.stack([np.arange(len(taps)), taps], axis=1)


@pytest.mark.parametrize("seed", range(60))
def test_random_lists(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 40)), int(rng.integers(1, 4)))
    # Few different steps, so that progressions form.
    steps = rng.integers(-2, 3, shape) if seed % 2 else rng.choice([-7, 0, 1], shape)
    assert expect_all(np.cumsum(steps, axis=0)) <= shape[0]


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("centers", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_taps_of_a_resize(seed: int, corners: bool, centers: bool) -> None:
    rng = np.random.default_rng(seed)
    size, count = (int(n) for n in rng.integers(1, 60, 2))
    taps = nearest_taps(size, count, corners, centers)
    # Each change of the step ends a run.
    assert expect_all(numbered(taps)) <= 1 + np.count_nonzero(np.diff(taps, 2))


@pytest.mark.parametrize(
    ("rows", "most"),
    [
        ([5], 1),
        (range(100), 1),
        ([3, 3, 3], 1),
        (np.repeat(np.arange(40), 7), 1),  # a loop in a loop
        ([0, 1, 1, 2, 2, 3, 3, 4], 1),  # of pairs (0, 1), (1, 2)
        ([0, *np.repeat(np.arange(1, 30), 3), 30], 3),  # ragged ends
        (np.arange(300) * 2 // 3, 3),  # 3 outputs for 2 taps: a piece for each phase
        (np.arange(300) * 5 // 7, 7),
        ([0, 1, 5, 6, 10, 11, 3], 2),
        ([4, 3, 2, 1, 0], 1),
    ],
)
def test_few_pieces(rows: list[int], most: int) -> None:
    assert expect_all(numbered(np.array(rows))) <= most


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("centers", [False, True])
def test_an_integer_ratio_takes_one_piece(factor: int, centers: bool) -> None:
    assert expect_all(numbered(nearest_taps(17, 17 * factor, False, centers))) == 1


def test_rows_that_belong_together_stay_together() -> None:
    lower, upper, fraction = bilinear_taps(9, 27, False, True)
    rows = np.stack([np.arange(27), lower, upper, fraction], axis=1)
    assert expect_all(rows) <= 6
    for value in np.unique(fraction):
        expect_all(rows[fraction == value])


def test_a_piece_says_first_row_and_loops() -> None:
    (piece,) = affine_pieces(numbered(np.repeat(np.arange(5), 2)))
    assert piece.first == (0, 0)
    assert piece.loops == ((5, (2, 1)), (2, (1, 0)))
