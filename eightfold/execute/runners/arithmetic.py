"""Rows of the operators that compute element by element, along rows, or over axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import stacks
from eightfold.execute.runners.runner import Arguments, Runner
from eightfold.golden import comparison, reduction, unary
from eightfold.golden.binary import add, mul, sub
from eightfold.golden.floats import dequantize
from eightfold.golden.normalization import l2_normalization, log_softmax
from eightfold.golden.prepared.tables import binary_table, unary_table
from eightfold.golden.rectifiers import hard_swish, leaky_relu, prelu
from eightfold.golden.softmax import softmax

_Function = Callable[..., np.ndarray]


def _bytewise(
    golden: _Function, arguments: Callable[[OperatorCall], Arguments], **fields: Any
) -> Runner:
    """Return the row of what works element by element on one or two int8; prepared, a table."""

    def prepare(call: OperatorCall) -> _Function | None:
        arrays = [call.array(position) for position in range(len(call.inputs))]
        if any(array.dtype != np.int8 for array in arrays) or stacks.is_per_axis(call):
            return None

        def entries(*codes: np.ndarray) -> np.ndarray:
            (results,) = runner.run(call.substituted(*codes))
            return results

        if len(arrays) == 1:
            return unary_table(entries)
        table = binary_table(entries)
        if call.is_constant(0):
            return lambda *others: table(arrays[0], *others)
        if call.is_constant(1):
            return lambda other: table(other, arrays[1])
        return table

    runner = Runner(
        golden=golden, arguments=arguments, stacks=stacks.ELEMENTS, prepare=prepare, **fields
    )
    return runner


def _binary(golden: _Function, *, variants: bool = False) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.codes(1),
            a_quantization=call.quantization(0),
            b_quantization=call.quantization(1),
            output_quantization=call.output_quantization(),
            activation=call.activation(),
            **({"reference": call.reference} if variants else {}),
        )

    return _bytewise(golden, arguments)


def _comparison(golden: _Function) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.codes(1),
            a_quantization=call.quantization(0),
            b_quantization=call.quantization(1),
        )

    return _bytewise(golden, arguments)


def _extreme(golden: _Function) -> Runner:
    return _bytewise(golden, lambda call: Arguments(call.codes(0), call.codes(1)))


def _unary(
    golden: _Function,
    *options: str,
    rows: bool = False,
    variants: bool = False,
    fused: bool = False,
    **fixed,
) -> Runner:
    """Return the row of one input, whose ``options`` are arguments of the same name.

    ``rows``: an element of the output depends on more than one of the input.
    """

    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
            **({"activation": call.activation()} if fused else {}),
            **{option: call.options[option] for option in options},
            **fixed,
        )

    if rows:
        return Runner(golden=golden, arguments=arguments, stacks=stacks.ROWS)
    return _bytewise(golden, arguments)


def _prelu(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.codes(1),
        input_quantization=call.quantization(0),
        alpha_quantization=call.quantization(1),
        output_quantization=call.output_quantization(),
        reference=call.reference,
    )


def _quantize(call: OperatorCall) -> Arguments:
    x = call.codes(0)
    return Arguments(
        x,
        input_quantization=None if x.dtype == np.float32 else call.quantization(0),
        output_quantization=call.output_quantization(),
    )


def _dequantize(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0), input_quantization=call.quantization(0), reference=call.reference
    )


def _reduction(golden: _Function) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.array(1),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            keep_dims=call.options["keep_dims"],
        )

    return Runner(golden=golden, arguments=arguments, stacks=stacks.AXES_BEHIND)


def _index_of_extreme(golden: _Function) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(call.codes(0), call.array(1), dtype=call.output.dtype.type)

    return Runner(golden=golden, arguments=arguments, stacks=stacks.AXES_BEHIND)


ARITHMETIC: dict[str, Runner] = {
    "ADD": _binary(add),
    "ARG_MAX": _index_of_extreme(reduction.arg_max),
    "ARG_MIN": _index_of_extreme(reduction.arg_min),
    "DEQUANTIZE": _bytewise(dequantize, _dequantize),
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
    "PRELU": _bytewise(prelu, _prelu),
    "QUANTIZE": _bytewise(unary.quantize, _quantize),
    "REDUCE_MAX": _reduction(reduction.reduce_max),
    "REDUCE_MIN": _reduction(reduction.reduce_min),
    "RELU": _unary(unary.relu),
    "RELU6": _unary(unary.relu6, variants=True),
    "RELU_0_TO_1": _unary(unary.relu, activation="RELU_0_TO_1"),
    "RELU_N1_TO_1": _unary(unary.relu, activation="RELU_N1_TO_1"),
    "SOFTMAX": _unary(softmax, "beta", rows=True),
    "SUB": _binary(sub),
    "SUM": _reduction(reduction.sum),
    "TANH": _unary(unary.tanh, variants=True),
}
"""Operators on values; indices and booleans come out of some."""
