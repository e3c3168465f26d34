"""TPU-MLIR's Convolution, InnerProduct and AvgPool as steps of the matrix engine.

Sums of windows are requantized by a real factor and a real offset, which is proved. The requantizer
adds an integer bias and an integer zero point, so that an offset between them has to come from
elsewhere: all weights may be the same number above 1, which makes the bias finer, and zero points
together with their bias reach offsets in between.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.exact import MULTIPLIER_MAX, StepFunction, least_product
from eightfold.compiler.lower.windowed import of_rows
from eightfold.compiler.steps.channelwise import DepthwiseConvolution, MaximumPool
from eightfold.compiler.steps.convolution import Convolution, widened
from eightfold.compiler.steps.elementwise import CODES, IDENTITY, Elementwise, Shape, Shaped
from eightfold.compiler.steps.windowed import Axis
from eightfold.compiler.tpu_mlir.lower import StepList, per_channel, two_bytes
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, wrap32
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.tpu_mlir.numbers import OFFSETS, to_int8
from eightfold.golden.tpu_mlir.windows import NO_PADS, Pads, Pair, pooled
from eightfold.golden.windows import Window
from eightfold.isa import Combine

RIGHT_MAX = 54
"""Largest right shift tried: results of 9 bits, shifted by it, fit int64."""

WEIGHTS = (127, 126, 125)
"""Weights tried where 1 does not do: the bias is finest with the largest ones."""


@dataclass(frozen=True, kw_only=True)
class AffineSteps:
    """``requantize(weight * sum, **parameters)``."""

    weight: int
    parameters: dict[str, int]

    def of_sums(self, sums: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the results."""
        return requantize(self.weight * sums, **self.parameters)


def fit(function: StepFunction, slope: float, rounding: str) -> AffineSteps | None:
    """Find what equals a step function of sums, from [first, last] to [-128, 127], or None.

    ``slope`` is about the function's, above 0; ``rounding``, a name of
    `eightfold.golden.rounding.ROUNDINGS`, is what its ties are rounded like. The result is checked
    against `eightfold.golden.requantize` on both sides of every step; both functions are
    non-decreasing, so that is a proof for all sums.
    """
    for weight, modes, zero_points in _attempts(rounding):
        for mode, nudge in product(modes, (0, 1, -1)):
            right = min(int(30 - np.floor(np.log2(slope / weight))), RIGHT_MAX)
            multiplier = round(slope / weight * 2.0**right) + nudge if right >= 0 else 0
            if not 0 < multiplier <= MULTIPLIER_MAX:
                continue
            lowest, highest = _biases(function, weight, (multiplier, right, mode), zero_points)
            (possible,) = np.nonzero(lowest <= highest)
            for place in possible[:1]:
                shift = {"multiplier": multiplier, "right": right}
                ends = {"zero_point": int(zero_points[place]), "bias": int(lowest[place])}
                parameters = IDENTITY | shift | {"rounding": ROUNDINGS.index(mode)} | ends
                found = AffineSteps(weight=weight, parameters=parameters)
                if function.equals(found.of_sums):
                    return found
    return None


def _attempts(rounding: str) -> Iterator[tuple[int, tuple[str, ...], NDArray[np.int64]]]:
    """Yield weights, rounding modes and zero points to try together.

    With a zero point of 0 ties are rounded by the sign of the whole result, as the function's are.
    """
    modes = tuple(dict.fromkeys((rounding, "half_up", "half_down")))
    yield 1, modes, np.zeros(1, dtype=np.int64)
    yield WEIGHTS[0], modes, np.zeros(1, dtype=np.int64)
    for weight in WEIGHTS:
        yield weight, ("half_up",), np.arange(-128, 128)


