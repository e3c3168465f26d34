"""What one operator of a graph works on: arrays, quantizations, windows, as golden takes them."""

from collections.abc import Collection, Mapping
from copy import copy
from types import MappingProxyType
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.errors import InputError
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.quantization import Quantization, Reference
from eightfold.golden.windows import Window
from eightfold.model.graph import Graph, Operator, Tensor

TFLM_RANK = 5
"""Dimensions that a shape has in TFLite Micro's kernels; they write further ones beyond its end."""

_QUANTIZATIONS: WeakKeyDictionary[Tensor, Quantization] = WeakKeyDictionary()


def quantization_of(tensor: Tensor) -> Quantization:
    """Return a tensor's quantization as golden takes it: no axis if there is one scale.

    The same object each time: golden remembers what it derives from one.

    Raises
    ------
    InputError
        If the tensor is not quantized.
    """
    if (known := _QUANTIZATIONS.get(tensor)) is not None:
        return known
    quantization = tensor.quantization
    if quantization is None:
        raise InputError(f"{tensor} has no scale and zero point; quantize the model to int8")
    per_axis = len(quantization.scale) > 1
    known = _QUANTIZATIONS[tensor] = Quantization(
        scale=quantization.scale,
        zero_point=quantization.zero_point,
        axis=quantization.axis if per_axis else None,
    )
    return known


def window_of(operator: Operator, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool from its options; pools have no dilation.

    Raises
    ------
    eightfold.golden.errors.RejectedError
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
    """The tensors, arrays, quantizations and options of one operator: each fact is read here.

    Parameters
    ----------
    graph, operator, values, reference
        As `eightfold.execute.run_operator` takes them. Without ``values`` only the constants have
        arrays: what is known of an operator before a graph runs.

    Attributes
    ----------
    inputs
        The inputs in order; None stands for one that is absent.
    outputs
        The outputs in order.

    Raises
    ------
    InputError
        From every method: if a tensor is absent, has no value or quantization, or another dtype
        than the operator works on. The message does not name the operator.
    UndefinedError
        If a tensor has more than `TFLM_RANK` dimensions and the reference is ``tflm``.
    """

    def __init__(
        self,
        graph: Graph,
        operator: Operator,
        values: Mapping[int, np.ndarray] = MappingProxyType({}),
        reference: Reference = "litert",
    ) -> None:
        self.graph, self.operator = graph, operator
        self.options = operator.options
        self.reference: Reference = reference
        self.inputs = tuple(graph.tensors[i] if i >= 0 else None for i in operator.inputs)
        self.outputs = tuple(graph.tensors[index] for index in operator.outputs)
        self._values = values
        self._substitutes: dict[int, np.ndarray] = {}
        if reference == "tflm":
            for tensor in filter(None, (*self.inputs, *self.outputs)):
                if len(tensor.shape) > TFLM_RANK:
                    raise UndefinedError(
                        f"{tensor} has rank {len(tensor.shape)}; TFLite Micro's kernels are "
                        f"undefined beyond {TFLM_RANK}"
                    )

    @property
    def output(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    def substituted(self, *arrays: np.ndarray) -> Self:
        """Return the call with its first inputs replaced by ``arrays``, constants too."""
        call = copy(self)
        call._substitutes = dict(enumerate(arrays))
        return call

    def check_outputs(self, dtypes: Collection[type[np.generic]], several: bool) -> None:
        """Check the outputs' dtypes, and their number: one, or any number from one."""
        if not self.outputs or (len(self.outputs) > 1 and not several):
            raise InputError(f"has {len(self.outputs)} outputs, not 1")
        self.check_types(dtypes, *self.outputs)

    def check_types(self, dtypes: Collection[type[np.generic]], *tensors: Tensor) -> None:
        """Check that each tensor is of one of these types."""
        for tensor in tensors:
            _check_dtype(tensor, tensor.dtype, dtypes)

    def tensor(self, position: int) -> Tensor | None:
        """Return the tensor of an input; None if it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def input(self, position: int) -> Tensor:
        """Return the tensor of an input, which must be there."""
        tensor = self.tensor(position)
        if tensor is None:
            raise InputError(f"input {position} is absent")
        return tensor

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
        return self._values[tensor.index]

    def array(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there."""
        self.input(position)
        array = self.optional(position)
        assert array is not None
        return array

    def int8(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there and int8."""
        return self.integers(position, np.int8)

    def copied(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there and of the outputs' dtype."""
        return self.integers(position, self.output.dtype.type)

    def integers(self, position: int, *dtypes: type[np.generic]) -> np.ndarray:
        """Return an input's array, such as axes, which must be of one of ``dtypes``."""
        array = self.array(position)
        _check_dtype(self.input(position), array.dtype, dtypes)
        return array

    def integer(self, position: int, *dtypes: type[np.generic]) -> int:
        """Return the only element of an input's array, which must be of one of ``dtypes``."""
        array = self.integers(position, *dtypes)
        if array.size != 1:
            raise RejectedError(f"{self.tensor(position)} must be one integer, not {array.size}")
        return int(array.reshape(()))

    def vector(self, position: int, *dtypes: type[np.generic]) -> list[int]:
        """Return an input's elements, which must be a vector of one of ``dtypes``."""
        array = self.integers(position, *dtypes)
        if array.ndim != 1:
            raise RejectedError(f"{self.tensor(position)} must be a vector, not {array.shape}")
        return array.tolist()

    def quantization(self, position: int) -> Quantization:
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

    def activation(self) -> str:
        """Return the fused activation's name; NONE where an operator cannot have one."""
        return self.options.get("fused_activation_function", "NONE")

    def option_dtype(self, option: str) -> type[np.signedinteger]:
        """Return the element type that an option gives the output, which must have it."""
        name = self.options[option]
        if name.lower() != self.output.dtype.name:
            raise InputError(f"{self.output} is {self.output.dtype}, but {option} {name}")
        return self.output.dtype.type

    def filter_window(self) -> Window:
        """Return the window of a convolution, whose size is that of its filter."""
        shape = self.int8(1).shape
        if len(shape) != 4:
            raise InputError(f"{self.tensor(1)} has rank {len(shape)}, not 4")
        return window_of(self.operator, (shape[1], shape[2]))

    def pool_window(self) -> Window:
        """Return the window of a pool, whose size its options say."""
        size = (self.options["filter_height"], self.options["filter_width"])
        return window_of(self.operator, size)


def _check_dtype(tensor: Tensor, dtype: np.dtype, dtypes: Collection[type[np.generic]]) -> None:
    if dtype.type not in dtypes:
        names = " or ".join(dtype.__name__ for dtype in dtypes)
        raise InputError(f"{tensor} is {dtype}, not {names}")
