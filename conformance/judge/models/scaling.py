"""What operators requantize, taken apart: accumulators, multipliers, zero points, bounds.

So every mistake of a requantizer can be made inside an operator, everywhere that it scales.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.conformance.judge.arithmetic import (
    FLOATS,
    Arithmetic,
    finished,
    float_scaled,
    operand,
    scaled,
)
from eightfold.conformance.judge.forms import FIELDS, FORMS
from eightfold.conformance.judge.models.subject import (
    OperatorMistake,
    OperatorRun,
    Results,
    SameError,
    maker,
)
from eightfold.conformance.judge.subject import Mistake, made
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.golden.binary import ADD_LEFT_SHIFT, broadcast, common_scales, multiplication_scale
from eightfold.golden.convolution import (
    channel_multipliers,
    conv_2d_accumulators,
    depthwise_conv_2d_accumulators,
)
from eightfold.golden.fixed_point import Integers, quantize_multiplier
from eightfold.golden.fully_connected import (
    fully_connected_accumulators,
    fully_connected_shape,
    integer_multipliers,
)
from eightfold.golden.quantization import effective_scales, fused_bounds
from eightfold.golden.reduction import mean_multiplier, reduction_accumulators, sum_multiplier
from eightfold.golden.windows import Window
from eightfold.operators import OperatorCall

_FORM = FORMS["tflite"]

TWO_ROUNDINGS = Arithmetic()
"""TFLite's: the high multiply, and the right shift."""

DOUBLE = Arithmetic(scale="float64", second="half_away")
"""LiteRT's FULLY_CONNECTED: the product in double, rounded."""


@dataclass(frozen=True)
class Scaling:
    """What an operator requantizes. All arrays broadcast to ``shape``."""

    shape: tuple[int, ...]
    acc: Integers
    multiplier: Integers
    shift: Integers
    real: NDArray[np.float64]
    """What multiplier and shift stand for."""
    zero_point: int
    low: int
    high: int
    """Of the output, as the zero point."""
    bias: Integers | None = None
    """What is added to the accumulators, if the operator has a bias."""
    real_32: NDArray[np.float32] | None = None
    """As ``real``, of scales multiplied in float32."""
    arithmetic: Arithmetic = TWO_ROUNDINGS
    """How the reference computes."""
    terms: tuple[tuple["Scaling", int], ...] = ()
    """What is scaled before, to make the accumulator: pairs of another scaling and its sign, of ADD
    and SUB. ``acc`` is then not used."""

    def results(self, arithmetic: Arithmetic) -> NDArray[np.int8]:
        """Return the codes, scaled as ``arithmetic`` says everywhere."""
        cases = self._cases(arithmetic)
        z = self._scaled(arithmetic, cases)
        codes = finished(arithmetic, z, cases).astype(np.int8)
        if codes.size == math.prod(self.shape):
            return codes.reshape(self.shape)  # a scalar has become a vector on the way
        return np.broadcast_to(codes, self.shape)

    def _cases(self, arithmetic: Arithmetic) -> dict[str, Integers]:
        acc = self.acc
        if self.terms:
            acc = sum(sign * term.inner(arithmetic) for term, sign in self.terms)
        given = {**vars(self), "acc": acc}
        names = FIELDS if self.bias is None else (*FIELDS, "bias")
        return {name: np.asarray(given[name], dtype=np.int64) for name in names}

    def inner(self, arithmetic: Arithmetic) -> Integers:
        """Return the scaled values, without zero point and clamp."""
        # Only how values are scaled is shared; there is no zero point inside.
        own = replace(arithmetic, zero_point="added", clamp="bounds", bias="before")
        if own.scaled != "whole":
            own = replace(own, scaled="wraps_32")
        return self._scaled(own, self._cases(own))

    def _scaled(self, arithmetic: Arithmetic, cases: dict[str, Integers]) -> Integers:
        x = operand(arithmetic, cases)
        if arithmetic.scale not in FLOATS:
            return scaled(arithmetic, _FORM, x, cases)
        if arithmetic.scale == "float32" and self.real_32 is not None:
            return float_scaled(arithmetic, x, self.real_32)
        return float_scaled(arithmetic, x, self.real)


def _int64(array: np.ndarray) -> Integers:
    return array.astype(np.int64)


