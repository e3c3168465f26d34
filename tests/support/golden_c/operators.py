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
    geometry = zip(window.kernel, window.stride, window.dilation, strict=True)
    axes = [c.Axis(*fields) for fields in geometry]
    return c.Window(*axes, {"SAME": 0, "VALID": 1}[window.padding])


def _weighted(
    library: Library,
    name: str,
    call: OperatorCall,
    *first: object,
    sizes: tuple[int, int],
    window: object = None,
) -> Result:
    """Run an operator with a filter of so many outputs and depth; ``first`` is before its input."""
    source, weights = (np.asarray(call.codes(position), order="C") for position in (0, 1))
    bias, output = call.optional(2), _output(call)
    quantization = call.quantization(1)
    scales = np.asarray(quantization.scale, dtype=np.float32, order="C")
    zero_point = int(quantization.zero_point[0])
    filters = c.Filter(pointer(weights), *sizes, pointer(scales), scales.size, zero_point)
    status = library.call(
        name,
        *first,
        pointer(source),
        ctypes.byref(_quantization(call, 0)),
        ctypes.byref(filters),
        None if bias is None else pointer(np.asarray(bias, order="C")),
        *(() if window is None else (window,)),
        _activation(call),
        ctypes.byref(_quantization(call, None)),
        pointer(output),
    )
    return status, output


def _conv_2d(library: Library, call: OperatorCall) -> Result:
    outputs, *_, depth = call.codes(1).shape
    return _convolution(library, "conv_2d", call, (outputs, depth))


def _depthwise_conv_2d(library: Library, call: OperatorCall) -> Result:
    return _convolution(library, "depthwise_conv_2d", call, (call.codes(1).shape[3], 0))


def _convolution(library: Library, name: str, call: OperatorCall, sizes: tuple[int, int]) -> Result:
    image = ctypes.byref(c.Image(*call.codes(0).shape))
    window = ctypes.byref(window_in_c(call.filter_window()))
    return _weighted(library, name, call, image, sizes=sizes, window=window)


def _fully_connected(library: Library, call: OperatorCall) -> Result:
    outputs, depth = call.codes(1).shape
    rows = call.codes(0).size // depth
    first = (_reference(call), rows)
    return _weighted(library, "fully_connected", call, *first, sizes=(outputs, depth))


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
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
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
