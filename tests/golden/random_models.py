"""Random models of one operator each, and random inputs for them.

Scales are random, often powers of two (which force exact ties), and lie near the value that
spreads the results over int8; zero points favour both ends; inputs favour extreme codes.
Every model is one that the reference accepts.
"""

import zlib
from collections.abc import Callable

import numpy as np

from tests.golden.random_matrix import conv_2d, depthwise_conv_2d, fully_connected
from tests.golden.random_tensors import (
    Case,
    Random,
    SingleOperator,
    choose,
    every_code,
    output_shape,
    random_activation,
    random_codes,
    random_shape,
    random_window,
    random_zero_point,
)


def random_case(operator: str, rng: Random) -> Case:
    """Return a model of one operator, and an int8 array for each of its inputs by tensor index.

    Raises
    ------
    KeyError
        If ``operator`` is not one of `OPERATORS`.
    """
    return _MAKERS[operator](rng)


def case_rng(operator: str, seed: int) -> Random:
    """Return the generator of case ``seed`` of an operator: no two cases share a stream."""
    return np.random.default_rng([zlib.crc32(operator.encode()), seed])


def _binary(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        every_pair = rng.integers(2) == 0  # a wrong multiplier shows in few of them
        shapes = [[256, 1], [1, 256]] if every_pair else _broadcast_shapes(rng)
        scales = [model.scale(0.1, 3.0) for _ in range(2)]
        inputs = []
        for shape, scale in zip(shapes, scales, strict=True):
            codes = every_code(rng).reshape(shape) if every_pair else random_codes(rng, shape)
            zero_point = random_zero_point(rng)
            if inputs and rng.integers(4) == 0:
                inputs.append(model.builder.constant(codes, scale=scale, zero_point=zero_point))
            else:
                inputs.append(model.input(codes, scale, zero_point))
        suited = scales[0] * scales[1] * 73 if operator == "MUL" else max(scales)
        return model.finish(
            operator,
            inputs,
            np.broadcast_shapes(*shapes),
            model.scale(suited),
            random_zero_point(rng),
            random_activation(rng),
        )

    return make


def _broadcast_shapes(rng: Random) -> list[list[int]]:
    """Return two equal shapes, or two that broadcast, to rank 8 in a few cases."""
    wide = rng.integers(8) == 0
    full = random_shape(rng, range(5, 9) if wide else (1, 2, 3, 4), 2 if wide else 6)
    shapes = [list(full), list(full)]
    if rng.integers(2):
        for shape in shapes:
            ones = rng.integers(3, size=len(shape)) == 0
            shape[:] = [1 if one else size for one, size in zip(ones, shape, strict=True)]
        shorter = shapes[rng.integers(2)]
        del shorter[: rng.integers(len(shorter))]
    return shapes


def _unary(
    operator: str, out: Callable[[SingleOperator, float], tuple[float, int]], spread: float = 3.0
) -> Callable[[Random], Case]:
    """Return a maker; ``out`` gives the output's scale and zero point for the input's scale."""

    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        scale = model.scale(0.1, spread)
        if rng.integers(4):
            codes = every_code(rng).reshape(
                [(256,), (1, 256), (4, 64), (2, 4, 4, 8)][rng.integers(4)]
            )
        else:
            codes = random_codes(rng, random_shape(rng))
        source = model.input(codes, scale, random_zero_point(rng))
        return model.finish(operator, [source], codes.shape, *out(model, scale))

    return make


def _rescaled(model: SingleOperator, scale: float) -> tuple[float, int]:
    """Mostly near the input's scale; sometimes far off, to shifts that wrap or flush to 0."""
    spread = 24.0 if model.rng.integers(16) == 0 else 2.0
    return model.scale(scale, spread), random_zero_point(model.rng)


def _clamped(model: SingleOperator, scale: float) -> tuple[float, int]:
    return model.scale(scale, 2.0), random_zero_point(model.rng)


def _logistic_output(model: SingleOperator, scale: float) -> tuple[float, int]:
    return 1 / 256, -128 if model.rng.integers(4) else random_zero_point(model.rng)


def _tanh_output(model: SingleOperator, scale: float) -> tuple[float, int]:
    return (
        (1 / 128, 0) if model.rng.integers(2) else (model.scale(0.01), random_zero_point(model.rng))
    )


def _pool(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        kernel = rng.integers(1, 5, 2, endpoint=True).tolist()
        options, sizes = random_window(rng, (kernel[0], kernel[1]), dilated=False)
        depth = choose(rng, 1, 2, 3, 5, 8, 17)
        x = random_codes(rng, [choose(rng, 1, 1, 2), *sizes, depth])
        scale, zero_point = model.scale(), random_zero_point(rng)
        source = model.input(x, scale, zero_point)
        if rng.integers(4) == 0:  # accepted, and not rescaled
            scale, zero_point = model.scale(), random_zero_point(rng)
        shape = output_shape(x.shape, kernel, options, depth)
        options |= {"filter_height": kernel[0], "filter_width": kernel[1]} | random_activation(rng)
        return model.finish(operator, [source], shape, scale, zero_point, options)

    return make


def _softmax(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = random_codes(rng, [*random_shape(rng, (1, 2), 16), choose(rng, 1, 2, 3, 10, 100, 400)])
    source = model.input(codes, model.scale(0.1, 5.0), random_zero_point(rng))
    beta = float(rng.choice([1.0, 1.0, 0.5, 2.0, rng.uniform(0.1, 3.0)]))
    return model.finish("SOFTMAX", [source], codes.shape, 1 / 256, -128, {"beta": beta})


def _mean(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5), 7))
    scale = model.scale()
    source = model.input(codes, scale, random_zero_point(rng))
    rank = codes.ndim
    chosen = rng.choice(rank, rng.integers(1, rank, endpoint=True), replace=False)
    keep = bool(rng.integers(2))
    shape = [
        1 if axis in chosen else size
        for axis, size in enumerate(codes.shape)
        if keep or axis not in chosen
    ]
    axes = chosen - rank * rng.integers(0, 2, chosen.size)  # negative ones count from the end
    axes = rng.permutation(np.append(axes, chosen[: rng.integers(2)])).astype(np.int32)
    inputs = [source, model.builder.constant(axes)]
    near = scale / np.sqrt(codes.size / max(1, np.prod(shape)))
    return model.finish(
        "MEAN", inputs, shape, model.scale(near), random_zero_point(rng), {"keep_dims": keep}
    )


def _pad(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5), 4))
    scale, zero_point = model.scale(), random_zero_point(rng)
    source = model.input(codes, scale, zero_point)
    dtype = np.int32 if rng.integers(2) else np.int64
    paddings = rng.integers(0, 3, (codes.ndim, 2), endpoint=True).astype(dtype)
    if rng.integers(4) == 0:  # accepted, and not rescaled
        scale, zero_point = model.scale(), random_zero_point(rng)
    shape = (np.array(codes.shape) + paddings.sum(axis=1)).tolist()
    inputs = [source, model.builder.constant(paddings)]
    return model.finish("PAD", inputs, shape, scale, zero_point)


