"""AVERAGE_POOL_2D and MAX_POOL_2D: no rescale, whatever the scales say."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.quantization import Quantization, clamp, fused_bounds
from eightfold.golden.windows import Window


def pooled_shape(shape: Shape, window: Window) -> Shape:
    """Return the shape of what a pool makes of ``shape``; raises as `Window.output_sizes`."""
    sizes = window.output_sizes(shape)
    return (shape[0], *sizes, shape[3])


def average_pool_2d(
    x: Codes, *, window: Window, output_quantization: Quantization, activation: str = "NONE"
) -> Codes:
    """Return the mean of the raw codes inside the input, ties away from zero, clamped.

    The result is int8, shape (n, oh, ow, c).

    ``x``: shape (n, h, w, c).
    """
    total = _combined(np.add, x.astype(np.int32), window, fill=0)
    inside = np.ones((1, *x.shape[1:3], 1), dtype=np.int32)
    count = _combined(np.add, inside, window, fill=0)
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return clamp(mean, fused_bounds(activation, output_quantization))


def max_pool_2d(
    x: Codes, *, window: Window, output_quantization: Quantization, activation: str = "NONE"
) -> Codes:
    """Return the largest code inside the input, clamped. Shapes as `average_pool_2d`."""
    quantization = output_quantization
    return prepare_max_pool_2d(
        x.shape, window=window, output_quantization=quantization, activation=activation
    )(x)


def prepare_average_pool_2d(
    shape: Shape, *, window: Window, output_quantization: Quantization, activation: str = "NONE"
) -> Callable[[Codes], Codes]:
    """Return `average_pool_2d` for inputs of ``shape``, which it must accept.

    A quotient is divided in float64: a tie is exact there, and any other is further from the tie,
    by 1 / (2 * count), than float64 rounds.
    """
    inside = np.ones((1, *shape[1:3], 1), dtype=np.int32)
    count = _combined(np.add, inside, window, fill=0).astype(np.float64)
    bounds = fused_bounds(activation, output_quantization)
    half = np.asarray(0.5)
    ends = tuple(np.asarray(float(bound)) for bound in bounds)
    combined = _combiner(np.add, shape, np.dtype(np.int32), window, fill=0)
    whole = count.shape == (1, 1, 1, 1) and count[0, 0, 0, 0] == inside.size

    def apply(x: Codes) -> Codes:
        if whole:
            total = np.add.reduce(x, axis=(1, 2), dtype=np.int32, keepdims=True)
        else:
            total = combined(x)
        mean = total / count
        mean += np.copysign(half, mean)
        np.maximum(mean, ends[0], out=mean)
        return np.minimum(mean, ends[1], out=mean).astype(np.int8)  # truncates

    return apply


def prepare_max_pool_2d(
    shape: Shape, *, window: Window, output_quantization: Quantization, activation: str = "NONE"
) -> Callable[[Codes], Codes]:
    """Return `max_pool_2d` for inputs of ``shape``, which it must accept."""
    bounds = fused_bounds(activation, output_quantization)
    largest = _combiner(np.maximum, shape, np.dtype(np.int8), window, fill=-128)
    if bounds == (-128, 127):
        return largest
    return lambda x: clamp(largest(x).astype(np.int32), bounds)


def _combined(combine: np.ufunc, x: NDArray, window: Window, fill: int) -> NDArray:
    """Return every window's taps combined: first down the columns, then along the rows."""
    return _combiner(combine, x.shape, x.dtype, window, fill)(x)


def _combiner(
    combine: np.ufunc, shape: Shape, dtype: np.dtype, window: Window, fill: int
) -> Callable[[NDArray], NDArray]:
    """Return `_combined` for arrays of one shape, converted to ``dtype``."""
    outputs = window.output_sizes(shape)
    window, pads = window.trimmed(shape)
    pad = window.padder(shape, dtype, fill, pads)

    def apply(x: NDArray) -> NDArray:
        result = pad(x)
        for axis in (0, 1):
            first, *others = window.shifted(result, axis, outputs[axis])
            result = first.copy()
            for other in others:
                combine(result, other, out=result)
        return result

    return apply
