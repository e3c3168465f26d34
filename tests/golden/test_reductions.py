"""Pools whose windows are longer than the image, tap by tap, and reductions of nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.pooling import average_pool_2d, max_pool_2d
from eightfold.golden.quantization import Quantization
from eightfold.golden.reduction import arg_max, mean, reduce_max, reduce_min, sum
from eightfold.golden.windows import Window
from tests.support.models.exact_arithmetic import per_tensor

UNIT = per_tensor(1.0, 0)


def one_by_one(x: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """Return means, ties away from zero, and maxima of the codes that each window has inside."""
    sizes = window.output_sizes(x.shape)
    (top, _), (left, _) = (window.pads(axis, x.shape[1 + axis]) for axis in (0, 1))
    means = np.zeros((1, *sizes, 1), np.int8)
    maxima = np.zeros((1, *sizes, 1), np.int8)
    for row, column in np.ndindex(*sizes):
        y, z = row * window.stride[0] - top, column * window.stride[1] - left
        inside = x[
            :, max(0, y) : max(0, y + window.kernel[0]), max(0, z) : max(0, z + window.kernel[1])
        ].astype(int)
        total, half = inside.sum(), inside.size // 2
        means[0, row, column] = np.sign(total) * ((abs(total) + half) // inside.size)
        maxima[0, row, column] = inside.max()
    return means, maxima


@pytest.mark.parametrize("seed", range(40))
def test_windows_beyond_the_image(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (1, *rng.integers(1, 7, 2), 1)).astype(np.int8)
    window = Window(
        kernel=(int(rng.integers(1, 40)), int(rng.integers(1, 10))),
        stride=(int(rng.integers(1, 9)), int(rng.integers(1, 4))),
        padding="SAME",
    )
    means, maxima = one_by_one(x, window)
    np.testing.assert_array_equal(
        average_pool_2d(x, window=window, output_quantization=UNIT), means
    )
    np.testing.assert_array_equal(max_pool_2d(x, window=window, output_quantization=UNIT), maxima)


def test_the_longest_window_takes_no_room() -> None:
    x = np.arange(-8, 8, dtype=np.int8).reshape(1, 4, 4, 1)
    window = Window(kernel=(2**31 - 1, 2**31 - 1), padding="SAME")
    assert (max_pool_2d(x, window=window, output_quantization=UNIT) == 7).all()
    assert (average_pool_2d(x, window=window, output_quantization=UNIT) == -1).all()


SAME = Quantization(np.array([0.5], np.float32), np.array([5]))
BOTH: dict[str, Any] = {"input_quantization": SAME, "output_quantization": SAME}
EMPTY = np.zeros((0, 3), np.int8)


@pytest.mark.parametrize("function", [mean, sum])
def test_no_number_follows_from_no_elements(function: Callable) -> None:
    with pytest.raises(UndefinedError, match="unwritten"):
        function(EMPTY, [0], **BOTH)


def test_extremes_of_no_elements_are_the_ends_of_int8() -> None:
    assert reduce_max(EMPTY, [0], **BOTH).tolist() == [-128] * 3
    assert reduce_min(EMPTY, [0], **BOTH).tolist() == [127] * 3
    with pytest.raises(RejectedError, match="without elements"):
        arg_max(EMPTY, 0)


@pytest.mark.parametrize("function", [mean, sum, reduce_max, reduce_min])
@pytest.mark.parametrize("keep", [False, True])
def test_no_axes_leave_every_element(function: Callable, keep: bool) -> None:
    x = np.arange(-128, 128).astype(np.int8).reshape(4, 64)
    np.testing.assert_array_equal(function(x, [], **BOTH, keep_dims=keep), x)


def test_a_scalar_has_only_itself() -> None:
    assert int(mean(np.array(7, np.int8), [], **BOTH)) == 7
