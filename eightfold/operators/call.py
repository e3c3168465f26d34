"""An operator with its tensors: before any inference, and with arrays as golden takes them."""

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.quantization import Quantization, Reference
from eightfold.golden.windows import Window
from eightfold.model.graph import Graph, Operator, Tensor

TFLM_RANK = 5
"""Dimensions that a shape has in TFLite Micro's kernels; they write further ones beyond its end."""

_QUANTIZATIONS: WeakKeyDictionary[Tensor, Quantization] = WeakKeyDictionary()


class Node:
    """The tensors and options of one operator, by position; None stands for an absent input.

    ``tensors``: the graph's, by index. ``intermediates``: those of scales on the way.
    Methods raise `InputError` or `eightfold.golden.errors.SpecError`, without the operator's name,
    if a tensor is absent, or not what is asked for.
    """

    def __init__(self, tensors: Sequence[Tensor], operator: Operator) -> None:
        self.operator = operator
        self.options = operator.options
        self.inputs = tuple(tensors[i] if i >= 0 else None for i in operator.inputs)
        self.outputs = tuple(tensors[index] for index in operator.outputs)
        self.intermediates = tuple(tensors[index] for index in operator.intermediates)

    @property
    def output(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    def tensor(self, position: int) -> Tensor | None:
        """Return the tensor of an input; None if it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def input(self, position: int = 0) -> Tensor:
        """Return the tensor of an input, which must be there."""
        tensor = self.tensor(position)
        if tensor is None:
            raise InputError(f"input {position} is absent")
        return tensor

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """Return the shape of an input, which must be there."""
        return self.input(position).shape

    def is_constant(self, position: int) -> bool:
        """Return whether an input is there and a constant."""
        tensor = self.tensor(position)
        return tensor is not None and tensor.data is not None

    def is_computed(self, position: int) -> bool:
        """Return whether an input is there and no constant."""
        return self.tensor(position) is not None and not self.is_constant(position)

    def constant(self, position: int) -> np.ndarray:
        """Return the array of an input, which must be there and a constant."""
        tensor = self.input(position)
        if tensor.data is None:
            raise InputError(f"{tensor} is not constant")
        return tensor.data

    def known_integer(self, position: int) -> int | None:
        """Return the only element of an input, of whatever rank; None if it is computed."""
        tensor = self.input(position)
        if (size := int(np.prod(tensor.shape))) != 1:
            raise RejectedError(f"{tensor} must be one integer, not {size}")
        return None if tensor.data is None else int(tensor.data.item())

    def known_vector(self, position: int) -> list[int] | None:
        """Return the elements of an input, which must be a vector; None if it is computed."""
        tensor = self.input(position)
        if len(tensor.shape) != 1:
            raise RejectedError(f"{tensor} must be a vector, not {tensor.shape}")
        return None if tensor.data is None else tensor.data.tolist()

    def activation(self) -> str:
        """Return the fused activation's name; NONE where an operator cannot have one."""
        return self.options.get("fused_activation_function", "NONE")

    def filter_window(self) -> Window:
        """Return the window of a convolution, whose size is that of its filter."""
        shape = self.shape(1)
        if len(shape) != 4:
            raise RejectedError(f"{self.tensor(1)} has rank {len(shape)}, not 4")
        return window_of(self.operator, (shape[1], shape[2]))

    def pool_window(self) -> Window:
        """Return the window of a pool, whose size its options say."""
        size = (self.options["filter_height"], self.options["filter_width"])
        return window_of(self.operator, size)


def window_of(operator: Operator, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool from its options; pools have no dilation."""
    options = operator.options
    return Window(
        kernel=kernel,
        stride=(options["stride_h"], options["stride_w"]),
        dilation=(options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)),
        padding=options["padding"],
        around=options.get("around", ((0, 0), (0, 0))),
    )


def quantization_of(tensor: Tensor) -> Quantization:
    """Return a tensor's quantization as golden takes it: no axis if there is one scale.

    The same object each time: golden remembers what it derives from one. Raises `InputError` if
    there is none, or a scale is no positive number: looked at, as by the runtimes, only where it is
    computed with.
    """
    if (known := _QUANTIZATIONS.get(tensor)) is not None:
        return known
    quantization = tensor.quantization
    if quantization is None:
        raise InputError(f"{tensor} has no scale and zero point; quantize the model to int8")
    if not quantization.is_sound:
        wrong = quantization.scale[~(np.isfinite(quantization.scale) & (quantization.scale > 0))]
        raise InputError(
            f"{tensor} has the scale {wrong[0]}, and it is computed with; scales are finite and "
            "above 0: convert the network again, with a representative data set"
        )
    per_axis = len(quantization.scale) > 1
    known = _QUANTIZATIONS[tensor] = Quantization(
        scale=quantization.scale,
        zero_point=quantization.zero_point,
        axis=quantization.axis if per_axis else None,
    )
    return known


class OperatorCall(Node):
    """The tensors, arrays, quantizations and options of one operator: each fact is read here.

    ``graph``, ``operator``, ``values``, ``reference``: as `eightfold.operators.run_operator` takes
        them. Without ``values`` only the constants have arrays: what is known of an operator before
        a graph runs. What the gate has checked is not checked again.

    Methods raise as those of `Node`, and if there is no value. Raises `UndefinedError` if a tensor
    has more than `TFLM_RANK` dimensions and the reference is ``tflm``.
    """

    def __init__(
        self,
        graph: Graph,
        operator: Operator,
        values: Mapping[int, np.ndarray] = MappingProxyType({}),
        reference: Reference = "litert",
    ) -> None:
        super().__init__(graph.tensors, operator)
        self.graph = graph
        self.reference: Reference = reference
        self._values = values
        self._substitutes: dict[int, np.ndarray] = {}
        if reference == "tflm":
            for tensor in filter(None, (*self.inputs, *self.outputs)):
                if len(tensor.shape) > TFLM_RANK:
                    raise UndefinedError(
                        f"{tensor} has rank {len(tensor.shape)}; TFLite Micro's kernels are "
                        f"undefined beyond {TFLM_RANK}"
                    )

    def substituted(self, *arrays: np.ndarray) -> Self:
        """Return the call with its first inputs replaced by ``arrays``, constants too."""
        call = copy(self)
        call._substitutes = dict(enumerate(arrays))
        return call

    def optional(self, position: int) -> np.ndarray | None:
        """Return an input's array; None if it is absent."""
        if position in self._substitutes:
            return self._substitutes[position]
        tensor = self.tensor(position)
        if tensor is None:
            return None
        if tensor.data is not None:
            return tensor.data
        if tensor.index not in self._values:
            raise InputError(f"{tensor} has no value")
        array = self._values[tensor.index]
        if array.dtype != tensor.dtype:
            raise InputError(f"{tensor} is {tensor.dtype}, its value {array.dtype}")
        return array

    def array(self, position: int = 0) -> np.ndarray:
        """Return an input's array, which must be there."""
        self.input(position)
        array = self.optional(position)
        assert array is not None
        return array

    def codes(self, position: int) -> np.ndarray:
        """Return the array of an input that is computed with or copied; in the compiler places."""
        return self.array(position)

    def integer(self, position: int) -> int:
        """Return the only element of an input's array."""
        return int(self.array(position).item())

    def vector(self, position: int) -> list[int]:
        """Return an input's elements."""
        return self.array(position).tolist()

    def is_float(self) -> bool:
        """Return whether the operator works on float32, which has no scale."""
        return self.input(0).dtype == np.float32

    def quantization(self, position: int = 0) -> Quantization:
        """Return an input's quantization."""
        return quantization_of(self.input(position))

    def output_quantization(self) -> Quantization:
        """Return the output's quantization."""
        return quantization_of(self.output)

    def every_quantization(self) -> list[Quantization | None]:
        """Return the quantizations of all inputs and outputs, None for those without."""
        inputs = [self.quantization_if_any(i) for i in range(len(self.operator.inputs))]
        return inputs + [quantization_of(t) if t.quantization else None for t in self.outputs]

    def quantization_if_any(self, position: int) -> Quantization | None:
        """Return an input's quantization; None if it is absent or has none, such as many a bias."""
        tensor = self.tensor(position)
        return quantization_of(tensor) if tensor is not None and tensor.quantization else None
