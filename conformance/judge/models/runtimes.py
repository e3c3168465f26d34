"""What other kernels compute: the forms of XNNPACK, and of LiteRT's optimized kernels."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from eightfold.conformance.judge.arithmetic import Arithmetic
from eightfold.conformance.judge.models.scaling import (
    SCALINGS,
    product,
    reduced,
    sum_of_two,
    weighted,
)
from eightfold.conformance.judge.models.subject import (
    Compute,
    OperatorRun,
    Results,
    SameError,
    Table,
)
from eightfold.golden.binary import broadcast
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.quantization import RELU_LIMITS, clamp
from eightfold.golden.reduction import reduced_axes
from eightfold.golden.rounding import round_half_away
from eightfold.operators import OperatorCall


def _bounds(call: OperatorCall) -> tuple[int, int]:
    """Return the bounds of XNNPACK: ties of a real bound go to the even code."""
    scale, zero_point = call.output_quantization().per_tensor()
    reals = np.array(RELU_LIMITS[call.activation()], np.float32)
    low, high = np.rint(np.clip(reals / scale + np.float32(zero_point), -128, 127))
    return int(low), int(high)


def _float_scaled(call: OperatorCall, acc: np.ndarray, scale: ArrayLike) -> np.ndarray:
    """Return ``acc * scale`` in float32, clamped around the zero point and rounded to even."""
    zero_point = call.output_quantization().per_tensor()[1]
    low, high = _bounds(call)
    real = acc.astype(np.float32) * np.asarray(scale, np.float32)
    return np.rint(np.clip(real, low - zero_point, high - zero_point)).astype(np.int64) + zero_point


def _weighted(subject: OperatorRun) -> Results:
    scaling = weighted(subject)
    acc = scaling.acc if scaling.bias is None else scaling.acc + scaling.bias
    assert scaling.real_32 is not None
    acc = acc.astype(np.int32)
    return [clamp(_float_scaled(subject, acc, scaling.real_32))]


def _wide(call: OperatorCall) -> bool:
    """Return whether tensors have more dimensions than XNNPACK takes."""
    return max(call.codes(position).ndim for position in (0, 1)) > 6


def _product(subject: OperatorRun) -> Results:
    scales = [subject.quantization(p).per_tensor()[0] for p in (0, 1)]
    scale = scales[0] * scales[1] / subject.output_quantization().per_tensor()[0]
    if _wide(subject) or not 2.0**-16 <= scale < 2.0**8:
        return _without_delegate(subject)
    return [clamp(_float_scaled(subject, product(subject).acc, scale))]


def _sum(subject: OperatorRun) -> Results:
    """Return sums with multipliers of 21 bits and one rounding, ties up."""
    out, zero_point = subject.output_quantization().per_tensor()
    ratios = [np.float32(subject.quantization(p).per_tensor()[0] / out) for p in (0, 1)]
    exponent = int(np.floor(np.log2(float(max(ratios)))))
    shift = 20 - exponent
    if _wide(subject) or not 2.0**-10 <= min(ratios) <= max(ratios) < 2.0**8:
        return _without_delegate(subject)
    arrays = broadcast(subject.codes(0), subject.codes(1))
    total = np.zeros(arrays[0].shape, np.int64)
    for position, (codes, ratio) in enumerate(zip(arrays, ratios, strict=True)):
        factor = int(np.rint(np.ldexp(float(ratio), shift)))
        sign = -1 if position and subject.operator.name == "SUB" else 1
        zero = subject.quantization(position).per_tensor()[1]
        total = total + sign * factor * (codes.astype(np.int64) - zero)
    codes = ((total + (1 << (shift - 1))) >> shift) + zero_point
    return [clamp(codes, _bounds(subject))]


def _quantized_float(subject: OperatorRun) -> Results:
    quantization = subject.output_quantization()
    if quantization.scale.size > 1:
        return _without_delegate(subject)
    scale, zero_point = quantization.per_tensor()
    steps = np.rint(subject.array(0) * (np.float32(1) / scale)) + zero_point
    return [clamp(np.clip(steps, -128, 127).astype(np.int64))]


def _quantized(subject: OperatorRun) -> Results:
    """Return codes times a multiplier of 8 fraction bits."""
    if subject.codes(0).dtype != np.int8:
        return _quantized_float(subject)
    (scale, zero), (out, out_zero) = subject.scales
    ratio = np.float32(scale / out)
    if not 2.0**-8 <= ratio <= 2.0**7:
        return _without_delegate(subject)
    factor = int(np.rint(np.float32(256) * ratio))
    difference = subject.codes(0).astype(np.int64) - zero
    return [clamp(((difference * factor + 128) >> 8) + out_zero)]


def _reduced(subject: OperatorRun) -> Results:
    """Return means and sums scaled in float32; the zero point is added before the rounding."""
    scaling = reduced(subject)
    if not subject.is_constant(1):
        return _without_delegate(subject)
    real = scaling.acc.astype(np.float32) * np.float32(scaling.real)
    codes = np.rint(np.clip(real + np.float32(scaling.zero_point), -128, 127))
    return [clamp(codes.astype(np.int64))]


def _without_delegate(subject: OperatorRun) -> Results:
    """Return what LiteRT's optimized kernel makes of what XNNPACK leaves to it."""
    if subject.operator.name not in _OPTIMIZED:
        raise SameError
    return _OPTIMIZED[subject.operator.name][0](subject)


