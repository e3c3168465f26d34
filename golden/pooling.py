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
    total = window.taps(x, fill=0).sum(axis=(4, 5), dtype=np.int64)
    inside = np.ones((1, *x.shape[1:3], 1), dtype=np.int8)
    count = window.taps(inside, fill=0).sum(axis=(4, 5), dtype=np.int64)
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
    largest = window.taps(x, fill=-128).max(axis=(4, 5))
    return clamp(largest.astype(np.int64), fused_bounds(activation, output_quantization))
