"""What one operator of a graph works on: arrays and quantizations, as golden takes them."""

from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import UndefinedError
from eightfold.golden.quantization import Quantization, Reference
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.model.prepare import Node

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


class OperatorCall(Node):
    """The tensors, arrays, quantizations and options of one operator: each fact is read here.

    Parameters
    ----------
    graph, operator, values, reference
        As `eightfold.execute.run_operator` takes them. Without ``values`` only the constants have
        arrays: what is known of an operator before a graph runs. What `eightfold.model.prepare`
        has checked is not checked again.

    Raises
    ------
    InputError
        From every method: if a tensor is absent, or has no value or quantization. The message does
        not name the operator.
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

    def array(self, position: int) -> np.ndarray:
        """Return an input's array, which must be there."""
        self.input(position)
        array = self.optional(position)
        assert array is not None
        return array

    def codes(self, position: int) -> np.ndarray:
        """Return the array of an input whose elements are computed with or copied."""
        return self.array(position)

    def integer(self, position: int) -> int:
        """Return the only element of an input's array."""
        return int(self.array(position).item())

    def vector(self, position: int) -> list[int]:
        """Return an input's elements."""
        return self.array(position).tolist()

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
