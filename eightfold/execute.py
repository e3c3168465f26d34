"""Run one operator of a graph in numpy: operator names and options to the functions of golden."""

from collections.abc import Callable, Mapping

import numpy as np

from eightfold.errors import InputError
from eightfold.model.graph import Graph, Operator
from eightfold.operator_call import OperatorCall, quantization_of, window_of
from golden.binary import add, mul, sub
from golden.convolution import conv_2d, depthwise_conv_2d
from golden.errors import SpecError
from golden.fully_connected import fully_connected
from golden.movement import pad, reshape
from golden.pooling import average_pool_2d, max_pool_2d
from golden.reduction import mean
from golden.softmax import softmax
from golden.unary import logistic, quantize, relu, tanh

__all__ = ["SUPPORTED", "quantization_of", "run_operator", "window_of"]

_Runner = Callable[[OperatorCall], np.ndarray]


def run_operator(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    reference: str = "litert",
) -> list[np.ndarray]:
    """Return the outputs of an operator, in its order.

    Parameters
    ----------
    graph
        The graph; constants are taken from it.
    operator
        One of its operators, of a name in `SUPPORTED`.
    values
        The tensors that are no constants, by index. Shapes come from the arrays, not the graph.
    reference
        ``litert`` or ``tflm``: whose kernels to equal where they differ.

    Raises
    ------
    InputError
        If the operator is not supported, its tensors do not fit, or the reference kernels would
        reject it, abort, or compute what C++ leaves undefined. Names index and operator.
    """
    if reference != "litert" and reference != "tflm":
        raise InputError(f"reference must be litert or tflm, not {reference!r}")
    if operator.name not in _RUNNERS:
        raise InputError(f"{operator}: not supported; supported are {', '.join(sorted(SUPPORTED))}")
    try:
        call = OperatorCall(graph, operator, values, reference)
        return [_RUNNERS[operator.name](call)]
    except (SpecError, InputError) as error:
        raise InputError(f"{operator}: {error}") from None


def _conv_2d(call: OperatorCall) -> np.ndarray:
    return conv_2d(
        call.int8(0),
        call.int8(1),
        call.optional(2),
        input_quantization=call.quantization(0),
        weight_quantization=call.quantization(1),
        bias_quantization=call.bias_quantization(),
        output_quantization=call.output_quantization(),
        window=call.filter_window(),
        activation=call.activation(),
    )


def _depthwise_conv_2d(call: OperatorCall) -> np.ndarray:
    return depthwise_conv_2d(
        call.int8(0),
        call.int8(1),
        call.optional(2),
        input_quantization=call.quantization(0),
        weight_quantization=call.quantization(1),
        bias_quantization=call.bias_quantization(),
        output_quantization=call.output_quantization(),
        window=call.filter_window(),
        activation=call.activation(),
    )


def _fully_connected(call: OperatorCall) -> np.ndarray:
    return fully_connected(
        call.int8(0),
        call.int8(1),
        call.optional(2),
        input_quantization=call.quantization(0),
        weight_quantization=call.quantization(1),
        bias_quantization=call.bias_quantization(),
        output_quantization=call.output_quantization(),
        activation=call.activation(),
        keep_num_dims=call.options["keep_num_dims"],
        reference=call.reference,
    )


def _binary(function: Callable[..., np.ndarray], *, variants: bool) -> _Runner:
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

    return run


def _unary(function: Callable[..., np.ndarray], *, variants: bool = False, **fixed) -> _Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
            **fixed,
        )

    return run


def _pool(function: Callable[..., np.ndarray]) -> _Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            window=call.pool_window(),
            output_quantization=call.output_quantization(),
            activation=call.activation(),
        )

    return run


def _softmax(call: OperatorCall) -> np.ndarray:
    return _unary(softmax, beta=call.options["beta"])(call)


def _mean(call: OperatorCall) -> np.ndarray:
    return mean(
        call.int8(0),
        call.integers(1, np.int32),
        input_quantization=call.quantization(0),
        output_quantization=call.output_quantization(),
        keep_dims=call.options["keep_dims"],
    )


def _pad(call: OperatorCall) -> np.ndarray:
    return pad(
        call.int8(0),
        call.integers(1, np.int32, np.int64),
        output_quantization=call.output_quantization(),
    )


def _reshape(call: OperatorCall) -> np.ndarray:
    # A second input counts instead of the option, but only as an int32 vector.
    given = call.optional(1)
    if given is not None and given.ndim == 1 and given.dtype == np.int32:
        return reshape(call.int8(0), given.tolist())
    shape = list(call.options["new_shape"])
    # Old converters wrote the shape of a scalar as [0].
    return reshape(call.int8(0), [] if shape == [0] else shape)


_RUNNERS: dict[str, _Runner] = {
    "ADD": _binary(add, variants=False),
    "AVERAGE_POOL_2D": _pool(average_pool_2d),
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "FULLY_CONNECTED": _fully_connected,
    "LOGISTIC": _unary(logistic, variants=True),
    "MAX_POOL_2D": _pool(max_pool_2d),
    "MEAN": _mean,
    "MUL": _binary(mul, variants=True),
    "PAD": _pad,
    "QUANTIZE": _unary(quantize),
    "RELU": _unary(relu),
    "RELU6": _unary(relu, activation="RELU6"),
    "RELU_0_TO_1": _unary(relu, activation="RELU_0_TO_1"),
    "RELU_N1_TO_1": _unary(relu, activation="RELU_N1_TO_1"),
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
    "SUB": _binary(sub, variants=True),
    "TANH": _unary(tanh, variants=True),
}

SUPPORTED: frozenset[str] = frozenset(_RUNNERS)
"""Names of the operators that `run_operator` runs."""
