"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION: the tables and requantization of their rows."""

from math import prod

import numpy as np

from eightfold.compiler.exact.channels import CompileError
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.elementwise import IDENTITY
from eightfold.compiler.steps.rows import ScaledRows
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, rounding_divide_by_pot
from eightfold.golden.fixed_point_math import softmax_scaling
from eightfold.golden.normalization import LOG_BITS
from eightfold.golden.softmax import SUM_BITS, exponential_table
from eightfold.isa import Row
from eightfold.isa.vector_fields import RowScaling

_BYTES = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.int64)
"""Every byte, in the order of a table's entries."""

_FRACTION = 31 - LOG_BITS
"""Fraction bits of a logarithm."""

LOG_OUTPUT_BITS = 4
"""Fraction bits of LOG_SOFTMAX's output."""

FAR_BELOW = -(1 << 30)
"""What LOG_SOFTMAX looks up for differences whose result is -128 whatever the row's logarithm.

16 in `LOG_BITS`: the output reaches down to 255/16 below 0. A logarithm is at most log(4096), so
the difference of the two still fits int32.
"""


def softmax(call: Call) -> ScaledRows:
    """Lower SOFTMAX."""
    scale = call.quantization(0).per_tensor()[0]
    return _rows(call, softmax_rows(float(call.options["beta"]), scale))


def log_softmax(call: Call) -> ScaledRows:
    """Lower LOG_SOFTMAX."""
    return _rows(call, log_softmax_rows(call.quantization(0).per_tensor()[0]))


def l2_normalization(call: Call) -> ScaledRows:
    """Lower L2_NORMALIZATION."""
    if call.activation() != "NONE":
        raise CompileError("a fused activation is not defined")
    return _rows(call, l2_rows(call.quantization(0).per_tensor()[1]))


def _rows(call: Call, scaling: RowScaling) -> ScaledRows:
    call.golden(np.zeros((1, 1), np.int8))  # golden checks the result's quantization
    source = call.input(0)
    length = source.shape[-1]
    return ScaledRows(
        source=source.index,
        target=call.output.index,
        rows=prod(source.shape[:-1]),
        length=length,
        scaling=scaling,
    )


def softmax_rows(beta: float, scale: np.float32) -> RowScaling:
    """Return SOFTMAX of logits of ``scale``: ``exp(beta * scale * d)`` over its sum, in 256ths.

    What the reference counts as 0, its code -128, is 0 in the tables.
    """
    exponential = _exponential(beta, scale)
    summand = rounding_divide_by_pot(exponential, SUM_BITS)
    return RowScaling(
        row=Row.RECIPROCAL,
        relative=True,
        tables=(exponential, summand),
        requantize={**IDENTITY, "single": 0, "zero_point": -128},
    )


def log_softmax_rows(scale: np.float32) -> RowScaling:
    """Return LOG_SOFTMAX: ``scale * d - log(sum)``, both with 5 integer bits, in 16ths.

    The reference gives -128 for differences beyond its radius, and where the subtraction would
    leave int32; `FAR_BELOW` gives the same.
    """
    multiplier, shift = softmax_scaling(1.0, scale)
    exponential = _exponential(1.0, scale)
    _, radius = exponential_table(1.0, scale)
    d = np.where(_BYTES > 0, _BYTES - 256, _BYTES)
    inside = d >= -radius
    scaled = multiply_by_quantized_multiplier(np.where(inside, d, 0), multiplier, shift)
    drop = _FRACTION - LOG_OUTPUT_BITS
    return RowScaling(
        row=Row.LOGARITHM,
        relative=True,
        tables=(
            np.where(inside, np.maximum(scaled, FAR_BELOW), FAR_BELOW),
            rounding_divide_by_pot(exponential, SUM_BITS),
        ),
        requantize={**IDENTITY, "multiplier": 1, "right": drop, "zero_point": 127},
    )


def l2_rows(zero_point: int) -> RowScaling:
    """Return L2_NORMALIZATION: ``(q - z) / sqrt(sum of (q - z)^2)``, in 128ths."""
    difference = _BYTES - zero_point
    return RowScaling(
        row=Row.INVERSE_ROOT,
        relative=False,
        tables=(difference, difference * difference),
        requantize={**IDENTITY, "single": 0},
    )


def _exponential(beta: float, scale: np.float32) -> np.ndarray:
    """Return exp(beta * scale * d) by the byte of d = 0, -1, .. -255."""
    below, _ = exponential_table(beta, scale)
    return below[-_BYTES & 255]
