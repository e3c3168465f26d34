"""Random comparisons, extremes, rectifiers, and steps between float and int8."""

from collections.abc import Callable

import numpy as np

from eightfold.cases.models.tensors import (
    Case,
    Random,
    SingleOperator,
    broadcast_shapes,
    every_code,
    random_codes,
    random_shape,
    random_zero_point,
    some_or_every_code,
)

BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))


def _two(
    operator: str, near: float, spread: float, result: Callable[[SingleOperator], dict]
) -> Callable[[Random], Case]:
    """Return a maker of two broadcast operands; ``result`` gives the output's arguments."""

    def make(rng: Random) -> Case:
        model = SingleOperator(rng)
        every_pair = rng.integers(2) == 0
        shapes = [[256, 1], [1, 256]] if every_pair else broadcast_shapes(rng)
        inputs = []
        same = (min(model.scale(near, spread), BELOW_ONE), random_zero_point(rng))
        for shape in shapes:
            codes = every_code(rng).reshape(shape) if every_pair else random_codes(rng, shape)
            own = (min(model.scale(near, spread), BELOW_ONE), random_zero_point(rng))
            scale, zero_point = same if rng.integers(4) else own
            if inputs and rng.integers(4) == 0:
                inputs.append(model.builder.constant(codes, scale=scale, zero_point=zero_point))
            else:
                inputs.append(model.input(codes, scale, zero_point))
        shape = np.broadcast_shapes(*shapes)
        return model.finish_all(operator, inputs, [(shape, result(model))])

    return make


def _bool(model: SingleOperator) -> dict:
    return {"dtype": np.bool_}


def _int8(model: SingleOperator) -> dict:
    return {"scale": model.scale(), "zero_point": random_zero_point(model.rng)}


def _leaky_relu(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = some_or_every_code(rng)
    scale = model.scale(0.1, 3.0)
    source = model.input(codes, scale, random_zero_point(rng))
    alpha = rng.choice([0.0, 1.0, 0.5, -0.25, 0.1, 0.01, 2.0, rng.normal()])
    # A slope may add two bits to the left shift.
    out = model.output_scale(scale, scale, (-33.0, 26.0)), random_zero_point(rng)
    return model.finish("LEAKY_RELU", [source], codes.shape, *out, {"alpha": float(alpha)})


def _hard_swish(rng: Random) -> Case:
    model = SingleOperator(rng)
    scale = model.scale(0.05, 6.0)
    codes = some_or_every_code(rng)
    source = model.input(codes, scale, random_zero_point(rng))
    # The output scale must be above 1/128 of the input's; far above, an int16 mask degenerates.
    ratio = 2.0 ** rng.uniform(8, 14) if rng.integers(8) == 0 else 2.0 ** rng.uniform(-6.9, 3)
    out = model.scale(scale * ratio, 0.0) if rng.integers(2) else scale * ratio
    out = max(out, float(np.float32(scale / 127)))
    return model.finish("HARD_SWISH", [source], codes.shape, out, random_zero_point(rng))


def _prelu(rng: Random) -> Case:
    model = SingleOperator(rng)
    if rng.integers(2):
        codes = every_code(rng).reshape(256, 1)
        factors = every_code(rng)[: rng.integers(1, 256)]
        codes = np.repeat(codes, factors.size, axis=1)
    else:
        full = random_shape(rng, (1, 2, 3, 4, 5))
        shape = [1 if rng.integers(3) == 0 else size for size in full]
        factors = random_codes(rng, shape[rng.integers(len(shape)) :])
        codes = random_codes(rng, full)
    scale, slope = model.scale(0.1, 3.0), model.scale(0.01, 3.0)
    inputs = [model.input(codes, scale, random_zero_point(rng))]
    alpha = {"scale": slope, "zero_point": random_zero_point(rng)}
    if rng.integers(4):
        inputs.append(model.builder.constant(factors, **alpha))
    else:
        inputs.append(model.input(factors, **alpha))
    out = model.output_scale(
        scale if rng.integers(2) else scale * slope * 100, scale * slope, (-33.0, 18.0)
    )
    return model.finish("PRELU", inputs, codes.shape, out, random_zero_point(rng))


def quantize_float(rng: Random) -> Case:
    """Return a QUANTIZE of float32, with ties, and values just beside them."""
    model = SingleOperator(rng)
    shape = random_shape(rng, (1, 2, 3, 4), 7)
    per_axis = rng.integers(4) == 0
    axis = int(rng.integers(len(shape)))
    count = shape[axis] if per_axis else 1
    scales = np.array([model.scale() for _ in range(count)], np.float32)
    along = [-1 if d == axis and per_axis else 1 for d in range(len(shape))]
    steps = rng.integers(-400, 400, shape).astype(np.float32) / np.float32(2)
    values = steps * scales.reshape(along if per_axis else -1).astype(np.float32)
    nudged = rng.integers(3, size=shape)
    values = np.where(nudged == 0, np.nextafter(values, np.float32(np.inf)), values)
    values = np.where(nudged == 1, values * np.float32(rng.normal()), values).astype(np.float32)
    source = model.builder.input(shape, dtype=np.float32)
    model.inputs[source] = values
    result = {"scale": scales, "zero_point": random_zero_point(rng), "axis": axis * per_axis}
    return model.finish_all("QUANTIZE", [source], [(shape, result)])


def _dequantize(rng: Random) -> Case:
    model = SingleOperator(rng)
    codes = every_code(rng).reshape([(256,), (4, 64), (2, 2, 4, 16)][rng.integers(3)])
    if rng.integers(4) == 0:
        scales = [model.scale(0.1, 6.0) for _ in range(codes.shape[-1])]
        points = [random_zero_point(rng) for _ in scales]
        source = model.builder.constant(codes, scale=scales, zero_point=points, axis=codes.ndim - 1)
    else:
        source = model.input(codes, model.scale(0.1, 6.0), random_zero_point(rng))
    return model.finish("DEQUANTIZE", [source], codes.shape, None, dtype=np.float32)


ELEMENTWISE: dict[str, Callable[[Random], Case]] = {
    "DEQUANTIZE": _dequantize,
    "EQUAL": _two("EQUAL", 0.01, 4.0, _bool),
    "GREATER": _two("GREATER", 0.05, 5.0, _bool),
    "GREATER_EQUAL": _two("GREATER_EQUAL", 0.01, 4.0, _bool),
    "HARD_SWISH": _hard_swish,
    "LEAKY_RELU": _leaky_relu,
    "LESS": _two("LESS", 0.05, 5.0, _bool),
    "LESS_EQUAL": _two("LESS_EQUAL", 0.01, 4.0, _bool),
    "MAXIMUM": _two("MAXIMUM", 0.1, 2.0, _int8),
    "MINIMUM": _two("MINIMUM", 0.1, 2.0, _int8),
    "NOT_EQUAL": _two("NOT_EQUAL", 0.01, 4.0, _bool),
    "PRELU": _prelu,
}
