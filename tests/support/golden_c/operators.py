"""Operators of a graph on the C library: what `eightfold.operators.run_operator` is to golden."""

import ctypes
from collections.abc import Callable, Mapping

import numpy as np

from eightfold.golden.quantization import Reference
from eightfold.golden.reduction import reduced_axes
from eightfold.golden.windows import Window
from eightfold.model.graph import Graph, Operator
from eightfold.operators import OperatorCall
from tests.support.golden_c import library as c
from tests.support.golden_c.library import Library, pointer

REFERENCES: dict[str, int] = {"litert": 0, "tflm": 1}
ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "RELU_0_TO_1": 4}

Result = tuple[int, np.ndarray]
"""Status and output."""


def run_in_c(
    library: Library,
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    reference: Reference = "litert",
) -> Result:
    """Return status and output of one operator; parameters as those of `run_operator`."""
    call = OperatorCall(graph, operator, values, reference)
    return RUNNERS[operator.name](library, call)


def _quantization(call: OperatorCall, position: int | None) -> ctypes.Structure:
    """Return an input's scale and zero point, the output's for None."""
    found = call.output_quantization() if position is None else call.quantization(position)
    scale, zero_point = found.per_tensor()
    return c.Quantization(float(scale), zero_point)


def _activation(call: OperatorCall) -> int:
    return ACTIVATIONS.get(call.activation(), 0)


def _output(call: OperatorCall) -> np.ndarray:
    return np.full(call.output.shape, 99, dtype=np.int8)


def _table(name: str, *first: Callable[[OperatorCall], object]) -> Callable[..., Result]:
    """Return the runner of a function of one byte; ``first`` are its arguments before the scales.

    A float is given as `ctypes.c_float`.
    """

    def run(library: Library, call: OperatorCall) -> Result:
        table, output = np.zeros(256, dtype=np.int8), _output(call)
        source = np.asarray(call.codes(0), order="C")
        scales = [ctypes.byref(_quantization(call, position)) for position in (0, None)]
        arguments = [argument(call) for argument in first]
        status = library.call(f"{name}_table", *arguments, *scales, pointer(table))
        if status == 0:
            library.functions.eightfold_look_up(
                pointer(table), pointer(source), ctypes.c_size_t(source.size), pointer(output)
            )
        return status, output

    return run


def _reference(call: OperatorCall) -> int:
    return REFERENCES[call.reference]


def _relu(activation: str) -> Callable[..., Result]:
    return _table("relu", lambda _: ACTIVATIONS[activation], _reference)


def _binary(name: int) -> Callable[..., Result]:
    def run(library: Library, call: OperatorCall) -> Result:
        binary, output = c.Binary(), _output(call)
        scales = [ctypes.byref(_quantization(call, position)) for position in (0, 1, None)]
        status = library.call(
            "prepare_binary",
            ctypes.byref(binary),
            name,
            _reference(call),
            *scales,
            _activation(call),
        )
        if status:
            return status, output
        arrays = [np.asarray(call.codes(position), order="C") for position in (0, 1)]
        rank = max(array.ndim for array in arrays)
        operands: list[object] = []
        for array in arrays:
            shape = [1] * (rank - array.ndim) + list(array.shape)
            operands += [(ctypes.c_int32 * rank)(*shape), pointer(array)]
        status = library.call(
            "binary_broadcast", ctypes.byref(binary), rank, *operands, pointer(output)
        )
        return status, output

    return run


def window_in_c(window: Window) -> ctypes.Structure:
    """Return a window as the library takes it."""
    axes = [c.Axis(*fields) for fields in zip(*_geometry(window), strict=True)]
    return c.Window(*axes, {"SAME": 0, "VALID": 1}[window.padding])


def _geometry(window: Window) -> tuple[tuple[int, int], ...]:
    return window.kernel, window.stride, window.dilation


def _filter(call: OperatorCall, weights: np.ndarray, outputs: int, depth: int) -> tuple:
    """Return the filter's structure, and its scales, which must live as long."""
    quantization = call.quantization(1)
    scales = np.asarray(quantization.scale, dtype=np.float32, order="C")
    zero_point = int(quantization.zero_point[0])
    fields = (pointer(weights), outputs, depth, pointer(scales), scales.size, zero_point)
    return c.Filter(*fields), scales