def _reshape(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = random_codes(rng, random_shape(rng, (1, 2, 3, 4, 5)))
    scale, zero_point = model.scale(), random_zero_point(rng)
    source = model.input(codes, scale, zero_point)
    first = choose(rng, *(n for n in range(1, codes.size + 1) if codes.size % n == 0))
    shape = [first, codes.size // first, *([1] if rng.integers(2) else [])]
    asked = list(shape)
    if rng.integers(2):
        asked[rng.integers(2)] = -1
    if rng.integers(2):
        inputs = [source, model.builder.constant(np.array(asked, dtype=np.int32))]
        return model.finish("RESHAPE", inputs, shape, scale, zero_point)
    return model.finish("RESHAPE", [source], shape, scale, zero_point, {"new_shape": asked})


_MAKERS: dict[str, Callable[[Random], Case]] = {
    "ADD": _binary("ADD"),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "LOGISTIC": _unary("LOGISTIC", _logistic_output),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MEAN": _mean,
    "MUL": _binary("MUL"),
    "PAD": _pad,
    "QUANTIZE": _unary("QUANTIZE", _rescaled),
    "RELU": _unary("RELU", _clamped),
    "RELU6": _unary("RELU6", _clamped),
    "RELU_0_TO_1": _unary("RELU_0_TO_1", _clamped, 6.0),
    "RELU_N1_TO_1": _unary("RELU_N1_TO_1", _clamped, 6.0),
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
    "SUB": _binary("SUB"),
    "TANH": _unary("TANH", _tanh_output),
}

OPERATORS = tuple(sorted(_MAKERS))
"""Operators that `random_case` makes models of."""
