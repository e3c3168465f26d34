"""What one operator of a graph works on: arrays, quantizations, windows, as golden takes them."""

from collections.abc import Mapping

import numpy as np

from eightfold.errors import InputError
from eightfold.model.graph import Graph, Operator, Tensor
from golden.quantization import Quantization, Reference
from golden.windows import Window


def quantization_of(tensor: Tensor) -> Quantization:
    """Return a tensor's quantization as golden takes it: no axis if there is one scale.

    Raises
    ------
    InputError
        If the tensor is not quantized.
    """
    quantization = tensor.quantization
    if quantization is None:
        raise InputError(f"{tensor} has no scale and zero point; quantize the model to int8")
    per_axis = len(quantization.scale) > 1
    return Quantization(
        scale=quantization.scale,
        zero_point=quantization.zero_point,
        axis=quantization.axis if per_axis else None,
    )


def window_of(operator: Operator, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool from its options; pools have no dilation.

    Raises
    ------
    golden.errors.RejectedError
        If a size is below 1.
    """
    options = operator.options
    return Window(
        kernel=kernel,
        stride=(options["stride_h"], options["stride_w"]),
        dilation=(options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)),
        padding=options["padding"],
    )


class OperatorCall:
    """The arrays, quantizations and options of one operator.

    Parameters
    ----------
    graph, operator, values, reference
        As `eightfold.execute.run_operator` takes them.

    Raises
    ------
    InputError
        From every method: if a tensor is absent, has no value or quantization, or another dtype
        than the operator works on. The message does not name the operator.
    """

    def __init__(
        self,
        graph: Graph,
        operator: Operator,
        values: Mapping[int, np.ndarray],
        reference: Reference,
    ) -> None:
        self.operator = operator
        self.options = operator.options
        self.reference: Reference = reference
        self._graph = graph
        self._values = values
        if len(operator.outputs) != 1:
            raise InputError(f"has {len(operator.outputs)} outputs, not 1")
        self._output = graph.tensors[operator.outputs[0]]
        if self._output.dtype != np.int8:
            raise InputError(f"{self._output} is {self._output.dtype}, not int8")

    def tensor(self, position: int) -> Tensor | None:
        """Return the tensor of an input; None if it is absent."""
        inputs = self.operator.inputs
        index = inputs[position] if position < len(inputs) else -1
        return self._graph.tensors[index] if index >= 0 else None

    def optional(self, position: int) -> np.ndarray | None:
        """Return an input's array; None if it is absent."""
        tensor = self.tensor(position)
        if tensor is None:
            return None
        if tensor.data is not None:
            return tensor.data
        if tensor.index not in self._values:
            raise InputError(f"{tensor} has no value")
        return self._values[tensor.index]

    def array(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there."""
        array = self.optional(position)
        if array is None:
            raise InputError(f"input {position} is absent")
        return array

    def int8(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there and int8."""
        array = self.array(position)
        if array.dtype != np.int8:
            raise InputError(f"{self.tensor(position)} is {array.dtype}, not int8")
        return array

    def integers(self, position: int, *dtypes: type[np.signedinteger]) -> np.ndarray:
        """Return an input's array, such as axes, which must be of one of ``dtypes``."""
        array = self.array(position)
        if array.dtype not in dtypes:
            names = " or ".join(dtype.__name__ for dtype in dtypes)
            raise InputError(f"{self.tensor(position)} is {array.dtype}, not {names}")
        return array

    def quantization(self, position: int) -> Quantization:
        """Return an input's quantization."""
        tensor = self.tensor(position)
        if tensor is None:
            raise InputError(f"input {position} is absent")
        return quantization_of(tensor)

    def output_quantization(self) -> Quantization:
        """Return the output's quantization."""
        return quantization_of(self._output)

    def bias_quantization(self) -> Quantization | None:
        """Return the bias's quantization; None without a bias or without one."""
        tensor = self.tensor(2)
        return quantization_of(tensor) if tensor is not None and tensor.quantization else None

    def activation(self) -> str:
        """Return the fused activation's name."""
        return self.options["fused_activation_function"]

    def pool_window(self) -> Window:
        """Return the window of a pool, whose size is an option."""
        return window_of(
            self.operator, (self.options["filter_height"], self.options["filter_width"])
        )

    def filter_window(self) -> Window:
        """Return the window of a convolution, whose size is that of its filter."""
        shape = self.int8(1).shape
        if len(shape) != 4:
            raise InputError(f"{self.tensor(1)} has rank {len(shape)}, not 4")
        return window_of(self.operator, (shape[1], shape[2]))
