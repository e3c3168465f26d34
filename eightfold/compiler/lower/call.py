"""What the lowering of one operator starts from: its tensors, quantizations, geometry."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from eightfold.compiler.exact.channels import CompileError, folded_bias, pair
from eightfold.compiler.steps.axis import Axis
from eightfold.compiler.steps.temporary import Temporary
from eightfold.config import AcceleratorConfig
from eightfold.execute import quantization_of, window_of
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.golden.convolution import channel_multipliers
from eightfold.golden.quantization import Quantization, Reference, fused_bounds
from eightfold.model import Graph, Operator, Tensor


class Call:
    """One operator of a graph, and the accelerator that is to compute it.

    Attributes
    ----------
    searched
        Channels whose requantization was searched.
    temporaries
        Tensors that the operator's steps have between them.

    Raises
    ------
    CompileError
        From every method, if the hardware does not compute the operator; the message says why.
    """

    def __init__(
        self, graph: Graph, operator: Operator, config: AcceleratorConfig, reference: Reference
    ) -> None:
        self.graph, self.operator, self.config = graph, operator, config
        self.reference: Reference = reference
        self.searched = 0
        self.temporaries: dict[int, Temporary] = {}

    @property
    def output(self) -> Tensor:
        """The first result."""
        return self.graph.tensors[self.operator.outputs[0]]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All results."""
        return tuple(self.graph.tensors[index] for index in self.operator.outputs)

    def temporary(self, size: int, content: bytes | None = None) -> int:
        """Return a tensor of ``size`` bytes beyond the graph's, a constant if it has a content."""
        number = self.operator.index + len(self.temporaries) * len(self.graph.operators)
        tensor = len(self.graph.tensors) + number
        self.temporaries[tensor] = Temporary(size, content)
        return tensor

    def golden(self, *arrays: np.ndarray) -> np.ndarray:
        """Return what golden computes with ``arrays`` in place of the first inputs."""
        call = OperatorCall(self.graph, self.operator, {}, self.reference)
        runner = RUNNERS[self.operator.name]
        call.check_outputs(runner.outputs, runner.several)
        result = runner.run(call.substituted(*arrays))
        assert not isinstance(result, list)
        return result

    def check_accepted(self, images: int | None = 0) -> None:
        """Refuse the operator if golden does for ``images`` of zeros, all if None: of none, cheap.

        A kernel's checks of its constants and options do not depend on the first input's values.
        """
        shape = self.input(0).shape
        if images is not None:
            shape = (images, *shape[1:])
        self.golden(np.zeros(shape, dtype=self.input(0).dtype))

    def input(self, position: int) -> Tensor:
        """Return the tensor of an input that must be there."""
        inputs = self.operator.inputs
        if position >= len(inputs) or inputs[position] < 0:
            raise CompileError(f"input {position} is missing")
        return self.graph.tensors[inputs[position]]

    def check_int8(self, *positions: int, output: type[np.generic] = np.int8) -> None:
        """Refuse the operator if one of these inputs is not int8, or the result not ``output``."""
        self.check_types([np.int8], *(self.input(position) for position in positions))
        self.check_types([output], self.output)

    def check_types(self, dtypes: Collection[type[np.generic]], *tensors: Tensor) -> None:
        """Refuse the operator if a tensor is not of one of these types."""
        for tensor in tensors:
            if tensor.dtype.type not in dtypes:
                names = " or ".join(dtype.__name__ for dtype in dtypes)
                raise CompileError(f"{tensor} is {tensor.dtype}, not {names}")

    def constant(self, position: int) -> np.ndarray:
        """Return the value of an input that must be constant."""
        tensor = self.input(position)
        if tensor.data is None:
            raise CompileError(f"{tensor} is not constant")
        return tensor.data

    def weights(self, source: int = 0, bias: int = 2) -> tuple[np.ndarray, np.ndarray | None]:
        """Return weights, which are input 1, and bias."""
        self.check_int8(source, 1)
        absent = len(self.operator.inputs) <= bias or self.operator.inputs[bias] < 0
        return self.constant(1), None if absent else self.constant(bias)

    def quantizations(self, source: int = 0) -> tuple[Quantization, Quantization, Quantization]:
        """Return the quantization of input, weights and output."""
        a, b, output = map(quantization_of, (self.input(source), self.input(1), self.output))
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

    def pairs(
        self, flat: np.ndarray, bias: np.ndarray | None, source: int = 0
    ) -> dict[str, np.ndarray]:
        """Return per-channel parameters of a convolution with weights (channels, K)."""
        quantizations = self.quantizations(source)
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
