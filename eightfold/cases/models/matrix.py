"""Random operators with weights."""

from collections.abc import Callable, Sequence

import numpy as np

from eightfold.cases.models.tensors import (
    Case,
    Random,
    SingleOperator,
    choose,
    output_shape,
    random_activation,
    random_codes,
    random_shape,
    random_window,
    random_zero_point,
)

FAR = (-33.0, 20.0)
"""Exponents of the multiplier where it is far from what spreads the results over int8."""


def random_bias(rng: Random, count: int, magnitude: float) -> np.ndarray:
    """Return int32 biases of about ``magnitude``; sometimes near the ends of int32, which wraps."""
    if rng.integers(16) == 0:
        return rng.choice([-(2**31), 2**31 - 1], count).astype(np.int32)
    return rng.normal(0, magnitude, count).astype(np.int32)


def random_filter(
    model: SingleOperator, shape: Sequence[int], axis: int, taps: int, scale_in: float
) -> tuple[int, np.ndarray, float]:
    """Add a filter; return its index, its scales, and the suited output scale."""
    rng = model.rng
    channels = shape[axis]
    weights = random_codes(rng, shape, low=-128 if rng.integers(8) == 0 else -127)
    count = channels if rng.integers(4) else 1
    scales = np.array([model.scale(0.02, 1.0) for _ in range(count)])
    index = model.builder.constant(weights, scale=scales, axis=axis if count > 1 else 0)
    suited = scale_in * float(scales.mean()) * 73 * 73 * np.sqrt(taps) / 50
    return index, scales, suited


def _output_scale(
    model: SingleOperator, suited: float, products: np.ndarray, far: tuple[float, float] = FAR
) -> float:
    """Return an output scale; ``products`` are those of the scales of input and filter."""
    return model.output_scale(suited, float(products.mean()), far)


def conv_2d(rng: Random) -> Case:
    model = SingleOperator(rng)
    kernel = rng.integers(1, 4, 2, endpoint=True).tolist()
    options, sizes = random_window(rng, (kernel[0], kernel[1]), dilated=True)
    depth = choose(rng, 1, 2, 3, 4, 5, 8, 17)
    groups = choose(rng, 1, 1, 1, 2, 3)
    outputs = groups * choose(rng, 1, 2, 3, 5, 8, 17)
    x = random_codes(rng, [choose(rng, 1, 1, 2), *sizes, depth * groups])
    scale = model.scale()
    source = model.input(x, scale, random_zero_point(rng))
    taps = kernel[0] * kernel[1] * depth
    weights, scales, suited = random_filter(model, [outputs, *kernel, depth], 0, taps, scale)
    bias = model.builder.constant(
        random_bias(rng, outputs, 73 * 73 * np.sqrt(taps)), scale=scale * scales
    )
    shape = output_shape(x.shape, kernel, options, outputs)
    return model.finish(
        "CONV_2D",
        [source, weights, bias],
        shape,
        _output_scale(model, suited, scale * scales),
        random_zero_point(rng),
        options | random_activation(rng),
    )


def depthwise_conv_2d(rng: Random) -> Case:
    model = SingleOperator(rng)
    kernel = rng.integers(1, 4, 2, endpoint=True).tolist()
    options, sizes = random_window(rng, (kernel[0], kernel[1]), dilated=True)
    depth = choose(rng, 1, 2, 3, 5, 8, 17)
    multiplier = choose(rng, 1, 1, 2, 3)
    outputs = depth * multiplier
    x = random_codes(rng, [choose(rng, 1, 1, 2), *sizes, depth])
    scale = model.scale()
    inputs = [model.input(x, scale, random_zero_point(rng))]
    taps = kernel[0] * kernel[1]
    weights, scales, suited = random_filter(model, [1, *kernel, outputs], 3, taps, scale)
    inputs.append(weights)
    if rng.integers(8):
        values = random_bias(rng, outputs, 73 * 73 * np.sqrt(taps))
        inputs.append(model.builder.constant(values, scale=scale * scales))
    options |= {"depth_multiplier": multiplier}
    return model.finish(
        "DEPTHWISE_CONV_2D",
        inputs,
        output_shape(x.shape, kernel, options, outputs),
        _output_scale(model, suited, scale * scales),
        random_zero_point(rng),
        options | random_activation(rng),
    )


def fully_connected(rng: Random) -> Case:
    model = SingleOperator(rng)
    size = choose(rng, 1, 2, 3, 7, 16, 33, 100)
    outputs = choose(rng, 1, 2, 5, 16, 19)
    leading = random_shape(rng, (1, 1, 2), 8)
    x = random_codes(rng, [*leading, size])
    scale = model.scale()
    source = model.input(x, scale, random_zero_point(rng))
    per_channel = bool(rng.integers(2))
    scales = [model.scale(0.02, 1.0) for _ in range(outputs if per_channel else 1)]
    zero_point = random_zero_point(rng) if not per_channel and rng.integers(4) == 0 else 0
    weights = random_codes(rng, [outputs, size], low=-128 if rng.integers(8) == 0 else -127)
    inputs = [source, model.builder.constant(weights, scale=scales, zero_point=zero_point)]
    if rng.integers(4):
        # Modest biases: a scaled accumulator outside int32 has no defined result.
        values = rng.normal(0, 73 * 73 * np.sqrt(size), outputs).astype(np.int32)
        inputs.append(model.builder.constant(values, scale=scale * np.array(scales)))
    else:
        inputs.append(-1)
    keep = bool(rng.integers(2))
    suited = scale * float(np.mean(scales)) * 73 * 73 * np.sqrt(size) / 50
    return model.finish(
        "FULLY_CONNECTED",
        inputs,
        [*leading, outputs] if keep else [int(np.prod(leading)), outputs],
        # A scaled accumulator, which has 23 bits or so, stays in int32.
        _output_scale(model, suited, scale * np.array(scales), (-24.0, 4.0)),
        random_zero_point(rng),
        {"keep_num_dims": keep} | random_activation(rng),
    )


def transpose_conv(rng: Random) -> Case:
    model = SingleOperator(rng)
    kernel = rng.integers(1, 4, 2, endpoint=True).tolist()
    options, sizes = random_window(rng, (kernel[0], kernel[1]), dilated=False)
    depth = choose(rng, 1, 2, 3, 5, 8, 17)
    outputs = choose(rng, 1, 2, 3, 8, 11)
    # The window is that of the convolution from the output to the input.
    result = [choose(rng, 1, 1, 2), *sizes, outputs]
    x = random_codes(rng, output_shape(result, kernel, options, depth))
    inputs = [model.given(np.array(result, np.int32))]
    scale = model.scale()
    taps = kernel[0] * kernel[1] * depth
    weights, scales, suited = random_filter(model, [outputs, *kernel, depth], 0, taps, scale)
    inputs += [weights, model.input(x, scale, random_zero_point(rng))]
    if rng.integers(2):
        values = random_bias(rng, outputs, 73 * 73 * np.sqrt(taps))
        inputs.append(model.builder.constant(values, scale=scale * scales))
    return model.finish(
        "TRANSPOSE_CONV",
        inputs,
        result,
        _output_scale(model, suited, scale * scales),
        random_zero_point(rng),
        options | random_activation(rng),
    )


MATRIX: dict[str, Callable[[Random], Case]] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transpose_conv,
}