def _optimized_reduction(subject: OperatorRun) -> Results:
    """Return SUM in float32: the sum of codes scaled, and the zero points' part added."""
    (scale, zero), (out, out_zero) = subject.scales
    x = subject.codes(0).astype(np.int64)
    axes = reduced_axes(subject.array(1), x.ndim)
    total = x.sum(axis=axes).reshape(subject.expected[0].shape)
    ratio = np.float32(scale / out)
    bias = np.float32(-zero) * ratio * np.float32(x.size // max(total.size, 1))
    steps = round_half_away(total.astype(np.float32) * ratio + bias).astype(np.float64)
    # What int32 does not hold becomes its least value on x86.
    steps = np.where((steps >= -(2.0**31)) & (steps < 2.0**31), steps, -(2.0**31))
    return [clamp(wrap32(steps.astype(np.int64) + out_zero))]


def _quantized_body(subject: OperatorRun) -> Results:
    """Return LiteRT's optimized QUANTIZE: eight elements at a time, and the rest otherwise."""
    x = subject.array(0)
    if x.dtype == np.int8:
        scaling = SCALINGS["QUANTIZE"](subject)
        return _in_vectors(subject, scaling.results(Arithmetic(second="half_up")), 16, x.size)
    quantization = subject.output_quantization()
    if quantization.scale.size > 1:
        raise SameError
    scale, zero_point = quantization.per_tensor()
    flat = x.reshape(-1)
    body = flat.size // 8 * 8
    vectors = np.rint(flat[:body] * (np.float32(1) / scale))
    rest = round_half_away(flat[body:].astype(np.float64) / float(scale))
    steps = np.concatenate([vectors, rest])
    codes = np.clip(steps + zero_point, -128, 127).astype(np.int64)
    return [clamp(codes.reshape(x.shape))]


def _optimized_sum(subject: OperatorRun) -> Results:
    """Return ADD of LiteRT's vectors: operands shifted without rounding, the sum in 16 bits."""
    scaling = sum_of_two(subject)
    inner = Arithmetic(second="down")
    acc = np.zeros(1, np.int64)
    for term, sign in scaling.terms:
        acc = acc + sign * term.inner(inner)
    vectors = replace(scaling, acc=acc, terms=()).results(Arithmetic(scaled="wraps_16"))
    return _in_vectors(subject, vectors, 32, _run(subject))


def _run(subject: OperatorRun) -> int:
    """Return the elements that LiteRT computes in a row: all, or one row of what broadcasts."""
    same = subject.codes(0).shape == subject.codes(1).shape
    return subject.expected[0].size if same else subject.expected[0].shape[-1]


def _in_vectors(subject: OperatorRun, vectors: np.ndarray, lanes: int, length: int) -> Results:
    """Return ``vectors`` where elements come ``lanes`` at a time.

    The rest of each run of ``length`` elements is golden's.
    """
    results = subject.expected[0].reshape(-1, length).copy()
    body = length // lanes * lanes
    results[:, :body] = vectors.reshape(-1, length)[:, :body]
    return [results.reshape(vectors.shape)]


def _optimized_product(subject: OperatorRun) -> Results:
    """Return MUL of LiteRT's vectors: 16 bits, where the sum with the zero point wraps."""
    scaling = product(subject)
    wide = replace(scaling, low=-(2**31), high=2**31 - 1, zero_point=0)
    z = np.clip(wide.inner(Arithmetic()), -(2**15), 2**15 - 1)
    codes = (z + scaling.zero_point).astype(np.uint16).view(np.int16)
    bounded = clamp(np.clip(codes, scaling.low, scaling.high))
    return _in_vectors(subject, bounded, 16, _run(subject))


def _optimized_weighted(subject: OperatorRun) -> Results:
    """Return accumulators scaled with ties of the right shift up."""
    vectors = weighted(subject).results(Arithmetic(second="half_up"))
    if subject.operator.name == "FULLY_CONNECTED":
        return [vectors]
    return _in_vectors(subject, vectors, 8, vectors.shape[-1])


def _interpolated(subject: OperatorRun) -> Results:
    """Return RESIZE_BILINEAR with weights of 11 bits and one rounding, ties up."""
    if not subject.is_constant(1):
        raise SameError
    x = subject.codes(0).astype(np.int64)
    options = (subject.options["align_corners"], subject.options["half_pixel_centers"])
    rows, columns = subject.vector(1)
    for axis, count in ((2, columns), (1, rows)):
        lower, upper, part = _weights(x.shape[axis], count, *options)
        weight = part.reshape([-1 if d == axis else 1 for d in range(4)])
        below, above = np.take(x, lower, axis), np.take(x, upper, axis)
        x = (below << 11) + (above - below) * weight
    return [clamp((x + (1 << 21)) >> 22)]


def _weights(size: int, count: int, corners: bool, half: bool):
    """Return lower tap, upper tap and weight of the upper one, in 2048ths, of each output."""
    ratio = np.float32(size) / np.float32(count)
    if corners and count > 1:
        ratio = np.float32(size - 1) / np.float32(count - 1)
    offset = np.float32(0.5) * ratio - np.float32(0.5) if half else np.float32(0)
    place = np.arange(count, dtype=np.float32) * ratio + offset
    place = np.clip(place, np.float32(0), np.float32(size - 1)).astype(np.float32)
    lower = np.floor(place).astype(np.int64)
    part = np.rint((place - lower.astype(np.float32)) * np.float32(2048)).astype(np.int64)
    return lower, np.minimum(lower + 1, size - 1), part


_FLOAT = "a float32 scale, clamped, and rounded with ties to even"
_BITS_21 = "multipliers of 21 bits, and one rounding of the sum, ties up"

_XNNPACK: dict[str, tuple[Compute, str]] = {
    "ADD": (_sum, _BITS_21),
    "CONV_2D": (_weighted, _FLOAT),
    "DEPTHWISE_CONV_2D": (_weighted, _FLOAT),
    "FULLY_CONNECTED": (_weighted, _FLOAT),
    "MEAN": (_reduced, "a float32 scale, the zero point added, and rounded with ties to even"),
    "MUL": (_product, _FLOAT),
    "QUANTIZE": (
        _quantized,
        "a multiplier with 8 fraction bits between codes, ties up; from float32 a product with "
        "the reciprocal scale, ties to even",
    ),
    "RESIZE_BILINEAR": (_interpolated, "weights of 11 bits, and one rounding, ties up"),
    "SUB": (_sum, _BITS_21),
    "SUM": (_reduced, "a float32 scale, the zero point added, and rounded with ties to even"),
}

_UP = "two roundings in integers, and ties of the right shift go up"

_OPTIMIZED: dict[str, tuple[Compute, str]] = {
    "ADD": (
        _optimized_sum,
        "operands are shifted to the right without rounding, and the scaled sum wraps to 16 bits",
    ),
    "DEPTHWISE_CONV_2D": (_optimized_weighted, _UP),
    "FULLY_CONNECTED": (_optimized_weighted, _UP),
    "MUL": (
        _optimized_product,
        "the scaled product saturates to 16 bits, and its sum with the zero point wraps there",
    ),
    "QUANTIZE": (
        _quantized_body,
        "ties of the right shift go up between codes; eight float32 at a time are multiplied by "
        "the reciprocal scale, ties to even, and what is left is divided in double",
    ),
    "SUM": (_optimized_reduction, "a float32 scale, and ties away from zero"),
}

RUNTIMES: dict[str, Table] = {
    operator: {
        (name, table[operator][0]): f"Computed as {whose}: {table[operator][1]}."
        for name, whose, table in (
            ("xnnpack_form", "XNNPACK does", _XNNPACK),
            ("litert_optimized_form", "LiteRT's optimized kernel does", _OPTIMIZED),
        )
        if operator in table
    }
    for operator in sorted(_XNNPACK.keys() | _OPTIMIZED.keys())
}
