"""Runners of the operators with weights, and of the pools."""

from collections.abc import Callable

import numpy as np

from eightfold.operator_call import OperatorCall, window_of
from eightfold.runners.runner import Runner
from golden.convolution import conv_2d, depthwise_conv_2d
from golden.fully_connected import fully_connected
from golden.pooling import average_pool_2d, max_pool_2d
from golden.transposed_convolution import transpose_conv


def _convolution(function: Callable[..., np.ndarray]) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.int8(1),
            call.optional(2),
            input_quantization=call.quantization(0),
            weight_quantization=call.quantization(1),
            bias_quantization=call.quantization_if_any(2),
            output_quantization=call.output_quantization(),
            window=call.filter_window(),
            activation=call.activation(),
        )

    return Runner(run)


def _fully_connected(call: OperatorCall) -> np.ndarray:
    return fully_connected(
        call.int8(0),
        call.int8(1),
        call.optional(2),
        input_quantization=call.quantization(0),
        weight_quantization=call.quantization(1),
        bias_quantization=call.quantization_if_any(2),
        output_quantization=call.output_quantization(),
        activation=call.activation(),
        keep_num_dims=call.options["keep_num_dims"],
        reference=call.reference,
    )


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


def _pool(function: Callable[..., np.ndarray]) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        size = (call.options["filter_height"], call.options["filter_width"])
        return function(
            call.int8(0),
            window=window_of(call.operator, size),
            output_quantization=call.output_quantization(),
            activation=call.activation(),
        )

    return Runner(run)


MATRIX: dict[str, Runner] = {
    "AVERAGE_POOL_2D": _pool(average_pool_2d),
    "CONV_2D": _convolution(conv_2d),
    "DEPTHWISE_CONV_2D": _convolution(depthwise_conv_2d),
    "FULLY_CONNECTED": Runner(_fully_connected),
    "MAX_POOL_2D": _pool(max_pool_2d),
    "TRANSPOSE_CONV": Runner(_transpose_conv),
}
"""Operators that move a window or multiply by a matrix."""
