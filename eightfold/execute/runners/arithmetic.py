"""Runners of the operators that compute element by element, along rows, or over axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners.runner import Runner
from eightfold.golden import comparison, reduction, unary
from eightfold.golden.binary import add, mul, sub
from eightfold.golden.floats import dequantize, quantize_float
from eightfold.golden.normalization import l2_normalization, log_softmax
from eightfold.golden.prepared.tables import binary_table, unary_table
from eightfold.golden.rectifiers import hard_swish, leaky_relu, prelu
from eightfold.golden.softmax import softmax

_Function = Callable[..., np.ndarray]


def _bytewise(run: Callable[[OperatorCall], np.ndarray], **fields: Any) -> Runner:
    """Return the runner of what works element by element on one or two int8; prepared, a table."""

    def prepare(call: OperatorCall) -> _Function | None:
        arrays = [call.array(position) for position in range(len(call.operator.inputs))]
        if any(array.dtype != np.int8 for array in arrays):
            return None
        if len(arrays) == 1:
            return unary_table(lambda codes: run(call.substituted(codes)))
        table = binary_table(lambda a, b: run(call.substituted(a, b)))
        if call.is_constant(0):
            return lambda *others: table(arrays[0], *others)
        if call.is_constant(1):
            return lambda other: table(other, arrays[1])
        return table

    return Runner(run, prepare=prepare, **fields)


def _binary(function: _Function, *, variants: bool) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.int8(1),
            a_quantization=call.quantization(0),
            b_quantization=call.quantization(1),
            output_quantization=call.output_quantization(),
            activation=call.activation(),
            **({"reference": call.reference} if variants else {}),
        )

    return _bytewise(run)


def _comparison(function: _Function) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.int8(1),
            a_quantization=call.quantization(0),
            b_quantization=call.quantization(1),
        )

    return _bytewise(run, outputs=(np.bool_,))


def _extreme(function: _Function) -> Runner:
    return _bytewise(lambda call: function(call.int8(0), call.int8(1)))


def _unary(
    function: _Function,
    *options: str,
    rows: bool = False,
    variants: bool = False,
    fused: bool = False,
    **fixed,
) -> Runner:
    """Return the runner of one input, whose ``options`` are arguments of the same name.

    ``rows``: an element of the output depends on more than one of the input.
    """

    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
            **({"activation": call.activation()} if fused else {}),
            **{option: call.options[option] for option in options},
            **fixed,
        )

    return Runner(run) if rows else _bytewise(run)


def _prelu(call: OperatorCall) -> np.ndarray:
    return prelu(
        call.int8(0),
        call.int8(1),
        input_quantization=call.quantization(0),
        alpha_quantization=call.quantization(1),
        output_quantization=call.output_quantization(),
        reference=call.reference,
    )


def _quantize(call: OperatorCall) -> np.ndarray:
    x, output = call.integers(0, np.int8, np.float32), call.output_quantization()
    if x.dtype == np.float32:
        return quantize_float(x, output_quantization=output)
    return unary.quantize(x, input_quantization=call.quantization(0), output_quantization=output)


def _dequantize(call: OperatorCall) -> np.ndarray:
    return dequantize(call.int8(0), input_quantization=call.quantization(0))


def _reduction(function: _Function) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.integers(1, np.int32),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            keep_dims=call.options["keep_dims"],
        )

    return Runner(run)


def _index_of_extreme(function: _Function) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        axis = call.integers(1, np.int32, np.int64)
        return function(call.int8(0), axis, dtype=call.option_dtype("output_type"))

    return Runner(run, outputs=(np.int32, np.int64))


ARITHMETIC: dict[str, Runner] = {
    "ADD": _binary(add, variants=False),
    "ARG_MAX": _index_of_extreme(reduction.arg_max),
    "ARG_MIN": _index_of_extreme(reduction.arg_min),
    "DEQUANTIZE": _bytewise(_dequantize, outputs=(np.float32,)),
    "EQUAL": _comparison(comparison.equal),
    "GREATER": _comparison(comparison.greater),
    "GREATER_EQUAL": _comparison(comparison.greater_equal),
    "HARD_SWISH": _unary(hard_swish),
    "L2_NORMALIZATION": _unary(l2_normalization, rows=True, fused=True),
    "LEAKY_RELU": _unary(leaky_relu, "alpha"),
    "LESS": _comparison(comparison.less),
    "LESS_EQUAL": _comparison(comparison.less_equal),
    "LOGISTIC": _unary(unary.logistic, variants=True),
    "LOG_SOFTMAX": _unary(log_softmax, rows=True),
    "MAXIMUM": _extreme(comparison.maximum),
    "MEAN": _reduction(reduction.mean),
    "MINIMUM": _extreme(comparison.minimum),
    "MUL": _binary(mul, variants=True),
    "NOT_EQUAL": _comparison(comparison.not_equal),
    "PRELU": _bytewise(_prelu),
    "QUANTIZE": _bytewise(_quantize),
    "REDUCE_MAX": _reduction(reduction.reduce_max),
    "REDUCE_MIN": _reduction(reduction.reduce_min),
    "RELU": _unary(unary.relu),
    "RELU6": _unary(unary.relu, activation="RELU6"),
    "RELU_0_TO_1": _unary(unary.relu, activation="RELU_0_TO_1"),
    "RELU_N1_TO_1": _unary(unary.relu, activation="RELU_N1_TO_1"),
    "SOFTMAX": _unary(softmax, "beta", rows=True),
    "SUB": _binary(sub, variants=True),
    "SUM": _reduction(reduction.sum),
    "TANH": _unary(unary.tanh, variants=True),
}
"""Operators on values; indices and booleans come out of some."""
