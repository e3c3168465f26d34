"""Functions of one code and of two, comparisons, and steps between float and int8."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value
from eightfold.operators.elementwise import NUMBERS

BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))

Output = Callable[[draws.SingleOperator, float], tuple[float, int]]
"""Returns an output's scale and zero point for the input's scale."""


def _rescaled(model: draws.SingleOperator, scale: float) -> tuple[float, int]:
    """Mostly near the input's scale; sometimes far off, to shifts that wrap or flush to 0."""
    return model.output_scale(scale, scale, bits=8), draws.random_zero_point(model.rng)


def _single_unary(
    name: str, rng: draws.Random, output: Output = _rescaled, spread: float = 3.0
) -> draws.Case:
    model = draws.SingleOperator(rng)
    scale = model.scale(0.1, spread)
    source = model.operand(draws.some_or_every_code(rng), scale, draws.random_zero_point(rng))
    return model.finish(name, [source], output(model, scale))


def _extend_unary(name: str, net: draws.GrowingNetwork, spread: float | None = 2.0) -> None:
    """Grow by it; ``spread`` of the scale around the input's, None if one is dictated."""
    x = net.pick(draws.any_rank)
    net.add(name, [x], None if spread is None else net.rescaled(x.scale, spread))


def _unary(name: str, spread: float = 3.0) -> draws.Maker:
    return draws.Maker(partial(_single_unary, name, spread=spread), partial(_extend_unary, name))


def _function(
    name: str,
    suited: Callable[[float], float],
    *,
    near: float = 0.1,
    spread: float = 3.0,
    far: tuple[float, float] = (-20.0, 6.0),
    positive: bool = False,
    edge: Callable[[draws.Random, float], float] | None = None,
    options: Callable[[draws.Random], dict[str, bool]] = lambda rng: {},
) -> draws.Maker:
    """Return the maker of a function whose results ``suited`` spreads over int8.

    ``near``, ``spread``, ``far``: of the input's scale, and exponents of how much finer than suited
        the output's may be.
    ``positive``: whether codes below the zero point are refused; in networks RELU comes before.
    ``edge``: returns a scale that half of the outputs have: one at which a hasty rounding shows.
    """

    def single(rng: draws.Random) -> draws.Case:
        model = draws.SingleOperator(rng)
        scale, zero_point = model.scale(near, spread), draws.random_zero_point(rng)
        codes = draws.some_or_every_code(rng)
        if positive:
            codes = np.maximum(codes, np.int8(zero_point))
        source = model.operand(codes, scale, zero_point)
        out = model.output_scale(suited(scale), suited(scale), far)
        if edge is not None and rng.integers(2):
            out = edge(rng, scale)
        return model.finish(name, [source], (out, draws.random_zero_point(rng)), options(rng))

    def extend(net: draws.GrowingNetwork) -> None:
        x = net.pick(lambda value: value.scale <= near * 2**spread)
        if positive:
            net.need("RELU")
            x = net.add("RELU", [x], x)
        net.add(name, [x], net.rescaled(suited(x.scale)), options(net.rng))

    return draws.Maker(single, extend)


def _whole_root(rng: draws.Random, scale: float) -> float:
    """Return the scale at which the root of a code's real number is a whole number of steps."""
    root = np.sqrt(np.float32(scale) * np.float32(rng.integers(1, 256)))
    return float(root / np.float32(rng.integers(1, 128)))


def _logistic_output(model: draws.SingleOperator, scale: float) -> tuple[float, int]:
    return 1 / 256, draws.random_zero_point(model.rng) if draws.beyond(model.rng, 4) else -128


def _tanh_output(model: draws.SingleOperator, scale: float) -> tuple[float, int]:
    if draws.within_spec() or model.rng.integers(2):
        return 1 / 128, 0
    return model.scale(0.01), draws.random_zero_point(model.rng)


