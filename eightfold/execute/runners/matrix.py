"""Rows of the operators with weights, and of the pools."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import stacks
from eightfold.execute.runners.runner import Arguments, Runner
from eightfold.execute.runners.stacks import Stacks
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

_Function = Callable[..., np.ndarray]
_Prepare = Callable[..., _Function | None]
_Macs = Callable[[OperatorCall], int]


def _filter_macs(call: OperatorCall) -> int:
    """Count output elements times the taps of a filter (output channels, ...)."""
    return prod(call.output.shape) * prod(call.input(1).shape[1:])


def _depthwise_macs(call: OperatorCall) -> int:
    """Count output elements times height and width of a kernel (1, height, width, channels)."""
    return prod(call.output.shape) * prod(call.input(1).shape[1:3])


def _transposed_macs(call: OperatorCall) -> int:
    """Count input elements times the taps of a filter per input channel, its last axis."""
    return prod(call.input(2).shape) * prod(call.input(1).shape[:3])


def _convolution_options(call: OperatorCall) -> dict[str, Any]:
    return {"window": call.filter_window()}


def _fully_connected_options(call: OperatorCall) -> dict[str, Any]:
    return {"keep_num_dims": call.options["keep_num_dims"], "reference": call.reference}


def _weighted(
    golden: _Function,
    prepare: _Prepare,
    options: Callable[[OperatorCall], dict[str, Any]],
    *,
    stacks: Stacks,
    macs: _Macs,
) -> Runner:
    """Return the row of input, filter and bias; prepared if the latter two are constants."""

    def named(call: OperatorCall) -> dict[str, Any]:
        return {
            "input_quantization": call.quantization(0),
            "weight_quantization": call.quantization(1),
            "output_quantization": call.output_quantization(),
            "activation": call.activation(),
            **options(call),
        }

    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.codes(1),
            call.optional(2),
            bias_quantization=call.quantization_if_any(2),
            **named(call),
        )

    def prepared(call: OperatorCall) -> _Function | None:
        if call.is_constant(0) or call.is_computed(1) or call.is_computed(2):
            return None
        return prepare(call.codes(0).shape, call.codes(1), call.optional(2), **named(call))

    return Runner(golden=golden, arguments=arguments, stacks=stacks, macs=macs, prepare=prepared)


def _transpose_conv(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(2),
        call.codes(1),
        call.optional(3),
        output_shape=call.vector(0),
        input_quantization=call.quantization(2),
        weight_quantization=call.quantization(1),
        bias_quantization=call.quantization_if_any(3),
        output_quantization=call.output_quantization(),
        window=call.filter_window(),
        activation=call.activation(),
    )


def _pool(golden: _Function, prepare: _Prepare) -> Runner:
    def named(call: OperatorCall) -> dict[str, Any]:
        return {
            "window": call.pool_window(),
            "output_quantization": call.output_quantization(),
            "activation": call.activation(),
        }

    def prepared(call: OperatorCall) -> _Function | None:
        if call.is_constant(0):
            return None
        return prepare(call.codes(0).shape, **named(call))

    return Runner(
        golden=golden,
        arguments=lambda call: Arguments(call.codes(0), **named(call)),
        stacks=stacks.IMAGES,
        prepare=prepared,
    )


MATRIX: dict[str, Runner] = {
    "AVERAGE_POOL_2D": _pool(average_pool_2d, prepare_average_pool_2d),
    "CONV_2D": _weighted(
        conv_2d,
        prepare_conv_2d,
        _convolution_options,
        stacks=stacks.IMAGES,
        macs=_filter_macs,
    ),
    "DEPTHWISE_CONV_2D": _weighted(
        depthwise_conv_2d,
        prepare_depthwise_conv_2d,
        _convolution_options,
        stacks=stacks.IMAGES,
        macs=_depthwise_macs,
    ),
    "FULLY_CONNECTED": _weighted(
        fully_connected,
        prepare_fully_connected,
        _fully_connected_options,
        stacks=stacks.WHOLE_ROWS,
        macs=_filter_macs,
    ),
    "MAX_POOL_2D": _pool(max_pool_2d, prepare_max_pool_2d),
    "TRANSPOSE_CONV": Runner(
        golden=transpose_conv, arguments=_transpose_conv, stacks=None, macs=_transposed_macs
    ),
}
"""Operators that move a window or multiply by a matrix."""
