"""FULLY_CONNECTED, which LiteRT requantizes in double, TFLite Micro in integers; BATCH_MATMUL."""

import math

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Bias, Codes, Shape
from eightfold.golden.convolution import channel_multipliers, checked_bias
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.exact_product import exact_matmul, filter_matrix, filter_sums, operand_type
from eightfold.golden.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    wrap32,
)
from eightfold.golden.quantization import (
    FUSED_ACTIVATIONS,
    Quantization,
    Reference,
    clamp,
    effective_scales,
    fused_bounds,
)
from eightfold.golden.rounding import round_half_away


def fully_connected_shape(shape: Shape, weights: Shape, keep_num_dims: bool = False) -> Shape:
    """Return the shape of the result of `fully_connected`: (n, o), or (..., o).

    Raises `RejectedError` if the filter's rank is not 2, or, with ``keep_num_dims``, the last sizes
    differ. Raises `UndefinedError` if the input cannot be read as (n, k), where LiteRT drops the
    elements that are left over.
    """
    if len(weights) != 2:
        raise RejectedError(f"the filter must have rank 2, not {len(weights)}")
    outputs, size = weights
    elements = math.prod(shape)
    if elements % size:
        raise UndefinedError(f"{elements} inputs are no multiple of {size} weights")
    if not keep_num_dims:
        return (elements // size, outputs)
    if not shape or shape[-1] != size:
        raise RejectedError(f"last size {shape[-1:]} of the input is not {size}")
    return (*shape[:-1], outputs)


def fully_connected_accumulators(
    x: Codes, weights: Codes, bias: Bias, *, input_zero_point: int, weight_zero_point: int = 0
) -> NDArray[np.int32]:
    """Return ``wrap32(sum of (w - zw) * (x - z), + bias)``.

    The result is int32, shape (n, o). Raises `RejectedError` or `UndefinedError` as
    `fully_connected_shape`; or if the bias does not fit; `UndefinedError` if it is int64.

    ``x``: any shape, read as (n, k).
    ``weights``: shape (o, k).
    """
    fully_connected_shape(x.shape, weights.shape)
    outputs, size = weights.shape
    if weight_zero_point:
        rows = x.reshape(-1, size).astype(np.int16) - np.int16(input_zero_point)
        sums = exact_matmul(rows, weights.T.astype(np.int16) - np.int16(weight_zero_point))
        acc = sums.astype(np.int32)
    else:
        columns, limit = filter_matrix(weights)
        operand = x.reshape(-1, size).astype(operand_type(limit, input_zero_point))
        operand -= input_zero_point
        acc = filter_sums(operand, columns)
    if bias is not None:
        if bias.dtype == np.int64:
            raise UndefinedError("the bias must be int32; the kernel reads an int64 one as int32")
        acc += checked_bias(bias, outputs)
    return acc


def scale_in_double(acc: NDArray[np.int32], scale: NDArray[np.float64]) -> Integers:
    """Return ``round(acc * scale)`` in float64, ties away from zero.

    Raises `UndefinedError` if a result leaves int32, whose conversion C++ leaves undefined.
    """
    result = round_half_away(acc.astype(np.float64) * scale)
    if not np.all((result >= INT32_MIN) & (result <= INT32_MAX)):
        raise UndefinedError("a scaled accumulator leaves int32")
    return result.astype(np.int64)


def integer_multipliers(
    inputs: Quantization, weights: Quantization, output: Quantization
) -> tuple[Integers, Integers]:
    """Return TFLite Micro's multipliers and shifts, one per filter scale.

    Per channel as CONV_2D; for a single filter scale the product ``s_in * s_w`` is in float32.
    """
    if weights.scale.size > 1:
        return channel_multipliers(inputs, weights, output)
    with np.errstate(over="ignore", under="ignore"):
        product = inputs.per_tensor()[0] * weights.scale
    return quantize_multiplier(product.astype(np.float64) / float(output.per_tensor()[0]))


def product_multipliers(
    x: Quantization, y: Quantization, output: Quantization, reference: Reference
) -> tuple[Integers, Integers]:
    """Return BATCH_MATMUL's multiplier and shift: ``s_x * s_y``, rounded to float32, divided by
    ``s_out`` in float64; ``tflm`` in float64 throughout."""
    of = channel_multipliers if reference == "tflm" else integer_multipliers
    return of(x, y, output)


def fully_connected(
    x: Codes,
    weights: Codes,
    bias: Bias,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    bias_quantization: Quantization | None = None,
    activation: str = "NONE",
    keep_num_dims: bool = False,
    reference: Reference = "litert",
) -> Codes:
    """Return FULLY_CONNECTED, shape (n, o), or (..., o) with ``keep_num_dims``.

    One filter scale honours the filter's zero point; one per output ignores them.
    Raises `RejectedError` if the activation does not clamp; if per-channel scales are not along
    axis 0 or not one per output; if, per tensor, the bias scale is off by more than 0.02 output
    steps. Raises `UndefinedError` if a scaled accumulator leaves int32.
    """
    if activation not in FUSED_ACTIVATIONS:
        raise RejectedError(f"FULLY_CONNECTED does not fuse {activation}")
    per_channel = weight_quantization.scale.size > 1
    if per_channel:
        _check_channels(weight_quantization, weights)
    elif bias is not None:
        _check_bias_scale(
            input_quantization, weight_quantization, output_quantization, bias_quantization
        )
    acc = fully_connected_accumulators(
        x,
        weights,
        bias,
        input_zero_point=input_quantization.per_tensor()[1],
        weight_zero_point=0 if per_channel else int(weight_quantization.zero_point[0]),
    )
    quantizations = (input_quantization, weight_quantization, output_quantization)
    result = requantize_outputs(acc, *quantizations, activation=activation, reference=reference)
    return result.reshape(fully_connected_shape(x.shape, weights.shape, keep_num_dims))


def requantize_outputs(
    acc: NDArray[np.int32],
    inputs: Quantization,
    weights: Quantization,
    output: Quantization,
    *,
    activation: str,
    reference: Reference,
) -> Codes:
    """Return accumulators (n, o) as codes: scaled, zero point, clamp; see `scale_in_double`."""
    quantizations = (inputs, weights, output)
    if reference == "litert":
        scaled = scale_in_double(acc, effective_scales(*quantizations))
    else:
        scaled = multiply_by_quantized_multiplier(acc, *integer_multipliers(*quantizations))
    codes = wrap32(scaled + output.per_tensor()[1])
    return clamp(codes, fused_bounds(activation, output))


def _check_channels(quantization: Quantization, weights: NDArray) -> None:
    if quantization.axis != 0 or quantization.scale.size != weights.shape[0]:
        raise RejectedError(
            f"{quantization.scale.size} filter scales along axis {quantization.axis}; "
            f"FULLY_CONNECTED needs {weights.shape[0]} along axis 0"
        )


def _check_bias_scale(
    inputs: Quantization, weights: Quantization, output: Quantization, bias: Quantization | None
) -> None:
    product = float(inputs.per_tensor()[0]) * float(weights.scale[0])
    actual = 0.0 if bias is None else float(bias.scale[0])
    if abs(product - actual) / float(output.per_tensor()[0]) > 0.02:
        raise RejectedError(f"the bias scale {actual} is not the product of the scales {product}")


def batch_matmul_shape(x: Shape, y: Shape, adj_x: bool = False, adj_y: bool = False) -> Shape:
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
    x: Codes,
    y: Codes,
    *,
    x_quantization: Quantization,
    y_quantization: Quantization,
    output_quantization: Quantization,
    adj_x: bool = False,
    adj_y: bool = False,
    reference: Reference = "litert",
) -> Codes:
    """Return ``clamp(MBQM(wrap32(sum over k of (x - z_x) * (y - z_y))) + z_out)``.

    The multiplier is that of `product_multipliers`. Source: ``BatchMatMul`` in
    ``tensorflow/lite/kernels/internal/reference/batch_matmul.h``, which TFLite Micro calls too.
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
    pair = product_multipliers(x_quantization, y_quantization, output_quantization, reference)
    scaled = multiply_by_quantized_multiplier(acc, *pair)
    return clamp(wrap32(scaled + output_quantization.per_tensor()[1]))
