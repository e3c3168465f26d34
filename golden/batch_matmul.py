"""BATCH_MATMUL: products of matrices, both of which may be computed."""

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.errors import RejectedError
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, wrap32
from eightfold.golden.fully_connected import integer_multipliers
from eightfold.golden.quantization import Quantization, clamp


def batch_matmul_shape(
    x: tuple[int, ...], y: tuple[int, ...], adj_x: bool = False, adj_y: bool = False
) -> tuple[int, ...]:
    """Return the shape of the result of `batch_matmul`: (..., m, n).

    Raises `RejectedError` if a rank is below 2, the common lengths differ, or the axes before do
    not broadcast.
    """
    if min(len(x), len(y)) < 2:
        raise RejectedError(f"a matrix needs rank 2 or more; the shapes are {x} and {y}")
    (m, k), (other, n) = (
        shape[-2:][::-1] if adjoint else shape[-2:] for shape, adjoint in ((x, adj_x), (y, adj_y))
    )
    if k != other:
        raise RejectedError(f"rows of {k} by columns of {other} elements: {x} by {y}")
    try:
        return (*np.broadcast_shapes(x[:-2], y[:-2]), m, n)
    except ValueError:
        raise RejectedError(f"the axes of {x} and {y} before the last two differ") from None


def batch_matmul(
    x: NDArray[np.int8],
    y: NDArray[np.int8],
    *,
    x_quantization: Quantization,
    y_quantization: Quantization,
    output_quantization: Quantization,
    adj_x: bool = False,
    adj_y: bool = False,
) -> NDArray[np.int8]:
    """Return ``clamp(MBQM(wrap32(sum over k of (x - z_x) * (y - z_y))) + z_out)``.

    The multiplier is ``s_x * s_y``, rounded to float32, divided by ``s_out`` in float64. Source:
    ``BatchMatMul`` in ``tensorflow/lite/kernels/internal/reference/batch_matmul.h``, which TFLite
    Micro calls too.
    The result is int8, shape (..., m, n). Raises `RejectedError` as `batch_matmul_shape`; or if an
    operand has more scales than one. Raises `UndefinedError` if the multiplier's left shift is 32
    or more.

    ``x``: shape (..., m, k); (..., k, m) with ``adj_x``.
    ``y``: shape (..., k, n); (..., n, k) with ``adj_y``. The axes before the last two broadcast.
    """
    batch_matmul_shape(x.shape, y.shape, adj_x, adj_y)
    # Every sum is an integer below 2^53, which float64 holds.
    a, b = (
        codes.swapaxes(-1, -1 - adjoint).astype(np.float64) - quantization.per_tensor()[1]
        for codes, quantization, adjoint in ((x, x_quantization, adj_x), (y, y_quantization, adj_y))
    )
    acc = wrap32((a @ b).astype(np.int64))
    pair = integer_multipliers(x_quantization, y_quantization, output_quantization)
    scaled = multiply_by_quantized_multiplier(acc, *pair)
    return clamp(wrap32(scaled + output_quantization.per_tensor()[1]))