def _biases(
    function: StepFunction,
    weight: int,
    scaling: tuple[int, int, str],
    zero_points: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and greatest bias that put every step in its place, by zero point."""
    multiplier, right, rounding = scaling
    values = np.arange(function.low + 1, function.high + 1)
    steps = np.array(function.steps, dtype=np.int64)
    products = least_product(values - zero_points[:, None], right, rounding)
    least = -(-products // multiplier)  # the least accumulator that reaches the value
    at = steps <= function.last
    before = steps > function.first
    low = max(INT32_MIN, INT32_MIN - weight * function.first)
    high = min(INT32_MAX, INT32_MAX - weight * function.last)
    lowest = np.max(least - weight * steps, axis=1, where=at, initial=low)
    highest = np.min(least - 1 - weight * (steps - 1), axis=1, where=before, initial=high)
    return lowest, highest


BYTE_SUMS = 254 * 256
"""Sums that two bytes tell apart, with one value of the high byte to spare at each end."""


def convolution(
    steps: StepList,
    source: Shaped,
    weights: NDArray[np.int8],
    bias: ArrayLike | None,
    fields: Mapping[str, Any],
    *,
    input_zero_point: int = 0,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    pads: Pads = NO_PADS,
) -> Shape:
    """Add a Convolution of NHWC with a filter OIHW; return the result's shape."""
    _check_int8("the filter", weights)
    if weights.ndim != 4:
        raise InputError(f"the filter has the shape {weights.shape}; it needs rank 4, OIHW")
    outputs, depth, height, width = weights.shape
    window = Window((height, width), stride, dilation)
    fill = input_zero_point - OFFSETS[steps.codes[0]]
    geometry = _geometry(source, window, pads, fill, outputs)
    inputs = geometry["source_shape"][3]
    if inputs % depth or outputs % (inputs // depth):
        raise InputError(f"a filter of the shape {weights.shape} does not fit {inputs} channels")
    target = steps.temporary(prod(geometry["target_shape"]))
    common = geometry | {"target": target, "parameters": _parameters(steps, fields, weights, bias)}
    if depth == 1 < inputs == outputs:
        taps = np.asarray(weights[:, 0].transpose(1, 2, 0), order="C")
        steps.steps.append(DepthwiseConvolution(**common, weights=taps))
    else:
        taps = np.asarray(weights.transpose(0, 2, 3, 1), order="C")
        steps.steps.append(widened(Convolution(**common, weights=taps), steps.config))
    return geometry["target_shape"]


def inner_product(
    steps: StepList,
    source: Shaped,
    weights: NDArray[np.int8],
    bias: ArrayLike | None,
    fields: Mapping[str, Any],
) -> Shape:
    """Add an InnerProduct of (n, k) with weights (oc, k); return the result's shape."""
    tensor, shape = source
    _check_int8("the weights", weights)
    if len(shape) != 2 or weights.ndim != 2 or shape[1] != weights.shape[1]:
        raise InputError(f"weights of the shape {weights.shape} do not fit an input of {shape}")
    rows, outputs = shape[0], len(weights)
    parameters = _parameters(steps, fields, weights, bias)
    product = of_rows(tensor, steps.temporary(rows * outputs), rows, weights, parameters)
    steps.steps.append(replace(product, rows=Axis(size=1, outputs=1)))
    return rows, outputs


def avg_pool(
    steps: StepList,
    source: Shaped,
    *,
    kernel: Pair,
    scale: float | np.float32,
    offset: float | np.float32,
    stride: Pair = (1, 1),
    pads: Pads = NO_PADS,
    input_zero_point: int = 0,
    rounding: str = "half_away",
) -> Shape:
    """Add an AvgPool of NHWC, ``round(f32(f32(scale * sum) - offset))``; return its shape."""
    depth, (before, code) = source[1][-1], steps.codes
    fill = input_zero_point - OFFSETS[before]
    geometry = _geometry(source, Window(kernel, stride), pads, fill, depth)
    shape = geometry["target_shape"]
    scale, offset = float(np.float32(scale)), float(np.float32(offset))
    sign = -1 if scale < 0 else 1
    more = prod(kernel) * OFFSETS[before]  # than the sum of the bytes that hold the codes

    def result(acc: NDArray[np.int64]) -> NDArray[np.int64]:
        return to_int8(pooled(sign * acc + more, scale, offset, rounding, code)).astype(np.int64)

    def sums(weight: int, parameters: Mapping[str, int]) -> Shaped:
        target = steps.temporary(prod(shape))
        step = DepthwiseConvolution(
            **geometry,
            target=target,
            weights=np.full((*kernel, depth), weight, dtype=np.int8),
            parameters={name: np.full(depth, value) for name, value in parameters.items()},
        )
        steps.steps.append(step)
        return target, shape

    ends = sorted(sign * end * prod(kernel) for end in (-128, 127))
    result(np.array(ends))  # checks the factors
    function = StepFunction.of(result, -128, 127, ends[0], ends[1]) if scale else None
    if function and (found := fit(function, abs(scale), rounding)):
        return sums(sign * found.weight, found.parameters)[1]
    total: Shaped | None = None
    for first in range(ends[0], ends[1] + 1, BYTE_SUMS):
        last = min(first + BYTE_SUMS - 1, ends[1])
        low, high = result(np.array([first, last + 1 if last < ends[1] else last])).tolist()
        origin = first + BYTE_SUMS // 2
        highs = 256 * CODES + origin
        lows = CODES & 255
        values = np.clip(result(highs[:, None] + lows[None, :]), low, high)
        summands = (
            sign * scale * highs.astype(np.float64) + scale * more - offset - OFFSETS[code],
            sign * scale * lows.astype(float),
        )
        down = IDENTITY | {"multiplier": 1, "rounding": ROUNDINGS.index("down"), "bias": -origin}
        parts = sums(sign, down | {"right": 8}), sums(sign, down | {"left": 24, "right": 24})
        part = steps.two_bytes(two_bytes(values, summands, rounding), *parts, shape)
        if total is not None:
            join = Elementwise(combine=Combine.ADD, requantize=IDENTITY | {"bias": -low})
            part = steps.pointwise(join, (total, part), shape)
        total = part
    return shape


def max_pool(
    steps: StepList, source: Shaped, *, kernel: Pair, stride: Pair = (1, 1), pads: Pads = NO_PADS
) -> Shape:
    """Add a MaxPool of NHWC; return the result's shape."""
    if any(pad >= size for each, size in zip(pads, kernel, strict=True) for pad in each):
        raise InputError(f"padding {pads} is as wide as the window {kernel}")
    geometry = _geometry(source, Window(kernel, stride), pads, 0, source[1][-1])
    del geometry["fill"]
    target = steps.temporary(prod(geometry["target_shape"]))
    steps.steps.append(MaximumPool(**geometry, target=target, low=-128, high=127))
    return geometry["target_shape"]


def _check_int8(name: str, weights: NDArray[np.int8]) -> None:
    if weights.dtype != np.int8:
        raise InputError(f"{name} must be int8, not {weights.dtype}")


def _parameters(
    steps: StepList, fields: Mapping[str, Any], weights: NDArray[np.int8], bias: ArrayLike | None
) -> dict[str, NDArray[np.int64]]:
    """Return the requantization of each output channel.

    Bytes that hold uint8 are 128 less: what the sum lacks is added with the bias.
    """
    zero_point = fields.get("zero_point", 0) - OFFSETS[steps.codes[-1]]
    given = {**fields, "zero_point": zero_point} | ({} if bias is None else {"bias": bias})
    found = per_channel(given, len(weights))
    sums = weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64)
    return found | {"bias": wrap32(found["bias"] + OFFSETS[steps.codes[0]] * sums)}


def _geometry(
    source: Shaped, window: Window, pads: Pads, fill: int, outputs: int
) -> dict[str, Any]:
    """Return the fields of a step, but for its weights, parameters and target."""
    tensor, shape = source
    if len(shape) != 4:
        raise InputError(f"the input has the shape {shape}; it needs rank 4, NHWC")
    if not -128 <= fill <= 127 or min(*pads[0], *pads[1]) < 0:
        raise InputError(f"padding {pads} with {fill} does not exist")
    window = replace(window, padding="EXPLICIT", around=pads)
    rows, columns = (Axis.of(window, axis, shape[1 + axis]) for axis in (0, 1))
    return {
        "source": tensor,
        "source_shape": shape,
        "target_shape": (shape[0], rows.outputs, columns.outputs, outputs),
        "rows": rows,
        "columns": columns,
        "fill": fill,
    }
