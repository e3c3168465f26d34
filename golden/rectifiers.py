"""LEAKY_RELU, PRELU and HARD_SWISH."""

import numpy as np

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.binary import broadcast_shape
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    INT32_MAX,
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturating_shift_left,
    srdhm,
    wrap32,
)
from eightfold.golden.quantization import Quantization, Reference, clamp, scale_type
from eightfold.golden.rounding import rounding_shift
from eightfold.golden.unary import CODES, by_byte, look_up


def leaky_relu(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization, alpha: float
) -> Codes:
    """Return LEAKY_RELU: two multipliers in float32, one for each side of the zero point.

    ``alpha`` is a float32 of any sign and size. Equals LiteRT and TFLite Micro.
    Raises `UndefinedError` if ``alpha`` is not finite, or a multiplier's left shift is 32 or more.
    """
    (scale, zero_point), (out_scale, out_zero) = (
        input_quantization.per_tensor(),
        output_quantization.per_tensor(),
    )
    with np.errstate(over="ignore", under="ignore"):
        slope = float(scale * np.float32(alpha) / out_scale)
        one = float(scale / out_scale)
    v = x.astype(np.int64) - zero_point
    multiplier, shift = quantize_multiplier(slope)
    # A negative slope multiplies by its magnitude and negates: ties keep their direction.
    magnitude = multiply_by_quantized_multiplier(v, np.abs(multiplier), shift)
    negative = np.sign(multiplier) * magnitude
    positive = multiply_by_quantized_multiplier(v, *quantize_multiplier(one))
    return clamp(wrap32(np.where(v >= 0, positive, negative) + out_zero))


def prelu_shape(shape: Shape, alpha: Shape) -> Shape:
    """Return the shape of the result, which is the input's ``shape``; raises as `prelu`."""
    if broadcast_shape(shape, alpha) != shape:
        raise RejectedError(f"alpha of shape {alpha} is larger than the input {shape}")
    return shape


def prelu(
    x: Codes,
    alpha: Codes,
    *,
    input_quantization: Quantization,
    alpha_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return PRELU: below the zero point, times ``alpha``, which broadcasts to the input's shape.

    Multipliers are `prelu_scales`.
    Raises `RejectedError` if ``alpha`` has another shape, and does not broadcast to the input's.
    Raises `AbortedError` if the shapes differ and the rank is above 8.
    """
    factors = np.broadcast_to(alpha, prelu_shape(x.shape, alpha.shape))
    one, slope = prelu_scales(
        input_quantization, alpha_quantization, output_quantization, reference
    )
    v = x.astype(np.int64) - input_quantization.per_tensor()[1]
    positive = multiply_by_quantized_multiplier(v, *quantize_multiplier(one))
    product = v * (factors.astype(np.int64) - alpha_quantization.per_tensor()[1])
    negative = multiply_by_quantized_multiplier(product, *quantize_multiplier(slope))
    codes = np.where(v >= 0, positive, negative) + output_quantization.per_tensor()[1]
    return clamp(wrap32(codes))


def prelu_scales(
    inputs: Quantization, alpha: Quantization, output: Quantization, reference: Reference
) -> tuple[float, float]:
    """Return ``s_in / s_out`` and ``s_in * s_alpha / s_out`` in float32, ``tflm`` in float64."""
    real = scale_type(reference)
    scale, alpha_scale, out_scale = (real(q.per_tensor()[0]) for q in (inputs, alpha, output))
    with np.errstate(over="ignore", under="ignore"):
        return float(scale / out_scale), float(scale * alpha_scale / out_scale)


def hard_swish(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return HARD_SWISH, ``v * relu6(v + 3) / 6``, in int16 arithmetic: a table of 256 entries.

    Equals LiteRT and TFLite Micro.
    Raises `RejectedError` if ``s_in / 128 / s_out >= 1``, in float32. Raises `UndefinedError` if
    the input scale is so large that a left shift leaves int32.
    """
    scale, zero_point = input_quantization.per_tensor()
    out_scale, out_zero = output_quantization.per_tensor()
    high = scale / np.float32(128)
    with np.errstate(over="ignore", under="ignore"):
        out_multiplier, out_shift = quantize_multiplier(float(high / out_scale))
        # 3 is the largest int16 in the scale of the gate.
        gate_real = float(high / np.float32(3 / 32768))
    gate_multiplier, gate_shift = quantize_multiplier(gate_real)
    if out_shift > 0:
        raise RejectedError(f"the output scale {out_scale} of HARD_SWISH is too small")
    v = (CODES - zero_point) << 7
    product = srdhm(v, _high_half(out_multiplier), 15)
    gate = _gate(v, _high_half(gate_multiplier), int(gate_shift))
    scaled = gate * product
    truncated = np.sign(scaled) * (np.abs(scaled) >> 15)
    return look_up(x, by_byte(_shift16(truncated, -int(out_shift)) + out_zero))


def _gate(v: Integers, multiplier: int, shift: int) -> Integers:
    """Return ``(v + 3) / 6`` clamped to [0, 1], in Q0 of int16."""
    gate = v
    if shift > 0:
        if np.any(np.abs(gate) << min(shift - 1, 31) > INT32_MAX):
            raise UndefinedError("the input scale of HARD_SWISH is too large")
        gate = saturating_shift_left(gate, shift - 1, 15)
    gate = srdhm(gate, multiplier, 15)
    if shift > 0:
        gate = saturating_shift_left(gate, 1, 15)
    elif shift < 0:
        gate = _shift16(gate, -shift)
    return (gate + 2**15) >> 1


def _high_half(multiplier: Integers) -> int:
    """Return an int32 multiplier rounded to int16."""
    value = int(multiplier)
    return 2**15 - 1 if value >= INT32_MAX - 2**15 else (value + 2**15) >> 16


def _shift16(x: Integers, e: int) -> Integers:
    """Return the rounding right shift of int16, ties away from zero.

    From e = 16 on the kernel's int16 mask is -1 and its threshold 0, so that every value is
    rounded away from zero: 0 and above to 1, negative ones to -1.
    """
    if e >= 16:
        return np.where(x >= 0, 1, -1)
    return rounding_shift(x, e, "half_away")
