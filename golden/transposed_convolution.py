"""TRANSPOSE_CONV and its int32 accumulators."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Bias, Codes
from eightfold.golden.convolution import (
    check_axis,
    check_bias_zero_point,
    checked_bias,
    requantize_channels,
)
from eightfold.golden.errors import RejectedError
from eightfold.golden.exact_product import exact_matmul
from eightfold.golden.quantization import Quantization
from eightfold.golden.windows import Window


def transpose_conv_accumulators(
    x: Codes,
    weights: Codes,
    bias: Bias,
    *,
    output_shape: Sequence[int],
    input_zero_point: int,
    window: Window,
) -> NDArray[np.int32]:
    """Return ``wrap32(sum of w * (x - z), + bias)``, each pixel of ``x`` spread over a window.

    Pixel (iy, ix) adds to output (iy * stride - pad + ky, ix * stride - pad + kx), if that is
    inside; ``window`` is that of the convolution from output to input, and gives pad.
    The result is int32, shape ``output_shape``. Raises `RejectedError` if the shapes do not fit, or
    a convolution of the output would not have the input's size.

    ``x``: shape (n, h, w, i).
    ``weights``: shape (o, kh, kw, i).
    ``output_shape``: (n, oh, ow, o).
    """
    check_shapes(x.shape, weights.shape, output_shape, window)
    _, *size, channels = (int(length) for length in output_shape)
    acc = _spread(x.astype(np.int16) - np.int16(input_zero_point), weights, size, window)
    if bias is not None:
        acc += checked_bias(bias, channels)
    return acc.astype(np.int32)


def check_shapes(
    inputs: Sequence[int], filters: Sequence[int], output: Sequence[int], window: Window
) -> None:
    """Check the shapes of `transpose_conv_accumulators`; raises `RejectedError` as it."""
    if not len(inputs) == len(filters) == len(output) == 4:
        raise RejectedError("input, filter and output must have rank 4")
    if output[0] != inputs[0] or output[3] != filters[0] or inputs[3] != filters[3]:
        raise RejectedError(
            f"input {tuple(inputs)}, filter {tuple(filters)} and output {tuple(output)} do not fit"
        )
    for axis, size in enumerate(output[1:3]):
        room = window.padding == "SAME" or size >= window.extent(axis)
        if not room or window.output_size(axis, size) != inputs[1 + axis]:
            raise RejectedError(f"{inputs[1 + axis]} inputs do not give {size} outputs")


def _spread(
    x: NDArray[np.int16], weights: Codes, size: Sequence[int], window: Window
) -> NDArray[np.int64]:
    (n, h, w, depth), (channels, kh, kw, _) = x.shape, weights.shape
    sy, sx = window.stride
    pads = [window.pads(axis, size[axis])[0] for axis in (0, 1)]
    reach = [(h - 1) * sy + kh, (w - 1) * sx + kw]
    room = [max(r, pad + length) for r, pad, length in zip(reach, pads, size, strict=True)]
    acc = np.zeros((n, *room, channels), dtype=np.int64)
    rows = x.reshape(-1, depth)
    for ky, kx in np.ndindex(kh, kw):
        part = exact_matmul(rows, weights[:, ky, kx].T).reshape(n, h, w, channels)
        acc[:, ky : ky + h * sy : sy, kx : kx + w * sx : sx][:, :h, :w] += part
    return acc[:, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]


def transpose_conv(
    x: Codes,
    weights: Codes,
    bias: Bias,
    *,
    output_shape: Sequence[int],
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    bias_quantization: Quantization | None = None,
    activation: str = "NONE",
) -> Codes:
    """Return TRANSPOSE_CONV: the accumulators, requantized per output channel as CONV_2D.

    Shapes as in `transpose_conv_accumulators`. Filter zero points and bias scale are ignored.
    Equals LiteRT and TFLite Micro.
    Raises `RejectedError` as `transpose_conv_accumulators`; or if the bias zero point is not 0; if
    the scales are neither one nor one per output channel.
    """
    check_bias_zero_point(bias_quantization)
    check_axis(weight_quantization, weights.shape, weights.shape[0])
    acc = transpose_conv_accumulators(
        x,
        weights,
        bias,
        output_shape=output_shape,
        input_zero_point=input_quantization.per_tensor()[1],
        window=window,
    )
    return requantize_channels(
        acc, input_quantization, weight_quantization, output_quantization, activation
    )
