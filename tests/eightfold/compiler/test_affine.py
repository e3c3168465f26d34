"""Lists of integers become few progressions, and together these have every row once."""

import numpy as np
import pytest

from eightfold.compiler.steps.movement import affine_pieces
from eightfold.golden.resize import bilinear_taps, nearest_taps


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