def _dictated(name: str, output: Output) -> draws.Maker:
    """Return the maker of a function whose output's quantization the spec dictates."""
    extend = partial(_extend_unary, name, spread=None)
    return draws.Maker(partial(_single_unary, name, output=output), extend)


def _leaky_relu(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    codes = draws.some_or_every_code(rng)
    scale = model.scale(0.1, 3.0)
    source = model.operand(codes, scale, draws.random_zero_point(rng))
    alpha = rng.choice([0.0, 1.0, 0.5, -0.25, 0.1, 0.01, 2.0, rng.normal()])
    # A slope may add two bits to the left shift.
    out = model.output_scale(scale, scale, (-33.0, 26.0)), draws.random_zero_point(rng)
    return model.finish("LEAKY_RELU", [source], out, {"alpha": float(alpha)})


def _extend_leaky_relu(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.any_rank)
    net.add("LEAKY_RELU", [x], net.rescaled(x.scale), {"alpha": net.scale(0.1)})


def _hard_swish(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    scale = model.scale(0.05, 6.0)
    source = model.operand(draws.some_or_every_code(rng), scale, draws.random_zero_point(rng))
    # The output scale must be above 1/128 of the input's; far above, an int16 mask degenerates.
    ratio = 2.0 ** rng.uniform(8, 14) if rng.integers(8) == 0 else 2.0 ** rng.uniform(-6.9, 3)
    out = model.scale(scale * ratio, 0.0) if rng.integers(2) else scale * ratio
    out = max(out, float(np.float32(scale / 127)))
    return model.finish("HARD_SWISH", [source], (out, draws.random_zero_point(rng)))


def _quantize(rng: draws.Random) -> draws.Case:
    kind = rng.integers(8)
    if kind < 2:
        return _quantize_float(rng)
    if kind < 4:
        return _quantize_bytes(rng)
    return _single_unary("QUANTIZE", rng)


def _quantize_bytes(rng: draws.Random) -> draws.Case:
    """Return a QUANTIZE between int8 and uint8; often the numbers stay."""
    model = draws.SingleOperator(rng)
    codes = draws.some_or_every_code(rng)
    # The zero points are those of int8; uint8 codes and zero points lie 128 above.
    types = (np.uint8, np.int8) if rng.integers(2) else (np.int8, np.uint8)
    above = [128 if each == np.uint8 else 0 for each in types]
    scale, zero_point = model.scale(0.1, 3.0), draws.random_zero_point(rng)
    same = rng.integers(4) == 0
    target = (scale, zero_point) if same else _rescaled(model, scale)
    source = model.operand(
        (codes.astype(np.int16) + above[0]).astype(types[0]), scale, zero_point + above[0]
    )
    output = model.tensor(
        codes.shape, scale=target[0], zero_point=target[1] + above[1], dtype=types[1]
    )
    model.operator("QUANTIZE", [source], [output])
    model.output(output)
    return model.build(), model.inputs


def _quantize_float(rng: draws.Random) -> draws.Case:
    """Return a QUANTIZE of float32, with ties, and values just beside them."""
    model = draws.SingleOperator(rng)
    shape = draws.random_shape(rng, (1, 2, 3, 4), 7)
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
    source = model.unquantized(values)
    dtype, above = ((np.int8, 0), (np.uint8, 128))[int(rng.integers(4) == 0)]
    output = model.tensor(
        shape,
        scale=scales,
        zero_point=draws.random_zero_point(rng) + above,
        axis=axis * per_axis,
        dtype=dtype,
    )
    model.operator("QUANTIZE", [source], [output])
    model.output(output)
    return model.build(), model.inputs


def _extend_quantize(net: draws.GrowingNetwork) -> None:
    """Grow by a QUANTIZE; one of four gives an output of uint8."""
    x = net.pick(draws.any_rank)
    scale, zero_point = net.rescaled(x.scale)
    if net.rng.integers(4):
        net.add("QUANTIZE", [x], (scale, zero_point))
    else:
        net.quantized(x.index, x.shape, np.uint8, scale, zero_point + 128)


def _extend_dequantize(net: draws.GrowingNetwork) -> None:
    """Grow by an output of float32."""
    net.add("DEQUANTIZE", [net.pick(draws.any_rank)])


def _dequantize(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    codes = draws.every_code(rng).reshape([(256,), (4, 64), (2, 2, 4, 16)][rng.integers(3)])
    if rng.integers(4) == 0:
        scales = [model.scale(0.1, 6.0) for _ in range(codes.shape[-1])]
        points = [draws.random_zero_point(rng) for _ in scales]
        source = model.constant(codes, scale=scales, zero_point=points, axis=codes.ndim - 1)
    else:
        above = 128 if rng.integers(4) == 0 else 0
        values = (codes.astype(np.int16) + above).astype(np.uint8 if above else np.int8)
        source = model.operand(values, model.scale(0.1, 6.0), draws.random_zero_point(rng) + above)
    return model.finish("DEQUANTIZE", [source])


def _arithmetic(name: str, rng: draws.Random) -> draws.Case:
    """Return a model of a sum, a product or a quotient."""
    model = draws.SingleOperator(rng)
    pairs = rng.integers(2) == 0  # all of them: a wrong multiplier shows in few
    shapes = [[256, 1], [1, 256]] if pairs else draws.broadcast_shapes(rng)
    scales = [model.scale(0.1, 3.0) for _ in range(2)]
    inputs = []
    for shape, scale in zip(shapes, scales, strict=True):
        codes = draws.every_code(rng).reshape(shape) if pairs else draws.random_codes(rng, shape)
        zero_point = draws.random_zero_point(rng)
        if name == "DIV" and inputs:
            codes = _beside(codes, zero_point)
        constant = bool(inputs) and draws.is_constant(rng, mostly=False)
        inputs.append(model.coded(codes, scale, zero_point, constant))
    if name == "DIV":
        unit = scales[0] / scales[1]
        suited = unit * 2.0 ** rng.uniform(-7, 1)
        far = (-33.0, 29.0)
    elif name == "SQUARED_DIFFERENCE":  # the multiplier is below 1
        suited = max(scales) ** 2 * 73
        unit = max(scales) ** 2 * 2.0**-12
        far = (-33.0, -0.6)
    elif name == "MUL":
        unit = scales[0] * scales[1]
        far = (-33.0, 29.0)
        suited = unit * 73
    else:  # the multiplier is below 1
        suited = max(scales)
        unit = 2.0**-19 * max(scales)
        far = (-33.0, -0.6)
    out = model.output_scale(suited, unit, far, bits=16), draws.random_zero_point(rng)
    options = {} if name == "SQUARED_DIFFERENCE" else draws.random_activation(rng)
    return model.finish(name, inputs, out, options)


def _extend_arithmetic(name: str, net: draws.GrowingNetwork) -> None:
    a = net.pick(draws.any_rank)
    b, scale = _partner(net, a)
    if name == "SQUARED_DIFFERENCE":
        net.add(name, [a, b], net.rescaled(max(a.scale, scale) ** 2 * 73))
        return
    suited = a.scale * scale * 73 if name == "MUL" else max(a.scale, scale)
    inputs = [a, b] if net.rng.integers(2) else [b, a]
    net.add(name, inputs, net.rescaled(suited), draws.random_activation(net.rng))


def _beside(codes: np.ndarray, zero_point: int) -> np.ndarray:
    """Return divisors: codes, a neighbour in place of the zero point, which stands for 0."""
    neighbour = zero_point - 1 if zero_point > 0 else zero_point + 1
    return np.where(codes == zero_point, np.int8(neighbour), codes)


def _extend_div(net: draws.GrowingNetwork) -> None:
    """Divide by constants, or by what a clamp has left above the zero point."""
    a = net.pick(draws.any_rank)
    scale, zero_point = net.rescaled(0.1)
    codes = np.asarray(
        draws.random_codes(net.rng, [1 if net.rng.integers(2) else s for s in a.shape])
    )
    b: Value | int = net.constant(_beside(codes, zero_point), scale=scale, zero_point=zero_point)
    if net.rng.integers(2) and "MAXIMUM" in net.operators:
        value = net.pick(lambda value: _broadcast(value, a) and value.zero_point < 127)
        scale = value.scale
        least = net.constant(
            np.array([value.zero_point + 1], np.int8), scale=scale, zero_point=value.zero_point
        )
        b = net.add("MAXIMUM", [value, least], value)
    net.add("DIV", [a, b], net.rescaled(a.scale / scale / 16), draws.random_activation(net.rng))


def _pair(
    name: str, rng: draws.Random, near: float, spread: float, alike: bool = False
) -> draws.Case:
    """Return a model of two broadcast operands; ``alike``: the spec wants one quantization."""
    model = draws.SingleOperator(rng)
    pairs = rng.integers(2) == 0  # all of them
    shapes = [[256, 1], [1, 256]] if pairs else draws.broadcast_shapes(rng)
    inputs = []
    same = (min(model.scale(near, spread), BELOW_ONE), draws.random_zero_point(rng))
    for shape in shapes:
        codes = draws.every_code(rng).reshape(shape) if pairs else draws.random_codes(rng, shape)
        own = (min(model.scale(near, spread), BELOW_ONE), draws.random_zero_point(rng))
        scale, zero_point = same if rng.integers(4) or (alike and draws.within_spec()) else own
        constant = bool(inputs) and draws.is_constant(rng, mostly=False)
        inputs.append(model.coded(codes, scale, zero_point, constant))
    if alike and not draws.within_spec():
        same = model.scale(), draws.random_zero_point(rng)
    return model.finish(name, inputs, same if alike else None)


def _extend_comparison(name: str, net: draws.GrowingNetwork) -> None:
    a = net.pick(lambda value: value.scale < 0.9)
    b, _ = _partner(net, a, highest=0.9)
    net.add(name, [a, b])


def _extend_extremum(name: str, net: draws.GrowingNetwork) -> None:
    a = net.pick(draws.any_rank)
    b, _ = _partner(net, a, alike=draws.within_spec())
    if isinstance(b, Value) and not draws.beyond(net.rng, 4):
        b = net.equalized(b, a)
    net.add(name, [a, b], net.kept(a))


def _partner(
    net: draws.GrowingNetwork, a: Value, highest: float = np.inf, alike: bool = False
) -> tuple[Value | int, float]:
    """Return a second operand: a tensor (also ``a``), a new input of the graph or a constant.

    With its scale, at most ``highest``. ``alike``: a constant has the quantization of ``a``.
    """

    def broadcasts(value: Value) -> bool:
        return value.scale <= highest and _broadcast(value, a)

    rng = net.rng
    kind = rng.integers(8)
    if kind == 0:
        b = net.graph_input(a.shape, min(net.scale(), highest))
    elif kind <= 2:
        shape = [1 if rng.integers(3) == 0 else size for size in a.shape]
        shape = shape[rng.integers(max(len(shape), 1)) :]
        scale, codes = min(net.scale(), highest), draws.random_codes(rng, shape)
        own = (a.scale, a.zero_point) if alike else (scale, draws.random_zero_point(rng))
        return net.constant(codes, scale=own[0], zero_point=own[1]), own[0]
    elif kind <= 5:  # residual: an older tensor of the same shape
        b = net.pick(lambda value: value.shape == a.shape and value.scale <= highest)
    else:
        b = net.pick(broadcasts)
    return b, b.scale


def _broadcast(a: Value, b: Value) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False))


def _logical(name: str, rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    shapes = [draws.random_shape(rng)] if name == "LOGICAL_NOT" else draws.broadcast_shapes(rng)
    return model.finish(name, [model.truths(shape) for shape in shapes])


def _extend_logical(name: str, net: draws.GrowingNetwork) -> None:
    operands = [net.truth(draws.any_rank, net.pick(draws.any_rank).shape)]
    if name != "LOGICAL_NOT":
        operands.append(net.truth(partial(_broadcast, operands[0]), operands[0].shape))
    net.add(name, operands)


def _numbers(rng: draws.Random, dtype: str, shape: Sequence[int]) -> np.ndarray:
    """Return numbers of every size that a type has; of float32 also those beyond all integers."""
    if dtype == "float32":
        sizes = 2.0 ** rng.choice([-140, -1, 3, 6, 7, 8, 30, 31, 32, 62, 63, 64, 127], shape)
        signed = sizes * rng.choice([-1.0, 1.0, rng.normal()], shape)
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0], shape)
        return np.where(rng.integers(6, size=shape) == 0, special, signed).astype(np.float32)
    limits = np.iinfo(np.uint8 if dtype == "bool" else dtype)
    numbers = rng.integers(limits.min, limits.max, shape, limits.dtype, endpoint=True)
    return (numbers >> rng.integers(limits.bits, size=shape).astype(limits.dtype)).astype(dtype)


