"""AVERAGE_POOL_2D and MAX_POOL_2D: no rescale, whatever the scales say."""

import numpy as np
from numpy.typing import NDArray

from golden.quantization import Quantization, clamp, fused_bounds
from golden.windows import Window


def average_pool_2d(
    x: NDArray[np.int8],
    *,
    window: Window,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> NDArray[np.int8]:
    """Return the mean of the raw codes inside the input, ties away from zero, clamped.

    Parameters
    ----------
    x
        Shape (n, h, w, c).

    Returns
    -------
    int8, shape (n, oh, ow, c).
    """
    total = _combined(np.add, x.astype(np.int32), window, fill=0)
    inside = np.ones((1, *x.shape[1:3], 1), dtype=np.int32)
    count = _combined(np.add, inside, window, fill=0)
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return clamp(mean, fused_bounds(activation, output_quantization))


def max_pool_2d(
    x: NDArray[np.int8],
    *,
    window: Window,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> NDArray[np.int8]:
    """Return the largest code inside the input, clamped. Shapes as `average_pool_2d`."""
    largest = _combined(np.maximum, x, window, fill=-128)
    return clamp(largest.astype(np.int32), fused_bounds(activation, output_quantization))


def _combined(combine: np.ufunc, x: NDArray, window: Window, fill: int) -> NDArray:
    """Return every window's taps combined: first down the columns, then along the rows."""
    outputs = [window.output_size(axis, x.shape[1 + axis]) for axis in (0, 1)]
    result = window.padded(x, fill)
    for axis in (0, 1):
        first, *others = window.shifted(result, axis, outputs[axis])
        result = first.copy()
        for other in others:
            combine(result, other, out=result)
    return result
