"""Operators prepared for many inferences: what a model fixes is derived once.

What works element by element on one or two int8 becomes a table of all that it can return.
Operators with weights are prepared for one input shape. Each ``prepare_`` function takes the
arguments of the operator's function, which must accept them, and returns a function of the input
alone with the same result. None: the float arithmetic that makes it fast would not be exact, or the
case is rare; then the operator's own function remains.

The zero point z of the input is not subtracted from it: ``sum of w * (x - z)`` is
``sum of w * x - z * sum of w``, the second part a constant per channel. Taps outside the input
read z. Every partial sum of the first is an integer of at most ``128 * sum |w|``, exact in float32
up to 2^24 and in float64 beyond; see `eightfold.golden.exact_product`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Bias, Codes, Shape
from eightfold.golden.convolution import channel_multipliers
from eightfold.golden.exact_product import filter_matrix, operand_type
from eightfold.golden.fixed_point import INT32_MAX, Integers, multiply_by_quantized_multiplier
from eightfold.golden.fully_connected import integer_multipliers
from eightfold.golden.quantization import Quantization, Reference, effective_scales, fused_bounds
from eightfold.golden.windows import Window

_CODES = np.arange(256, dtype=np.uint8).view(np.int8)
"""Every int8, at the index of its byte."""


def unary_table(function: Callable[[Codes], NDArray[Any]]) -> Callable[..., NDArray]:
    """Return a function of one element as a table of 256 results; raises as it does of any int8."""
    table = function(_CODES)
    return lambda x: table.take(x.view(np.uint8))


def binary_table(function: Callable[[Codes, Codes], NDArray[Any]]) -> Callable[..., NDArray]:
    """Return ``function(a, b)``, which broadcasts, as a table of 65536 results.

    The operands must have shapes that it accepts. Raises as it does of any pair of int8.
    """
    table = function(_CODES[:, None], _CODES[None, :]).reshape(-1)

    def apply(a: Codes, b: Codes) -> NDArray:
        index = a.view(np.uint8).astype(np.uint16)
        index <<= 8
        return table.take(index | b.view(np.uint8))

    return apply


LARGEST_SHIFT = 12
"""Right shifts beyond need more than the 53 bits of float64."""

_BLOCK = 16384  # elements worked on at a time, so that they stay in the cache
_WIDTH = 256  # elements per row: numpy's inner loops should not be shorter


class _Workspace(threading.local):
    """Two arrays of each thread, which every call uses again."""

    def __init__(self) -> None:
        self.size = 0
        self.values = self.ties = np.empty(0)

    def reserve(self, size: int) -> None:
        if size > self.size:
            self.size = size
            self.values = np.empty(size)
            self.ties = np.empty(size)


_workspace = _Workspace()


@dataclass(frozen=True)
class Channels:
    """What a requantizer knows of sums, int64 per channel, and of the codes that they become.

    ``raw_bound``, ``addend``: a bound of ``|raw|``, and what is added to it before the scaling.
    ``multiplier``, ``shift``: of `eightfold.golden.fixed_point.quantize_multiplier`.
    ``zero_point``, ``bounds``: the output's zero point and its least and largest code, within int8.
    """

    raw_bound: Integers
    addend: Integers
    multiplier: Integers
    shift: Integers
    zero_point: int
    bounds: tuple[int, int]

    def chosen(self, places: NDArray[np.intp]) -> "Channels":
        """Return some of the channels."""
        bound, addend = self.raw_bound[places], self.addend[places]
        multiplier, shift = self.multiplier[places], self.shift[places]
        return Channels(bound, addend, multiplier, shift, self.zero_point, self.bounds)

    def ends(self) -> tuple[Integers, Integers]:
        """Return the least and the largest accumulator of each channel."""
        return self.addend - self.raw_bound, self.addend + self.raw_bound

    def codes(self, acc: Integers) -> Integers:
        """Return the codes of accumulators (..., channels) in integers."""
        scaled = multiply_by_quantized_multiplier(acc, self.multiplier, self.shift)
        return np.minimum(np.maximum(scaled + self.zero_point, self.bounds[0]), self.bounds[1])


class FloatRequantizer:
    """``clamp(r(raw + addend) + zero point)`` per channel, of raw sums held as floats.

    The kernels compute ``y = (acc * m + 2^30) >> 31`` and ``r = y / 2^s``, ties away from zero.
    Both are floors, and a floor of a floor is one floor. With ``v = acc * m * 2^-(31 + s)``::

        r = floor(v + 1/2 + e)    acc >= 0, and e = 2^-(s + 1), or 0 if s is 0
        r = floor(v + 1/2 - e)    acc < 0

    v is a multiple of 2^-(31 + s). For s <= 12 and |v| < 1024 that takes 10 + 31 + 12 = 53 bits, so
    float64 holds v and the sums above without rounding. Where |v| >= 1024, it may round, but
    rounding is monotone: the code stays beyond the end of int8 and is clamped to it in both
    arithmetics. For larger s that is no proof; there the float arithmetic is compared with the
    integer one at every step of the channel's codes, once, when it is prepared.

    ``rows``: sums of each channel in a call.
    ``fixed``: the code of each channel whose multiplier and addend are 0 because it has but one,
        NaN elsewhere.
    """

    def __init__(
        self, known: Channels, rows: int, fixed: NDArray[np.float64] | None = None
    ) -> None:
        addend, multiplier, shift = known.addend, known.multiplier, known.shift
        channels = addend.size
        repeats = gcd(rows, 1 << max(0, (_WIDTH // channels).bit_length() - 1))
        self._shape = (rows // repeats, repeats * channels)
        self._channels = channels
        self._step = max(1, _BLOCK // self._shape[1])
        right = np.maximum(-shift, 0)
        tie = np.where(right > 0, np.ldexp(1.0, -(right + 1).astype(np.int32)), 0.0)
        scale = np.ldexp(multiplier.astype(np.float64), (shift - 31).astype(np.int32))
        offset = np.full(channels, known.zero_point + 128.5)
        if fixed is not None:
            offset = np.where(np.isnan(fixed), offset, fixed + 128.5)
        self._low, self._high = (np.asarray(float(bound + 128)) for bound in known.bounds)
        # From the zero point up, only positive sums count: one constant instead of a sign's two.
        positive = known.bounds[0] >= known.zero_point
        if positive:
            offset += tie
        folded = positive and _fits(known)
        if folded:
            offset += addend * scale
        self._scale, self._offset = np.tile(scale, repeats), np.tile(offset, repeats)
        self._tie = None if positive else np.tile(tie, repeats)
        self._addend = None if folded else np.tile(addend.astype(np.float64), repeats)

    def __call__(self, raw: NDArray[np.floating]) -> Codes:
        """Return the codes, shape (rows, channels), of contiguous ``raw`` of as many elements."""
        rows, width = self._shape
        sums = raw.reshape(rows, width)
        codes = np.empty((rows, width), dtype=np.uint8)
        _workspace.reserve(min(rows, self._step) * width)
        for start in range(0, rows, self._step):
            part = sums[start : start + self._step]
            v = _workspace.values[: part.size].reshape(part.shape)
            if self._addend is None:
                np.multiply(part, self._scale, out=v)
            else:
                np.add(part, self._addend, out=v)
                np.multiply(v, self._scale, out=v)
            if self._tie is not None:
                ties = _workspace.ties[: part.size].reshape(part.shape)
                np.add(v, np.copysign(self._tie, v, out=ties), out=v)
            np.add(v, self._offset, out=v)
            np.maximum(v, self._low, out=v)
            np.minimum(v, self._high, out=v)
            # Not negative any more: truncation is floor.
            np.copyto(codes[start : start + self._step], v, casting="unsafe")
        np.bitwise_xor(codes, 128, out=codes)
        return codes.view(np.int8).reshape(-1, self._channels)


def float_requantizer(known: Channels, rows: int) -> FloatRequantizer | None:
    """Return a `FloatRequantizer` of these arguments; None where it would not be exact.

    Accumulators, left shifts and results must stay within int32 (so nothing wraps), the zero point
    and the bounds within int8. Of a channel whose shift is below -12, either all accumulators give
    the same code, or every step of its codes is compared.

    ``known``: its multiplier and shift may be one for all channels.
    """
    size = known.raw_bound.shape
    multiplier, shift = (np.broadcast_to(part, size) for part in (known.multiplier, known.shift))
    known = replace(known, multiplier=multiplier, shift=shift)
    largest = known.raw_bound + np.abs(known.addend)
    if (
        shift.min() < -31
        or shift.max() > 30
        or multiplier.min() < 0
        or largest.max() > INT32_MAX
        or (np.where((shift >= 0) & (multiplier > 0), largest, 0) << np.maximum(shift, 0)).max()
        >= 2**30
        or not -128 <= known.zero_point <= 127
        or not -128 <= known.bounds[0] <= known.bounds[1] <= 127
    ):
        return None
    small = np.flatnonzero(shift < -LARGEST_SHIFT)
    if not small.size:
        return FloatRequantizer(known, rows)
    first, last = (known.chosen(small).codes(end[small]) for end in known.ends())
    same = first == last
    # Codes do not decrease with the accumulator: these channels have one each.
    several = np.ones(size, dtype=np.int64)
    several[small[same]] = 0
    fixed = np.full(size, np.nan)
    fixed[small[same]] = first[same]
    known = replace(
        known, addend=known.addend * several, multiplier=multiplier * several, shift=shift * several
    )
    if not np.all(same) and not _steps_agree(known.chosen(small[~same])):
        return None
    return FloatRequantizer(known, rows, fixed)


def _steps_agree(known: Channels) -> bool:
    """Return whether the float arithmetic has the integers' codes for every accumulator.

    Neither decreases with the accumulator: so they are equal everywhere if they are equal on both
    sides of every step, and at both ends. Steps are found by bisection.
    """
    ends = known.ends()
    wanted = np.arange(known.bounds[0] + 1, known.bounds[1] + 1)[:, None]
    below = np.broadcast_to(ends[0], (wanted.size, known.addend.size)).copy()
    above = np.broadcast_to(ends[1], below.shape).copy()
    for _ in range(32):  # the step into each wanted code, if there is one, stays in between
        middle = (below + above) >> 1
        reached = known.codes(middle) >= wanted
        above, below = np.where(reached, middle, above), np.where(reached, below, middle)
    acc = np.concatenate([below, above, *(end[None] for end in ends)])
    checked = FloatRequantizer(known, len(acc))
    return np.array_equal(checked((acc - known.addend).astype(np.float64)), known.codes(acc))


def _fits(known: Channels) -> bool:
    """Return whether accumulator times m and the offset fit 53 bits in units of 2^-(31 + s)."""
    largest = known.raw_bound + np.abs(known.addend)
    for bound, factor, exponent in zip(
        largest.tolist(), known.multiplier.tolist(), known.shift.tolist(), strict=True
    ):
        left, right = max(exponent, 0), max(-exponent, 0)
        if ((bound * factor) << left) + (1 << (41 + right)) > 2**53:
            return False
    return True


Apply = Callable[[Codes], Codes]

# The number next below 0.5: truncating v + copysign(it, v) rounds v to nearest, ties away from
# zero. A fraction of 1/2 still carries, as the sum rounds up; the one next below 1/2 does not.
_BELOW_HALF = np.asarray(np.nextafter(0.5, 0.0))


def _sums(matrix: NDArray, bias: Bias, zero_point: int) -> tuple[Integers, Integers]:
    """Return the bound of ``|sum of w * x|`` and ``bias - z * sum of w`` per column."""
    whole = matrix.astype(np.int64)
    addend = -zero_point * whole.sum(axis=0)
    if bias is not None:
        addend += bias.reshape(-1)
    return 128 * np.abs(whole).sum(axis=0), addend


def prepare_conv_2d(
    shape: Shape,
    weights: Codes,
    bias: NDArray[np.int32],
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    activation: str = "NONE",
) -> Apply | None:
    """Return `eightfold.golden.convolution.conv_2d` for inputs of ``shape``; None with groups."""
    zero_point = input_quantization.per_tensor()[1]
    if weights.shape[3] != shape[3] or not -128 <= zero_point <= 127:
        return None
    columns, limit = filter_matrix(weights)
    real = operand_type(limit, 0)
    matrix = columns.astype(real)
    oh, ow = (window.output_size(axis, shape[1 + axis]) for axis in (0, 1))
    rows = shape[0] * oh * ow
    size = matrix.shape[0]
    known = Channels(
        *_sums(columns, bias, zero_point),
        *channel_multipliers(input_quantization, weight_quantization, output_quantization),
        output_quantization.per_tensor()[1],
        fused_bounds(activation, output_quantization),
    )
    requantize = float_requantizer(known, rows)
    if requantize is None:
        return None
    result = (shape[0], oh, ow, weights.shape[0])
    if window.kernel == (1, 1):
        sy, sx = window.stride
        return lambda x: requantize(
            x[:, ::sy, ::sx].astype(real, order="C").reshape(rows, size) @ matrix
        ).reshape(result)
    read = window.tap_reader(shape, np.dtype(real), zero_point)

    def apply(x: Codes) -> Codes:
        taps = read(x).transpose(0, 1, 2, 4, 5, 3).reshape(rows, size)
        return requantize(taps @ matrix).reshape(result)

    return apply


def prepare_depthwise_conv_2d(
    shape: Shape,
    weights: Codes,
    bias: Bias,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    activation: str = "NONE",
) -> Apply | None:
    """Return `eightfold.golden.convolution.depthwise_conv_2d` for inputs of ``shape``."""
    zero_point = input_quantization.per_tensor()[1]
    outputs = weights.shape[3]
    kh, kw = window.kernel
    oh, ow = (window.output_size(a, shape[1 + a]) for a in (0, 1))
    factors = weights.reshape(kh * kw, outputs)
    bound, addend = _sums(factors, bias, zero_point)
    if bound.max() > 2**24 or not -128 <= zero_point <= 127:
        return None
    known = Channels(
        bound,
        addend,
        *channel_multipliers(input_quantization, weight_quantization, output_quantization),
        output_quantization.per_tensor()[1],
        fused_bounds(activation, output_quantization),
    )
    requantize = float_requantizer(known, shape[0] * oh * ow)
    if requantize is None:
        return None
    repeats = outputs // shape[3]
    n = shape[0]
    result = (n, oh, ow, outputs)
    pad = window.padder((*shape[:3], outputs), np.dtype(np.float32), zero_point)
    # A row of pixels and channels is one axis, for long inner loops: so the weights repeat.
    spread = np.tile(factors.reshape(kh, kw, 1, outputs).astype(np.float32), (1, 1, ow, 1))
    spread = spread.reshape(kh, kw, ow * outputs)
    sy = window.stride[0]
    dy = window.dilation[0]

    def apply(x: Codes) -> Codes:
        padded = pad(x if repeats == 1 else np.repeat(x, repeats, axis=3))
        height = padded.shape[1]
        columns = np.empty((n, kw, height, ow, outputs), dtype=np.float32)
        for kx, column in enumerate(window.shifted(padded, 1, ow)):
            columns[:, kx] = column
        sn, sk, sh, _, sc = columns.strides
        taps = np.ndarray(
            (n, oh, kh, kw, ow * outputs),
            np.float32,
            columns,
            strides=(sn, sh * sy, sh * dy, sk, sc),
        )
        return requantize(np.einsum("nhklx,klx->nhx", taps, spread)).reshape(result)

    return apply


def prepare_fully_connected(
    shape: Shape,
    weights: Codes,
    bias: Bias,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
    keep_num_dims: bool = False,
    reference: Reference = "litert",
) -> Apply | None:
    """Return `eightfold.golden.fully_connected.fully_connected`; None also with a filter's zero
    point."""
    quantizations = (input_quantization, weight_quantization, output_quantization)
    zero_point = input_quantization.per_tensor()[1]
    out_zero = output_quantization.per_tensor()[1]
    if weight_quantization.scale.size == 1 and weight_quantization.zero_point[0]:
        return None
    columns, limit = filter_matrix(weights)
    real = operand_type(limit, 0)
    matrix = columns.astype(real)
    size, outputs = matrix.shape
    rows = int(np.prod(shape)) // size
    result = (*shape[:-1], outputs) if keep_num_dims else (rows, outputs)
    bound, addend = _sums(columns, bias, zero_point)
    low, high = fused_bounds(activation, output_quantization)
    if reference == "tflm":
        pair = integer_multipliers(*quantizations)
        requantize = float_requantizer(Channels(bound, addend, *pair, out_zero, (low, high)), rows)
        if requantize is None:
            return None
        return lambda x: requantize(x.reshape(rows, size).astype(real) @ matrix).reshape(result)
    scale = effective_scales(*quantizations)
    offset = np.asarray(out_zero, dtype=np.int16)
    largest = bound + np.abs(addend)
    # Neither the sum nor its scaled value may leave int32, and an int16 must hold every step.
    if (
        largest.max() > INT32_MAX
        or (largest * scale).max() > 2**30
        or not -(2**14) < out_zero < 2**14
        or low > high
    ):
        return None
    ends = np.asarray(float(low - out_zero)), np.asarray(float(high - out_zero))
    constant = addend.astype(np.float64)

    def apply(x: Codes) -> Codes:
        scaled = np.add(x.reshape(rows, size).astype(real) @ matrix, constant)
        scaled *= scale
        scaled += np.copysign(_BELOW_HALF, scaled)
        np.maximum(scaled, ends[0], out=scaled)
        np.minimum(scaled, ends[1], out=scaled)
        steps = scaled.astype(np.int16)  # truncates
        steps += offset
        return steps.astype(np.int8).reshape(result)

    return apply
