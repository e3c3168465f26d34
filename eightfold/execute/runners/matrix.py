"""Runners of the operators with weights, and of the pools."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eightfold.execute.call import OperatorCall, window_of
from eightfold.execute.runners.runner import Runner
from eightfold.golden.convolution import conv_2d, depthwise_conv_2d
from eightfold.golden.fully_connected import fully_connected
from eightfold.golden.pooling import (
    average_pool_2d,
    max_pool_2d,
    prepare_average_pool_2d,
    prepare_max_pool_2d,
)
from eightfold.golden.prepared.weighted import (
    prepare_conv_2d,
    prepare_depthwise_conv_2d,
    prepare_fully_connected,
)
from eightfold.golden.transposed_convolution import transpose_conv

_Prepare = Callable[..., Callable[..., np.ndarray] | None]


def _convolution(function: Callable[..., np.ndarray], prepare: _Prepare) -> Runner:
    def arguments(call: OperatorCall) -> dict[str, Any]:
        return {
            "input_quantization": call.quantization(0),
            "weight_quantization": call.quantization(1),
            "output_quantization": call.output_quantization(),
            "window": call.filter_window(),
            "activation": call.activation(),
        }

    return _weighted(function, prepare, arguments)


def _fully_connected_arguments(call: OperatorCall) -> dict[str, Any]:
    return {
        "input_quantization": call.quantization(0),
        "weight_quantization": call.quantization(1),
        "output_quantization": call.output_quantization(),
        "activation": call.activation(),
        "keep_num_dims": call.options["keep_num_dims"],
        "reference": call.reference,
    }


def _weighted(
    function: Callable[..., np.ndarray],
    prepare: _Prepare,
    arguments: Callable[[OperatorCall], dict[str, Any]],
) -> Runner:
    """Return the runner of input, filter and bias; prepared if the latter two are constants."""

    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.int8(1),
            call.optional(2),
            bias_quantization=call.quantization_if_any(2),
            **arguments(call),
        )

    def prepared(call: OperatorCall) -> Callable[..., np.ndarray] | None:
        fixed = call.is_constant(1) and (call.tensor(2) is None or call.is_constant(2))
        if call.is_constant(0) or not fixed:
            return None
        return prepare(call.int8(0).shape, call.int8(1), call.optional(2), **arguments(call))

    return Runner(run, prepare=prepared)


def _transpose_conv(call: OperatorCall) -> np.ndarray:
    return transpose_conv(
        call.int8(2),
        call.int8(1),
        call.optional(3),
        output_shape=call.vector(0, np.int32),
        input_quantization=call.quantization(2),
        weight_quantization=call.quantization(1),
        bias_quantization=call.quantization_if_any(3),
        output_quantization=call.output_quantization(),
        window=call.filter_window(),
        activation=call.activation(),
    )


def _pool(function: Callable[..., np.ndarray], prepare: _Prepare | None = None) -> Runner:
    def arguments(call: OperatorCall) -> dict[str, Any]:
        size = (call.options["filter_height"], call.options["filter_width"])
        return {
            "window": window_of(call.operator, size),
            "output_quantization": call.output_quantization(),
            "activation": call.activation(),
        }

    def prepared(call: OperatorCall) -> Callable[..., np.ndarray] | None:
        if prepare is None or call.is_constant(0):
            return None
        return prepare(call.int8(0).shape, **arguments(call))

    return Runner(lambda call: function(call.int8(0), **arguments(call)), prepare=prepared)


MATRIX: dict[str, Runner] = {
    "AVERAGE_POOL_2D": _pool(average_pool_2d, prepare_average_pool_2d),
    "CONV_2D": _convolution(conv_2d, prepare_conv_2d),
    "DEPTHWISE_CONV_2D": _convolution(depthwise_conv_2d, prepare_depthwise_conv_2d),
    "FULLY_CONNECTED": _weighted(
        fully_connected, prepare_fully_connected, _fully_connected_arguments
    ),
    "MAX_POOL_2D": _pool(max_pool_2d, prepare_max_pool_2d),
    "TRANSPOSE_CONV": Runner(_transpose_conv),
}
"""Operators that move a window or multiply by a matrix."""
