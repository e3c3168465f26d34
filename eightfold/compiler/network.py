"""Which operators the lane array computes, and their programs."""

from collections.abc import Callable

import numpy as np

from eightfold.compiler.axis import Axis
from eightfold.compiler.channels import (
    CompileError,
    Parameters,
    double_precision,
    folded_bias,
    pair,
    reachable,
)
from eightfold.compiler.dense import dense, patches
from eightfold.compiler.depthwise import depthwise
from eightfold.compiler.program import LaneProgram, Streams, TableProgram
from eightfold.config import AcceleratorConfig
from eightfold.execute import quantization_of, run_operator, window_of
from eightfold.model import Graph, Operator
from golden.convolution import channel_multipliers
from golden.fully_connected import integer_multipliers
from golden.quantization import effective_scales, fused_bounds

Program = LaneProgram | TableProgram

ONE_BYTE = frozenset(
    {"LOGISTIC", "TANH", "QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"}
)
"""Operators whose every output element is a function of one input element."""

HARDWARE = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"}) | ONE_BYTE
"""Operators that the lane array computes."""


def compile_network(
    graph: Graph, config: AcceleratorConfig, reference: str = "litert"
) -> tuple[dict[int, Program], dict[int, str]]:
    """Return programs by operator index, and for every other operator why it stays in golden."""
    programs: dict[int, Program] = {}
    reasons: dict[int, str] = {}
    for operator in graph.operators:
        try:
            programs[operator.index] = _Compiler(graph, operator, config, reference).compile()
        except CompileError as error:
            reasons[operator.index] = str(error)
    return programs, reasons


class _Compiler:
    """Compiles one operator."""

    def __init__(
        self, graph: Graph, operator: Operator, config: AcceleratorConfig, reference: str
    ) -> None:
        self.graph = graph
        self.operator = operator
        self.config = config
        self.reference = reference

    def compile(self) -> Program:
        """Return the operator's program.

        Raises
        ------
        CompileError
            If the hardware does not compute it, or cannot be proved to do so exactly.
        """
        lower: dict[str, Callable[[], Program]] = {
            "CONV_2D": self._conv_2d,
            "DEPTHWISE_CONV_2D": self._depthwise_conv_2d,
            "FULLY_CONNECTED": self._fully_connected,
        }
        name = self.operator.name
        if name not in HARDWARE:
            raise CompileError(f"the lane array has no {name}")
        tensors = [self.graph.tensors[self.operator.inputs[0]], self._output]
        if odd := [tensor for tensor in tensors if tensor.dtype != np.int8]:
            raise CompileError(f"tensor {odd[0].index} ({odd[0].name}) is {odd[0].dtype}, not int8")
        return lower.get(name, self._table)()

    @property
    def _output(self):
        return self.graph.tensors[self.operator.outputs[0]]

    def _constants(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return weights and bias; the lanes need them before the program is made."""
        inputs = [*self.operator.inputs, -1][1:3]
        tensors = [self.graph.tensors[index] if index >= 0 else None for index in inputs]
        for tensor in tensors:
            if tensor is not None and tensor.data is None:
                raise CompileError(f"tensor {tensor.index} ({tensor.name}) is not constant")
        weights, bias = tensors
        assert weights is not None and weights.data is not None
        if weights.dtype != np.int8:
            raise CompileError(f"tensor {weights.index} ({weights.name}) is {weights.dtype}")
        return weights.data, bias.data if bias is not None else None

    def _quantizations(self):
        """Return the quantization of input, weights and output."""
        indices = (*self.operator.inputs[:2], self.operator.outputs[0])
        return tuple(quantization_of(self.graph.tensors[index]) for index in indices)

    def _conv_2d(self) -> LaneProgram:
        weights, bias = self._constants()
        shape = self.graph.tensors[self.operator.inputs[0]].shape
        rows, columns = self._axes(weights.shape[1:3], shape)
        outputs, depth = weights.shape[0], weights.shape[3]
        groups = shape[3] // depth
        per_group = outputs // groups
        flat = weights.reshape(outputs, -1)
        parts = [
            dense(
                self.config,
                patches(shape, rows, columns, range(g * depth, (g + 1) * depth)),
                flat[g * per_group : (g + 1) * per_group],
                g * per_group,
                outputs,
            )
            for g in range(groups)
        ]
        return self._program(Streams.concatenate(parts), self._pair_parameters(flat, bias))

    def _depthwise_conv_2d(self) -> LaneProgram:
        weights, bias = self._constants()
        shape = self.graph.tensors[self.operator.inputs[0]].shape
        rows, columns = self._axes(weights.shape[1:3], shape)
        streams = depthwise(self.config, shape, weights[0], rows, columns)
        flat = weights[0].reshape(-1, weights.shape[3]).T
        return self._program(streams, self._pair_parameters(flat, bias))

    def _fully_connected(self) -> LaneProgram:
        weights, bias = self._constants()
        quantizations = self._quantizations()
        inputs, filters, output = quantizations
        if filters.scale.size == 1 and filters.zero_point[0] != 0:
            raise CompileError(f"weights have the zero point {filters.zero_point[0]}, not 0")
        outputs, size = weights.shape
        elements = int(np.prod(self.graph.tensors[self.operator.inputs[0]].shape))
        source = np.arange(elements).reshape(-1, size)
        streams = dense(self.config, source, weights, 0, outputs)
        folded = folded_bias(weights, bias, inputs.per_tensor()[1])
        if self.reference == "tflm":
            return self._program(
                streams, {"bias": folded, **pair(*integer_multipliers(*quantizations), outputs)}
            )
        fields, searched = double_precision(
            np.broadcast_to(effective_scales(*quantizations), (outputs,)),
            output.per_tensor()[1],
            self._bounds(),
            reachable(weights, folded),
        )
        return self._program(streams, {"bias": folded, **fields}, searched)

    def _table(self) -> TableProgram:
        every_byte = np.arange(256, dtype=np.uint8).view(np.int8)
        values = {self.operator.inputs[0]: every_byte}
        entries = run_operator(self.graph, self.operator, values, self.reference)[0]
        return TableProgram(config=self.config, entries=entries, output_shape=self._output.shape)

    def _axes(self, kernel: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Axis, Axis]:
        window = window_of(self.operator, (kernel[0], kernel[1]))
        return Axis.of(window, 0, shape[1]), Axis.of(window, 1, shape[2])

    def _bounds(self) -> tuple[int, int]:
        activation = self.operator.options["fused_activation_function"]
        return fused_bounds(activation, quantization_of(self._output))

    def _pair_parameters(self, weights: np.ndarray, bias: np.ndarray | None) -> Parameters:
        """Return per-channel parameters of a convolution, weights as (channels, K)."""
        quantizations = self._quantizations()
        folded = folded_bias(weights, bias, quantizations[0].per_tensor()[1])
        return {"bias": folded, **pair(*channel_multipliers(*quantizations), len(weights))}

    def _program(self, streams: Streams, parameters: Parameters, searched: int = 0) -> LaneProgram:
        low, high = self._bounds()
        channels = len(parameters["bias"])
        layer = {
            "zero_point": quantization_of(self._output).per_tensor()[1],
            "low": low,
            "high": high,
        }
        shared = {name: np.full(channels, value) for name, value in layer.items()}
        source = quantization_of(self.graph.tensors[self.operator.inputs[0]])
        return LaneProgram(
            config=self.config,
            streams=streams,
            parameters={**parameters, **shared},
            output_shape=self._output.shape,
            fill=source.per_tensor()[1],
            searched=searched,
        )
