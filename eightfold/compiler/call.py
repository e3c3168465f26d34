"""What the lowering of one operator starts from: its tensors, quantizations, geometry."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eightfold.compiler.axis import Axis
from eightfold.compiler.channels import CompileError, folded_bias, pair
from eightfold.execute import quantization_of, window_of
from eightfold.model import Graph, Operator, Tensor
from golden.convolution import channel_multipliers
from golden.quantization import Quantization, Reference, fused_bounds


class Call:
    """One operator of a graph; ``searched`` counts channels whose requantization was searched.

    Raises
    ------
    CompileError
        From every method, if the hardware does not compute the operator; the message says why.
    """

    def __init__(self, graph: Graph, operator: Operator, reference: Reference) -> None:
        self.graph, self.operator = graph, operator
        self.reference: Reference = reference
        self.searched = 0

    @property
    def output(self) -> Tensor:
        """The first result."""
        return self.graph.tensors[self.operator.outputs[0]]

    def input(self, position: int) -> Tensor:
        """Return the tensor of an input that must be there."""
        inputs = self.operator.inputs
        if position >= len(inputs) or inputs[position] < 0:
            raise CompileError(f"input {position} is missing")
        return self.graph.tensors[inputs[position]]

    def check_int8(self, *positions: int) -> None:
        """Refuse the operator if one of these inputs, or the result, is not int8."""
        tensors = [*(self.input(position) for position in positions), self.output]
        if odd := [tensor for tensor in tensors if tensor.dtype != np.int8]:
            raise CompileError(f"{odd[0]} is {odd[0].dtype}, not int8")

    def constant(self, position: int) -> np.ndarray:
        """Return the value of an input that must be constant."""
        tensor = self.input(position)
        if tensor.data is None:
            raise CompileError(f"{tensor} is not constant")
        return tensor.data

    def weights(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return weights and bias."""
        self.check_int8(0, 1)
        absent = len(self.operator.inputs) < 3 or self.operator.inputs[2] < 0
        return self.constant(1), None if absent else self.constant(2)

    def quantizations(self) -> tuple[Quantization, Quantization, Quantization]:
        """Return the quantization of input, weights and output."""
        a, b, output = (quantization_of(t) for t in (self.input(0), self.input(1), self.output))
        return a, b, output

    def zero_point(self, tensor: Tensor) -> int:
        """Return the zero point of a tensor."""
        return quantization_of(tensor).per_tensor()[1]

    def bounds(self) -> tuple[int, int]:
        """Return what the fused activation leaves of int8."""
        activation = self.operator.options.get("fused_activation_function", "NONE")
        return fused_bounds(activation, quantization_of(self.output))

    def layer(self) -> dict[str, int]:
        """Return the parameters that all channels share."""
        low, high = self.bounds()
        return {"zero_point": self.zero_point(self.output), "low": low, "high": high}

    def channels(self, parameters: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return per-channel parameters with those that all channels share."""
        count = len(parameters["bias"])
        shared = {name: np.full(count, value) for name, value in self.layer().items()}
        return {**parameters, **shared}

    def pairs(self, flat: np.ndarray, bias: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return per-channel parameters of a convolution with weights (channels, K)."""
        quantizations = self.quantizations()
        folded = folded_bias(flat, bias, quantizations[0].per_tensor()[1])
        multipliers = pair(*channel_multipliers(*quantizations), len(flat))
        return self.channels({"bias": folded, **multipliers})

    def geometry(self, kernel: tuple[int, ...]) -> dict[str, Any]:
        """Return what every windowed operator has."""
        source, target = self.input(0), self.output
        if len(source.shape) != 4:
            raise CompileError(f"{source} has rank {len(source.shape)}, not 4")
        window = window_of(self.operator, (kernel[0], kernel[1]))
        return {
            "source": source.index,
            "target": target.index,
            "source_shape": source.shape,
            "target_shape": target.shape,
            "rows": Axis.of(window, 0, source.shape[1]),
            "columns": Axis.of(window, 1, source.shape[2]),
        }