def accumulators(
    call: OperatorCall,
    x: NDArray[np.int8] | None = None,
    weights: NDArray[np.int8] | None = None,
    window: Window | None = None,
) -> Integers:
    """Return golden's accumulators of an operator with weights, without the bias.

    ``x``, ``weights``, ``window``: in place of the operator's.
    """
    name = call.operator.name
    zero_point = call.quantization(0).per_tensor()[1]
    x = call.codes(0) if x is None else x
    weights = call.codes(1) if weights is None else weights
    if name == "FULLY_CONNECTED":
        quantization = call.quantization(1)
        weight_zero = int(quantization.zero_point[0]) if quantization.scale.size == 1 else 0
        zeros = {"input_zero_point": zero_point, "weight_zero_point": weight_zero}
        return _int64(fully_connected_accumulators(x, weights, None, **zeros))
    sums = conv_2d_accumulators if name == "CONV_2D" else depthwise_conv_2d_accumulators
    window = window or call.filter_window()
    return _int64(sums(x, weights, None, input_zero_point=zero_point, window=window))


def weighted(call: OperatorCall, acc: Integers | None = None) -> Scaling:
    """Return what an operator with weights requantizes; ``acc`` in place of its accumulators."""
    quantizations = (call.quantization(0), call.quantization(1), call.output_quantization())
    bias = call.optional(2)
    if acc is None:
        acc = accumulators(call)
    shape = acc.shape
    arithmetic = TWO_ROUNDINGS
    multiplier, shift = channel_multipliers(*quantizations)
    if call.operator.name == "FULLY_CONNECTED":
        shapes = call.codes(0).shape, call.codes(1).shape
        shape = fully_connected_shape(*shapes, call.options["keep_num_dims"])
        acc = acc.reshape(shape)
        if call.reference == "litert":
            arithmetic = DOUBLE
        else:
            multiplier, shift = integer_multipliers(*quantizations)
    inputs, weights, output = quantizations
    with np.errstate(all="ignore"):
        real_32 = inputs.per_tensor()[0] * weights.scale / output.per_tensor()[0]
    return replace(
        _rescaled(call, acc, effective_scales(*quantizations), call.activation()),
        shape=shape,
        multiplier=multiplier,
        shift=shift,
        real_32=real_32,
        bias=None if bias is None else _int64(bias.reshape(-1)),
        arithmetic=arithmetic,
    )


def _rescaled(call: OperatorCall, acc: Integers, real: ArrayLike, activation: str) -> Scaling:
    multiplier, shift = quantize_multiplier(real)
    output = call.output_quantization()
    low, high = fused_bounds(activation, output)
    return Scaling(
        shape=acc.shape,
        acc=acc,
        multiplier=multiplier,
        shift=shift,
        real=np.asarray(real),
        zero_point=output.per_tensor()[1],
        low=low,
        high=high,
    )


def differences(call: OperatorCall, position: int) -> Integers:
    """Return an input's codes without its zero point."""
    return _int64(call.codes(position)) - call.quantization(position).per_tensor()[1]


def sum_of_two(call: OperatorCall) -> Scaling:
    """Return what ADD and SUB requantize: both operands, and their sum."""
    a, b = call.quantization(0), call.quantization(1)
    *reals, real = common_scales(a, b, call.output_quantization())
    shape = np.broadcast_shapes(call.codes(0).shape, call.codes(1).shape)
    sums = [differences(call, position) << ADD_LEFT_SHIFT for position in (0, 1)]
    first, second = (_rescaled(call, *each, "NONE") for each in zip(sums, reals, strict=True))
    whole = _rescaled(call, np.zeros(1, np.int64), real, call.activation())
    sign = -1 if call.operator.name == "SUB" else 1
    return replace(whole, shape=shape, terms=((first, 1), (second, sign)))


def product(call: OperatorCall) -> Scaling:
    x, y = broadcast(differences(call, 0), differences(call, 1))
    a, b = (call.quantization(position).per_tensor()[0] for position in (0, 1))
    real = multiplication_scale(a, b, call.output_quantization().per_tensor()[0], call.reference)
    return _rescaled(call, x * y, real, call.activation())


def _rescaled_code(call: OperatorCall) -> Scaling:
    if call.codes(0).dtype != np.int8:
        raise SameError
    scale = call.quantization(0).per_tensor()[0]
    out = call.output_quantization().per_tensor()[0]
    return _rescaled(call, differences(call, 0), float(scale) / float(out), "NONE")


