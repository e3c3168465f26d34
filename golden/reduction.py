"""MEAN."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.errors import RejectedError
from golden.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier, wrap32
from golden.quantization import Quantization, clamp


def mean_multiplier(count: int, inputs: Quantization, output: Quantization) -> tuple[int, int]:
    """Return ``(m, shift)`` of ``s_in / s_out / count``: the quotient folded into the multiplier.

    ``quantize_multiplier(s_in / s_out)`` in float64, then ``m * 2^k / count`` truncated in 64
    bits and ``shift - k``, with ``k = min(floor(log2(count)), 32, 31 + shift)``. m is not
    normalized again.
    """
    real = float(inputs.per_tensor()[0]) / float(output.per_tensor()[0])
    multiplier, shift = (int(part) for part in quantize_multiplier(real))
    k = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << k) // count, shift - k


def reduced_axes(axes: ArrayLike, rank: int) -> tuple[int, ...]:
    """Return the axes, ascending and each once; negative ones count from the end.

    Raises
    ------
    RejectedError
        If an axis is out of range.
    """
    wanted = [int(axis) for axis in np.atleast_1d(np.asarray(axes, dtype=np.int64))]
    if any(not -rank <= axis < rank for axis in wanted):
        raise RejectedError(f"axes {wanted} of rank {rank}")
    return tuple(sorted({axis % rank for axis in wanted}))


def mean(
    x: NDArray[np.int8],
    axes: ArrayLike,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    keep_dims: bool = False,
) -> NDArray[np.int8]:
    """Return MEAN over ``axes`` (integers, any of them negative or repeated).

    Raises
    ------
    RejectedError
        If an axis is out of range.
    """
    reduced = reduced_axes(axes, x.ndim)
    count = math.prod(x.shape[axis] for axis in reduced)
    total = wrap32(x.sum(axis=reduced, dtype=np.int64, keepdims=keep_dims))
    acc = wrap32(total - input_quantization.per_tensor()[1] * count)
    pair = mean_multiplier(count, input_quantization, output_quantization)
    scaled = multiply_by_quantized_multiplier(acc, *pair)
    return clamp(wrap32(scaled + output_quantization.per_tensor()[1]))
