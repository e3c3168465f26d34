"""Reductions: their axes and requantization; operators that scale rows by one: their tables.

SUM, MEAN, REDUCE_MAX, REDUCE_MIN, ARG_MAX, ARG_MIN, REDUCE_ALL, REDUCE_ANY; SOFTMAX, LOG_SOFTMAX
and L2_NORMALIZATION.
"""

from math import prod
from typing import Any

import numpy as np

from eightfold.compiler.exact import CompileError, one_pair
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.channelwise import SumPool
from eightfold.compiler.steps.elementwise import CODES, IDENTITY
from eightfold.compiler.steps.movement import Copy, Movement, rearranged
from eightfold.compiler.steps.reduction import Reduction, ScaledRows, grouped, is_direct, reduced
from eightfold.compiler.steps.windowed import Axis
from eightfold.golden.fixed_point import (
    multiply_by_quantized_multiplier,
    rounding_divide_by_pot,
    wrap32,
)
from eightfold.golden.fixed_point_math import softmax_scaling
from eightfold.golden.normalization import LOG_BITS
from eightfold.golden.reduction import mean_multiplier, reduced_axes, sum_multiplier
from eightfold.golden.softmax import SUM_BITS, exponential_table
from eightfold.isa import Reduce, Row
from eightfold.isa.vector_fields import RowScaling

Steps = tuple[Reduction | SumPool | Movement, ...]


def reduce_sum(call: Call) -> Steps:
    """Lower SUM, and MEAN, whose division is folded into the multiplier.

    A sum of whole pixels is a pool of one window per image, any other a reduction.
    """
    axes = _axes(call)
    quantizations = call.quantization(0), call.output_quantization()
    count = prod(call.input(0).shape[axis] for axis in axes)
    if call.operator.name == "MEAN":
        multiplier = mean_multiplier(count, *quantizations)
    else:
        multiplier = sum_multiplier(*quantizations)
    parameters = one_pair(*multiplier) | call.layer()
    parameters["bias"] = int(wrap32(-count * quantizations[0].per_tensor()[1]))
    loops = reduced(grouped(call.input(0).shape, axes))
    if sum(loops) == 1 and (not loops[-1] or count > _longest(call)):
        return (_pool(call, axes, parameters),)
    return _reduced(call, axes, Reduce.SUM, parameters)


def _pool(call: Call, axes: tuple[int, ...], parameters: dict[str, int]) -> SumPool:
    """Return the sum over adjacent axes as a pool: height, width and what is behind them."""
    shape = call.input(0).shape
    axes = tuple(axis for axis in axes if shape[axis] > 1)
    images = prod(shape[: axes[0]])
    depth = prod(shape[axes[-1] + 1 :])
    sizes = [shape[axis] for axis in range(axes[0], axes[-1] + 1)]
    height, width = prod(sizes[:-1]), sizes[-1]
    return SumPool(
        source=call.input(0).index,
        target=call.output.index,
        source_shape=(images, height, width, depth),
        target_shape=(images, 1, 1, depth),
        rows=Axis(size=height, kernel=height, outputs=1),
        columns=Axis(size=width, kernel=width, outputs=1),
        parameters={height * width: parameters},
    )


EXTREMES = {
    "REDUCE_ALL": Reduce.MINIMUM,
    "REDUCE_ANY": Reduce.MAXIMUM,
    "REDUCE_MAX": Reduce.MAXIMUM,
    "REDUCE_MIN": Reduce.MINIMUM,
}
"""Operators that take the largest or smallest byte: of truth values, 0 or 1."""


def extreme(call: Call) -> Steps:
    """Lower REDUCE_MAX, REDUCE_MIN, REDUCE_ALL and REDUCE_ANY."""
    if call.operator.name in ("REDUCE_MAX", "REDUCE_MIN"):
        quantizations = call.quantization(0), call.output_quantization()
        if quantizations[0].per_tensor() != quantizations[1].per_tensor():
            raise CompileError("input and output must have the same scale and zero point")
    return _reduced(call, _axes(call), EXTREMES[call.operator.name])


def place_of_extreme(call: Call) -> Steps:
    """Lower ARG_MAX and ARG_MIN: the number's bytes one by one, then spread out.

    A number fits two bytes; the others are 0.
    """
    source = call.input(0)
    target = call.output
    axes = _axes(call)
    length = source.shape[axes[0]]
    size = prod(target.shape)
    whole = grouped(source.shape, axes)
    item = target.dtype.itemsize
    reduce = Reduce.MAXIMUM if call.operator.name == "ARG_MAX" else Reduce.MINIMUM
    steps: list[Reduction | Movement] = []
    found = [Copy(None, 0, 0, size * item, (), 0)]
    for byte in range(-(-(length - 1).bit_length() // 8)):
        temporary = call.temporary(size)
        of: dict[str, Any] = {"source": source.index, "target": temporary, "whole": whole}
        steps.append(Reduction(**of, reduce=reduce, byte=byte))
        found.append(Copy(temporary, 0, byte, 1, ((size, 1, item),)))
    return (*steps, Movement(target=target.index, copies=tuple(found)))


def _longest(call: Call) -> int:
    """Return the most bytes of a row that are reduced at once."""
    return call.config.scratchpad // 4


def _axes(call: Call) -> tuple[int, ...]:
    """Return the reduced axes."""
    return reduced_axes(call.constant(1), len(call.input(0).shape))


def _reduced(
    call: Call, axes: tuple[int, ...], reduce: Reduce, requantize: dict[str, int] | None = None
) -> Steps:
    """Return the reduction, of the reduced axes together where they would not fit otherwise.

    Where a command has too few loops for them, or where too much is reduced: rows go on from
    command to command.
    """
    source = call.input(0)
    whole = grouped(source.shape, axes)
    index = source.index
    first = ()
    long = prod(source.shape[axis] for axis in axes) > _longest(call)
    if not is_direct(whole) or (long and not reduced(whole)[-1]):
        kept = tuple(axis for axis in range(len(source.shape)) if axis not in axes)
        order = np.arange(prod(source.shape)).reshape(source.shape).transpose(kept + axes)
        index = call.temporary(order.size)
        first = (rearranged(index, order, source.index, source.shape),)
        count = prod(source.shape[axis] for axis in axes)
        whole = grouped((order.size // count, count), (1,))
    reduction = Reduction(
        source=index, target=call.output.index, whole=whole, reduce=reduce, requantize=requantize
    )
    return (*first, reduction)


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
    *outer, length = source.shape
    tensors = {"source": source.index, "target": call.output.index}
    return ScaledRows(**tensors, rows=prod(outer), length=length, scaling=scaling)


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
    d = np.where(CODES > 0, CODES - 256, CODES)
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
    difference = CODES - zero_point
    return RowScaling(
        row=Row.INVERSE_ROOT,
        relative=False,
        tables=(difference, difference * difference),
        requantize={**IDENTITY, "single": 0},
    )


def _exponential(beta: float, scale: np.float32) -> np.ndarray:
    """Return exp(beta * scale * d) by the byte of d = 0, -1, .. -255."""
    below, _ = exponential_table(beta, scale)
    return below[-CODES & 255]