def reduced(call: OperatorCall, x: NDArray[Any] | None = None) -> Scaling:
    """Return what MEAN and SUM requantize; ``x``: in place of the operator's codes."""
    inputs, output = call.quantization(0), call.output_quantization()
    x = call.codes(0) if x is None else x
    acc, count = reduction_accumulators(x, call.array(1), inputs, call.options["keep_dims"])
    real = float(inputs.per_tensor()[0]) / float(output.per_tensor()[0])
    if call.operator.name == "SUM":
        multiplier, shift = sum_multiplier(inputs, output)
    else:
        multiplier, shift = mean_multiplier(count, inputs, output)
        real /= count
    plain = _rescaled(call, acc, real, "NONE")
    return replace(plain, multiplier=np.asarray(multiplier), shift=np.asarray(shift))


SCALINGS: dict[str, Callable[[OperatorCall], Scaling]] = {
    "ADD": sum_of_two,
    "CONV_2D": weighted,
    "DEPTHWISE_CONV_2D": weighted,
    "FULLY_CONNECTED": weighted,
    "MEAN": reduced,
    "MUL": product,
    "QUANTIZE": _rescaled_code,
    "SUB": sum_of_two,
    "SUM": reduced,
}

_UNCLAMPED = ("MEAN", "QUANTIZE", "SUM")
_OF_BOUNDS = ("clamp_int8", "relu_at_0", "relu_at_0_of_zero_point")
"""Mistakes that are none where no activation is fused."""

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")

_ENDS = {"bias", "scaled", "zero_point", "clamp"}
"""Choices that are the same whatever scales."""


def _arithmetic(mistakes: Sequence[Mistake], reference: Arithmetic) -> Arithmetic:
    """Return the mistakes in an operator that computes as ``reference`` says.

    A mistake of integers is made by what scales in integers, also where the reference does not.
    """
    at_ends = all(mistake.changes.keys() <= _ENDS for mistake in mistakes)
    return made(reference if at_ends else Arithmetic(), mistakes)


@maker
def _inside(subject: OperatorRun, mistake: Mistake) -> Results:
    scaling = SCALINGS[subject.operator.name](subject)
    return [scaling.results(_arithmetic([mistake], scaling.arithmetic))]


def in_operators(mistakes: Sequence[Mistake]) -> dict[str, OperatorMistake]:
    """Return mistakes of a requantizer, all at once, inside each operator of `SCALINGS`, by name.

    A contract is one too: a `Mistake` whose changes make the reference's arithmetic the contract's.
    Where golden does not scale as a requantizer does, in LiteRT's FULLY_CONNECTED, the results that
    the mistakes do not change are golden's.
    """

    def compute(subject: OperatorRun) -> Results:
        scaling = SCALINGS[subject.operator.name](subject)
        arithmetic = _arithmetic(mistakes, scaling.arithmetic)
        results = scaling.results(arithmetic)
        if scaling.arithmetic == TWO_ROUNDINGS:
            return [results]
        base = scaling.arithmetic if arithmetic.scale == scaling.arithmetic.scale else TWO_ROUNDINGS
        return [np.where(results == scaling.results(base), subject.expected[0], results)]

    name = " and ".join(mistake.name for mistake in mistakes)
    sentence = " ".join(mistake.sentence for mistake in mistakes)
    return dict.fromkeys(SCALINGS, OperatorMistake(name, sentence, compute))


_TWO_ROUNDINGS = OperatorMistake(
    "two_roundings",
    "The accumulator is scaled in integers with two roundings, as in CONV_2D, where LiteRT's "
    "FULLY_CONNECTED multiplies in double.",
    lambda subject: [weighted(subject).results(TWO_ROUNDINGS)],
)


def mistakes_inside(operator: str) -> list[OperatorMistake]:
    if operator not in SCALINGS:
        return []
    named = [
        OperatorMistake(mistake.name, mistake.sentence, _inside(mistake))
        for mistake in mistakes_of("tflite", operator in WEIGHTED)
        if operator not in _UNCLAMPED or mistake.name not in _OF_BOUNDS
    ]
    return [_TWO_ROUNDINGS, *named] if operator == "FULLY_CONNECTED" else named
