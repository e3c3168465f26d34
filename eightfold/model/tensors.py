"""Read the tensors of a subgraph: shapes, element types, quantization, constant data."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from eightfold.common.errors import InputError, Untaken
from eightfold.golden.errors import shortened
from eightfold.model.flatbuffer import CONVERT, EXTERNAL_BUFFER, TO_INT8, Source, text
from eightfold.model.graph import Quantization, Tensor
from eightfold.model.schema import DTYPES, TENSOR_TYPES

_TENSOR_LIMIT = 1 << 31  # bytes of a tensor; the hardware's addresses have 32 bits
_RANK_LIMIT = 32
_HANDLE = TENSOR_TYPES["RESOURCE"]


class TensorReader:
    """Reads all tensors of one subgraph.

    ``model``, ``subgraph``: generated tables of that source.
    """

    def __init__(self, source: Source, model: Any, subgraph: Any) -> None:
        self._source = source
        self._model = model
        self._subgraph = subgraph
        self._buffer_count = model.BuffersLength()
        self._given = set(source.integers(subgraph, "Inputs"))
        self._computed = {
            index
            for place in range(subgraph.OperatorsLength())
            for index in source.integers(source.child(subgraph.Operators(place)), "Outputs")
        }

    def read(self) -> tuple[Tensor, ...]:
        """Return the tensors; raise `InputError` for the first that is not sound."""
        return tuple(self._tensor(index) for index in range(self._subgraph.TensorsLength()))

    def marked(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return which tensors are handles of variables, and which are variable themselves."""
        packed = [
            self._source.child(self._subgraph.Tensors(index))
            for index in range(self._subgraph.TensorsLength())
        ]
        return (
            frozenset(i for i, each in enumerate(packed) if each.Type() == _HANDLE),
            frozenset(i for i, each in enumerate(packed) if each.IsVariable()),
        )

    def _tensor(self, index: int) -> Tensor:
        packed = self._source.child(self._subgraph.Tensors(index))
        name = text(packed.Name())
        code = packed.Type()
        # For messages, until what the tensor really holds is known to be sound.
        label = Tensor(index, name, (), np.dtype(np.int8), None, None)
        if code == _HANDLE:
            shape = self._shape(packed, label)
            self._quantization(packed, label, shape, label.dtype)  # LiteRT looks at it too
            return replace(label, shape=shape)
        if code not in DTYPES:
            kind = next((k for k, c in TENSOR_TYPES.items() if c == code), f"code {code}")
            if kind == "VARIANT":
                raise Untaken(
                    f"{label} keeps state between runs; make the state an input and an output"
                )
            known = ", ".join(dtype.name for dtype in DTYPES.values())
            raise Untaken(f"{label} has element type {kind}, not {known}; {TO_INT8}")
        if packed.Sparsity() is not None:
            raise Untaken(f"{label} is sparse; store it densely")
        dtype = DTYPES[code]
        shape = self._shape(packed, label)
        size = math.prod(shape) * dtype.itemsize
        if size >= _TENSOR_LIMIT:
            raise InputError(
                f"{label} of shape {shortened(shape)} has {size} bytes; "
                f"the limit is {_TENSOR_LIMIT - 1}"
            )
        quantization = self._quantization(packed, label, shape, dtype)
        content = self._content(packed, label)
        if content is not None and packed.IsVariable():
            raise InputError(f"{label} keeps state between runs, and has data; {CONVERT}")
        if not size and content is None and index not in self._given | self._computed:
            content = np.empty(0, np.uint8)  # of nothing, nothing is needed
        if content is not None:
            if content.size != size:
                raise InputError(
                    f"{label} of shape {shortened(shape)} and type {dtype.name} takes {size} "
                    f"bytes, but its data has {content.size}; {CONVERT}"
                )
            content = content.view(dtype.newbyteorder("<")).reshape(shape)
        # Without rank, () is no scalar but unknown; old files say so of scalars too.
        stated = bool(shape) or packed.HasRank() or content is not None or index in self._given
        signature = self._source.integers(packed, "ShapeSignature")
        opened = index in self._given and bool(shape) and signature[:1] == (-1,)
        return Tensor(index, name, shape, dtype, quantization, content, stated, opened)

    def _shape(self, packed: Any, label: Tensor) -> tuple[int, ...]:
        vector = self._source.vector(packed, "Shape")
        if vector.size > _RANK_LIMIT:
            raise Untaken(f"{label} has {vector.size} dimensions; the limit is {_RANK_LIMIT}")
        shape = self._source.integers(packed, "Shape")
        if min(shape, default=0) < 0:
            raise Untaken(f"{label} has shape {shortened(shape)}; dimensions must be fixed")
        return shape

    def _content(self, packed: Any, label: Tensor) -> np.ndarray | None:
        """Return the bytes of a constant as a view, or None.

        As in LiteRT, buffer 0 stands for no data, whatever it has, and data without bytes is data.
        """
        index = packed.Buffer()
        if index >= self._buffer_count:
            raise InputError(f"{label} refers to buffer {index} of {self._buffer_count}; {CONVERT}")
        buffer = self._source.child(self._model.Buffers(index))
        external = self._source.number(packed, EXTERNAL_BUFFER)
        if external or buffer.Offset():
            raise Untaken(f"{label} has its data outside the flatbuffer; store it inside")
        if index == 0 or buffer.DataIsNone():
            return None
        return self._source.vector(buffer, "Data")

    def _quantization(
        self, packed: Any, label: Tensor, shape: tuple[int, ...], dtype: np.dtype
    ) -> Quantization | None:
        values = self._source.child(packed.Quantization())
        if values is None:
            return None
        if values.DetailsType():
            raise Untaken(f"{label} has a custom quantization; use scale and zero point")
        scale = self._numbers(values, "Scale", np.float32)
        if not scale.size:
            return None
        stated = axis = values.QuantizedDimension()
        if len(shape) == 1:
            axis = 0  # files exist that repeat the weights' here; there is no choice
        if not 0 <= axis < max(len(shape), 1):
            raise InputError(
                f"{label} is quantized along dimension {axis} of {len(shape)}; {CONVERT}"
            )
        if scale.size != 1 and (not shape or scale.size != shape[axis]):
            raise InputError(
                f"{label} has {scale.size} scales for shape {shortened(shape)}; "
                f"give it one, or one per slice of dimension {axis}"
            )
        zero_point = self._zero_point(values, label, scale.size, dtype)
        for array in (scale, zero_point):
            array.setflags(write=False)
        return Quantization(scale, zero_point, axis, None if stated == axis else stated)

    def _zero_point(self, values: Any, label: Tensor, count: int, dtype: np.dtype) -> np.ndarray:
        zero_point = self._numbers(values, "ZeroPoint", np.int64)
        if zero_point.size != count:
            raise InputError(
                f"{label} has {count} scales and {zero_point.size} zero points; "
                "give it as many of each"
            )
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            outside = zero_point[(zero_point < limits.min) | (zero_point > limits.max)]
            if outside.size:
                raise InputError(
                    f"{label} has the zero point {outside[0]}; {dtype.name} holds "
                    f"{limits.min} to {limits.max}"
                )
        return zero_point

    def _numbers(self, values: Any, field: str, dtype: type[np.generic]) -> np.ndarray:
        """Return a copy of a vector, counted."""
        vector = self._source.vector(values, field)
        self._source.spend(vector.size)
        return vector.astype(dtype)
