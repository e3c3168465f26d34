"""What the lowering of one operator starts from: its tensors, and the accelerator's parameters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eightfold.compiler.exact import CompileError, folded_bias, pair
from eightfold.compiler.steps.step import Temporary
from eightfold.compiler.steps.windowed import Axis
from eightfold.golden.convolution import channel_multipliers
from eightfold.golden.quantization import Quantization, Reference, fused_bounds
from eightfold.golden.windows import Window
from eightfold.model import Graph, Operator
from eightfold.operators import OPERATORS, OperatorCall
from eightfold.target.config import AcceleratorConfig


class Call(OperatorCall):
    """One operator before any inference, and the accelerator that is to compute it.

    ``searched``: channels whose requantization was searched; ``temporaries``: tensors that the
    operator's steps have between them. Every method raises CompileError, InputError or SpecError if
    the hardware does not compute the operator; the message says why.
    """

    def __init__(
        self, graph: Graph, operator: Operator, config: AcceleratorConfig, reference: Reference
    ) -> None:
        super().__init__(graph, operator, reference=reference)
        self.config = config
        self.searched = 0
        self.temporaries: dict[int, Temporary] = {}

    def temporary(self, size: int, content: bytes | None = None) -> int:
        """Return a tensor of ``size`` bytes beyond the graph's, a constant if it has a content."""
        operators = self.graph.operators[-1].index + 1
        number = self.operator.index + len(self.temporaries) * operators
        tensor = len(self.graph.tensors) + number
        self.temporaries[tensor] = Temporary(size, content)
        return tensor

    def golden(self, *arrays: np.ndarray) -> np.ndarray:
        """Return what golden computes with ``arrays`` in place of the first inputs."""
        (result,) = OPERATORS[self.operator.name].run(self.substituted(*arrays))
        return result

    def refuse_floats(self) -> None:
        """Refuse an operator that computes with float32, which only numpy does."""
        definition = OPERATORS.get(self.operator.name)
        for position, tensor in enumerate(self.inputs):
            if definition is None or tensor is None or not definition.operand(position).values:
                continue
            if tensor.dtype == np.float32:
                raise CompileError(f"{tensor} is float32, which the accelerator does not compute")

    def check_accepted(self, images: int | None = 0) -> None:
        """Refuse the operator if golden does for ``images`` of zeros, all if None: of none, cheap.

        A kernel's checks of its constants and options do not depend on the first input's values.
        """
        shape = self.input(0).shape
        if images is not None:
            shape = (images, *shape[1:])
        self.golden(np.zeros(shape, dtype=self.input(0).dtype))

    def weights(self, bias: int = 2) -> tuple[np.ndarray, np.ndarray | None]:
        """Return weights, which are input 1, and bias: its elements, which can have any shape."""
        constants = None if self.tensor(bias) is None else self.constant(bias).reshape(-1)
        return self.constant(1), constants

    def quantizations(self, source: int = 0) -> tuple[Quantization, Quantization, Quantization]:
        """Return the quantization of input, weights and output."""
        return self.quantization(source), self.quantization(1), self.output_quantization()

    def zero_point(self, position: int) -> int:
        """Return the zero point of an input."""
        return self.quantization(position).per_tensor()[1]

    def bounds(self) -> tuple[int, int]:
        """Return what the fused activation leaves of int8, and what rewriting leaves of that."""
        low, high = fused_bounds(self.activation(), self.output_quantization())
        floor, ceiling = self.options.get("clamp", (low, high))
        return min(max(low, floor), ceiling), min(max(high, floor), ceiling)

    def fill(self) -> int:
        """Return the code that a convolution's taps outside of the image have."""
        return self.options.get("fill", self.zero_point(0))

    def layer(self) -> dict[str, int]:
        """Return the parameters that all channels share."""
        low, high = self.bounds()
        zero_point = self.output_quantization().per_tensor()[1]
        return {"zero_point": zero_point, "low": low, "high": high}

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

    def geometry(self, window: Window, **others: Any) -> dict[str, Any]:
        """Return what every operator with a window over images has, and ``others``."""
        rows, columns = (Axis.of(window, axis, self.input(0).shape[1 + axis]) for axis in (0, 1))
        return self.images(rows=rows, columns=columns, **others)

    def images(self, **others: Any) -> dict[str, Any]:
        """Return the first input and the output with their shapes, and ``others``."""
        source, target = self.input(0), self.output
        tensors = {"source": source.index, "target": target.index}
        return {**tensors, "source_shape": source.shape, "target_shape": target.shape, **others}