def _bias(call: OperatorCall) -> np.ndarray | None:
    bias = call.optional(2)
    return None if bias is None else np.asarray(bias, order="C")


def _convolution(name: str, *, depthwise: bool) -> Callable[..., Result]:
    def run(library: Library, call: OperatorCall) -> Result:
        source, weights = (np.asarray(call.codes(position), order="C") for position in (0, 1))
        bias, output = _bias(call), _output(call)
        outputs = weights.shape[3 if depthwise else 0]
        filters, _scales = _filter(call, weights, outputs, 0 if depthwise else weights.shape[3])
        status = library.call(
            name,
            ctypes.byref(c.Image(*source.shape)),
            pointer(source),
            ctypes.byref(_quantization(call, 0)),
            ctypes.byref(filters),
            pointer(bias),
            ctypes.byref(window_in_c(call.filter_window())),
            _activation(call),
            ctypes.byref(_quantization(call, None)),
            pointer(output),
        )
        return status, output

    return run


def _fully_connected(library: Library, call: OperatorCall) -> Result:
    source, weights = (np.asarray(call.codes(position), order="C") for position in (0, 1))
    bias, output = _bias(call), _output(call)
    filters, _scales = _filter(call, weights, *weights.shape)
    status = library.call(
        "fully_connected",
        _reference(call),
        source.size // weights.shape[1],
        pointer(source),
        ctypes.byref(_quantization(call, 0)),
        ctypes.byref(filters),
        pointer(bias),
        _activation(call),
        ctypes.byref(_quantization(call, None)),
        pointer(output),
    )
    return status, output


def _pool(name: str) -> Callable[..., Result]:
    def run(library: Library, call: OperatorCall) -> Result:
        source, output = np.asarray(call.codes(0), order="C"), _output(call)
        status = library.call(
            name,
            ctypes.byref(c.Image(*source.shape)),
            pointer(source),
            ctypes.byref(window_in_c(call.pool_window())),
            _activation(call),
            ctypes.byref(_quantization(call, None)),
            pointer(output),
        )
        return status, output

    return run


def _reduction(name: str) -> Callable[..., Result]:
    def run(library: Library, call: OperatorCall) -> Result:
        source, output = np.asarray(call.codes(0), order="C"), _output(call)
        axes = sum(1 << axis for axis in reduced_axes(call.array(1), source.ndim))
        status = library.call(
            name,
            source.ndim,
            (ctypes.c_int32 * source.ndim)(*source.shape),
            ctypes.c_uint32(axes),
            pointer(source),
            ctypes.byref(_quantization(call, 0)),
            ctypes.byref(_quantization(call, None)),
            pointer(output),
        )
        return status, output

    return run


RUNNERS: dict[str, Callable[[Library, OperatorCall], Result]] = {
    "ADD": _binary(0),
    "AVERAGE_POOL_2D": _pool("average_pool_2d"),
    "CONV_2D": _convolution("conv_2d", depthwise=False),
    "DEPTHWISE_CONV_2D": _convolution("depthwise_conv_2d", depthwise=True),
    "FULLY_CONNECTED": _fully_connected,
    "LEAKY_RELU": _table("leaky_relu", lambda call: ctypes.c_float(call.options["alpha"])),
    "LOGISTIC": _table("logistic", _reference),
    "MAX_POOL_2D": _pool("max_pool_2d"),
    "MEAN": _reduction("mean"),
    "MUL": _binary(2),
    "QUANTIZE": _table("quantize"),
    "RELU": _relu("RELU"),
    "RELU6": _relu("RELU6"),
    "RELU_0_TO_1": _relu("RELU_0_TO_1"),
    "RELU_N1_TO_1": _relu("RELU_N1_TO_1"),
    "SUB": _binary(1),
    "SUM": _reduction("sum"),
    "TANH": _table("tanh", _reference),
}
"""The operators that the library computes."""
