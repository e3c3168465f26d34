"""Random models of one operator each, and random inputs for them.

Scales are random, often powers of two (which force exact ties), and lie near the value that
spreads the results over int8; zero points favour both ends; inputs favour extreme codes.
Every model is one that the reference accepts.
"""

import zlib
from collections.abc import Callable

import numpy as np

from eightfold.cases.models.elementwise import ELEMENTWISE, quantize_float
from eightfold.cases.models.indexing import INDEXING
from eightfold.cases.models.matrix import MATRIX
from eightfold.cases.models.movement import MOVEMENT
from eightfold.cases.models.rows import ROWS
from eightfold.cases.models.tensors import (
    Case,
    Random,
    SingleOperator,
    broadcast_shapes,
    choose,
    constant_operands,
    every_code,
    output_shape,
    random_activation,
    random_codes,
    random_window,
    random_zero_point,
    some_or_every_code,
)


def random_case(operator: str, rng: Random) -> Case:
    """Return a model of one operator, and an array for each of its inputs by tensor index.

    Raises
    ------
    KeyError
        If ``operator`` is not one of `OPERATORS`.
    """
    return _MAKERS[operator](rng)


def accelerator_case(operator: str, rng: Random) -> Case:
    """Return a case that the accelerator runs: it takes no axes, sizes or shapes at run time.

    The indices of GATHER may be computed.
    """
    if operator == "GATHER":
        return random_case(operator, rng)
    with constant_operands():
        return random_case(operator, rng)


def case_rng(operator: str, seed: int) -> Random:
    """Return the generator of case ``seed`` of an operator: no two cases share a stream."""
    return np.random.default_rng([zlib.crc32(operator.encode()), seed])


def _binary(operator: str) -> Callable[[Random], Case]:
    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        every_pair = rng.integers(2) == 0  # a wrong multiplier shows in few of them
        shapes = [[256, 1], [1, 256]] if every_pair else broadcast_shapes(rng)
        scales = [model.scale(0.1, 3.0) for _ in range(2)]
        inputs = []
        for shape, scale in zip(shapes, scales, strict=True):
            codes = every_code(rng).reshape(shape) if every_pair else random_codes(rng, shape)
            zero_point = random_zero_point(rng)
            if inputs and rng.integers(4) == 0:
                inputs.append(model.builder.constant(codes, scale=scale, zero_point=zero_point))
            else:
                inputs.append(model.input(codes, scale, zero_point))
        if operator == "MUL":
            unit = scales[0] * scales[1]
            far = (-33.0, 29.0)
            suited = unit * 73
        else:  # the multiplier is below 1
            suited = max(scales)
            unit = 2.0**-19 * max(scales)
            far = (-33.0, -0.6)
        return model.finish(
            operator,
            inputs,
            np.broadcast_shapes(*shapes),
            model.output_scale(suited, unit, far),
            random_zero_point(rng),
            random_activation(rng),
        )

    return make


def _unary(
    operator: str, out: Callable[[SingleOperator, float], tuple[float, int]], spread: float = 3.0
) -> Callable[[Random], Case]:
    """Return a maker; ``out`` gives the output's scale and zero point for the input's scale."""

    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        scale = model.scale(0.1, spread)
        codes = some_or_every_code(rng)
        source = model.input(codes, scale, random_zero_point(rng))
        return model.finish(operator, [source], codes.shape, *out(model, scale))

    return make


def _rescaled(model: SingleOperator, scale: float) -> tuple[float, int]:
    """Mostly near the input's scale; sometimes far off, to shifts that wrap or flush to 0."""
    return model.output_scale(scale, scale), random_zero_point(model.rng)


def _logistic_output(model: SingleOperator, scale: float) -> tuple[float, int]:
    return 1 / 256, -128 if model.rng.integers(4) else random_zero_point(model.rng)


def _tanh_output(model: SingleOperator, scale: float) -> tuple[float, int]:
    return (
        (1 / 128, 0) if model.rng.integers(2) else (model.scale(0.01), random_zero_point(model.rng))
    )


_requantize = _unary("QUANTIZE", _rescaled)


def _quantize(rng: Random) -> Case:
    return quantize_float(rng) if rng.integers(4) == 0 else _requantize(rng)


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


_MAKERS: dict[str, Callable[[Random], Case]] = {
    "ADD": _binary("ADD"),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "LOGISTIC": _unary("LOGISTIC", _logistic_output),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MUL": _binary("MUL"),
    "QUANTIZE": _quantize,
    "RELU": _unary("RELU", _rescaled),
    "RELU6": _unary("RELU6", _rescaled),
    "RELU_0_TO_1": _unary("RELU_0_TO_1", _rescaled, 6.0),
    "RELU_N1_TO_1": _unary("RELU_N1_TO_1", _rescaled, 6.0),
    "SUB": _binary("SUB"),
    "TANH": _unary("TANH", _tanh_output),
    **MATRIX,
    **ELEMENTWISE,
    **ROWS,
    **MOVEMENT,
    **INDEXING,
}

OPERATORS = tuple(sorted(_MAKERS))
"""Operators that `random_case` makes models of."""