def _cast(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    source, target = (str(each) for each in rng.choice(NUMBERS, 2))
    numbers = np.asarray(_numbers(rng, source, draws.random_shape(rng)))
    quantization = model.scale(), draws.random_zero_point(rng)
    quantized = source == "int8"
    x = model.operand(numbers, *quantization) if quantized else model.unquantized(numbers)
    return model.finish("CAST", [x], quantization, {"out_data_type": target.upper()})


def _extend_cast(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.any_rank)
    if net.rng.integers(2):
        x = net.truth(draws.any_rank, x.shape)
    target = str(net.rng.choice(["BOOL", "INT8", "INT32"]))
    net.add("CAST", [x], net.rescaled(0.1), {"out_data_type": target})


def _selection(name: str, rng: draws.Random) -> draws.Case:
    """Return a model of SELECT, or of SELECT_V2, whose operands broadcast."""
    model = draws.SingleOperator(rng)
    shapes = draws.broadcast_shapes(rng)
    shape, other = shapes if name == "SELECT_V2" else (shapes[0], shapes[0])
    common = np.broadcast_shapes(shape, other)
    ones = [1 if rng.integers(3) == 0 else size for size in common]
    condition = [common, ones[rng.integers(len(ones) + 1) :]][rng.integers(2)]
    if name == "SELECT":
        condition = [shape, shape[:1], []][rng.integers(3)]
    inputs = [model.truths(condition)]
    quantization = model.scale(), draws.random_zero_point(rng)
    truths = rng.integers(8) == 0  # truth values are chosen as codes are
    for each in (shape, other):
        if truths:
            inputs.append(model.truths(each))
        else:
            constant = rng.integers(4) == 0
            inputs.append(model.coded(draws.random_codes(rng, each), *quantization, constant))
    return model.finish(name, inputs, quantization)


def _extend_selection(name: str, net: draws.GrowingNetwork) -> None:
    a = net.pick(draws.any_rank)
    if name == "SELECT":
        others = (a.shape, a.shape[:1], ())
        b = net.pick(lambda value: value.shape == a.shape)
        condition = net.truth(lambda value: value.shape in others, a.shape[:1])
    else:
        b, _ = _partner(net, a)
        both = [each for each in (a, b) if isinstance(each, Value)]
        condition = net.truth(lambda value: all(_broadcast(value, o) for o in both), a.shape)
    net.add(name, [condition, a, b], net.kept(a))


def _prelu(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    if rng.integers(2):
        codes = draws.every_code(rng).reshape(256, 1)
        factors = draws.every_code(rng)[: rng.integers(1, 256)]
        codes = np.repeat(codes, factors.size, axis=1)
    else:
        full = draws.random_shape(rng, (1, 2, 3, 4, 5))
        shape = [1 if rng.integers(3) == 0 else size for size in full]
        factors = draws.random_codes(rng, shape[rng.integers(len(shape)) :])
        codes = draws.random_codes(rng, full)
    scale, slope = model.scale(0.1, 3.0), model.scale(0.01, 3.0)
    inputs = [model.operand(codes, scale, draws.random_zero_point(rng))]
    inputs.append(model.coded(factors, slope, draws.random_zero_point(rng), bool(rng.integers(4))))
    out = model.output_scale(
        scale if rng.integers(2) else scale * slope * 100, scale * slope, (-33.0, 18.0)
    )
    return model.finish("PRELU", inputs, (out, draws.random_zero_point(rng)))


def _extend_prelu(net: draws.GrowingNetwork) -> None:
    x = net.pick()
    shape = [1 if net.rng.integers(2) else size for size in x.shape[1:]]
    codes = draws.random_codes(net.rng, shape)
    scale, zero_point = net.rescaled(0.01)
    slopes = net.constant(codes, scale=scale, zero_point=zero_point)
    net.add("PRELU", [x, slopes], net.rescaled(x.scale))


ELEMENTWISE: dict[str, draws.Maker] = {
    "ABS": _unary("ABS"),
    **draws.makers(_arithmetic, _extend_arithmetic, "ADD", "MUL", "SQUARED_DIFFERENCE", "SUB"),
    "CAST": draws.Maker(_cast, _extend_cast),
    "DEQUANTIZE": draws.Maker(_dequantize, _extend_dequantize),
    "DIV": draws.Maker(partial(_arithmetic, "DIV"), _extend_div),
    # Much smaller scales tell the reference of ELU from TFLite Micro's variant.
    "ELU": _function("ELU", lambda scale: scale, spread=20.0, far=(-31.0, 20.0)),
    # At larger scales the exponential of the last code leaves int32.
    "EXP": _function("EXP", lambda scale: np.exp(127 * scale) / 73, near=0.01),
    "GELU": _function(
        "GELU",
        lambda scale: scale,
        far=(-31.0, 20.0),
        options=lambda rng: {"approximate": bool(rng.integers(2))},
    ),
    # LiteRT rejects an output scale of 1/128 of the input's or less.
    "HARD_SWISH": draws.Maker(_hard_swish, partial(_extend_unary, "HARD_SWISH", spread=3.0)),
    "LEAKY_RELU": draws.Maker(_leaky_relu, _extend_leaky_relu),
    **draws.makers(partial(_pair, near=0.05, spread=5.0), _extend_comparison, "GREATER", "LESS"),
    **draws.makers(
        partial(_pair, near=0.01, spread=4.0),
        _extend_comparison,
        *("EQUAL", "GREATER_EQUAL", "LESS_EQUAL", "NOT_EQUAL"),
    ),
    "LOG": _function("LOG", lambda scale: 0.04),
    "LOGISTIC": _dictated("LOGISTIC", _logistic_output),
    **draws.makers(_logical, _extend_logical, "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR"),
    **draws.makers(
        partial(_pair, near=0.1, spread=2.0, alike=True), _extend_extremum, "MAXIMUM", "MINIMUM"
    ),
    "NEG": _unary("NEG"),
    "PRELU": draws.Maker(_prelu, _extend_prelu),
    "QUANTIZE": draws.Maker(_quantize, _extend_quantize),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "RELU_0_TO_1": _unary("RELU_0_TO_1", 6.0),
    "RELU_N1_TO_1": _unary("RELU_N1_TO_1", 6.0),
    "RSQRT": _function("RSQRT", lambda scale: scale**-0.5 / 100, far=(-5.0, 6.0), positive=True),
    **draws.makers(_selection, _extend_selection, "SELECT", "SELECT_V2"),
    "SQRT": _function("SQRT", lambda scale: scale**0.5 / 12, positive=True, edge=_whole_root),
    "TANH": _dictated("TANH", _tanh_output),
}
"""By the operator's name."""
