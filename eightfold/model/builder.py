"""Write int8 models of one or several operators, down to the exact float32 scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as generated
from numpy.typing import ArrayLike, DTypeLike

from eightfold.model.schema import (
    OPERATOR_CODES,
    TENSOR_TYPES,
    UNIONS,
    encode_option,
    options_name,
    snake_case,
)

_FILE_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # bytes; the schema forces it on constant data, the generated classes do not


class _AlignedBuffer(generated.BufferT):
    """Constant data, which starts at a multiple of 16 bytes as the schema asks."""

    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802 (the base class's name)
        data = bytes(self.data or b"")
        builder.Prep(_ALIGNMENT, len(data))
        vector = builder.CreateByteVector(data)
        generated.BufferStart(builder)
        generated.BufferAddData(builder, vector)
        return generated.BufferEnd(builder)


class ModelBuilder:
    """Collect tensors and operators, then write them as a ``.tflite`` file.

    Tensors are numbered in the order they are added; operators run in the order they are added.
    The same calls always give the same bytes. Nothing is checked against an operator's rules,
    so that models which a runtime must reject can be written too.

    Parameters
    ----------
    description
        Free text that the file carries.

    Examples
    --------
    >>> b = ModelBuilder()
    >>> x = b.input((1, 4), scale=0.5, zero_point=-1)
    >>> y = b.tensor((1, 4), scale=0.25)
    >>> b.operator("RELU", [x], [y])
    >>> b.output(y)
    >>> model = b.build()
    """

    def __init__(self, description: str = "") -> None:
        self._description = description
        self._tensors: list[Any] = []
        self._buffers: list[Any] = [generated.BufferT()]  # buffer 0 is empty by convention
        self._operators: list[Any] = []
        self._codes: dict[tuple[int, int], int] = {}
        self._inputs: list[int] = []
        self._outputs: list[int] = []

    def input(
        self,
        shape: Sequence[int],
        *,
        scale: ArrayLike | None = None,
        zero_point: ArrayLike = 0,
        dtype: DTypeLike = np.int8,
        name: str | None = None,
    ) -> int:
        """Add an input of the model and return its tensor index; see `tensor`."""
        index = self.tensor(shape, scale=scale, zero_point=zero_point, dtype=dtype, name=name)
        self._inputs.append(index)
        return index

    def constant(
        self,
        array: ArrayLike,
        *,
        scale: ArrayLike | None = None,
        zero_point: ArrayLike = 0,
        axis: int = 0,
        name: str | None = None,
    ) -> int:
        """Add a tensor with data, of the array's shape and dtype, and return its index.

        Parameters
        ----------
        array
            The data; a plain Python list becomes int64, so pass an array with its dtype.
        scale, zero_point
            One value, or one per slice along ``axis``; without ``scale`` not quantized.
        axis
            The quantized dimension.
        name
            The tensor's name; ``tensor_<index>`` if not given.
        """
        array = np.asarray(array)
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        self._buffers.append(_AlignedBuffer(data=data))
        index = self.tensor(
            array.shape, scale=scale, zero_point=zero_point, dtype=array.dtype, name=name, axis=axis
        )
        self._tensors[index].buffer = len(self._buffers) - 1
        return index

    def tensor(
        self,
        shape: Sequence[int],
        *,
        scale: ArrayLike | None = None,
        zero_point: ArrayLike = 0,
        dtype: DTypeLike = np.int8,
        name: str | None = None,
        axis: int = 0,
    ) -> int:
        """Add a tensor that an operator produces, and return its index.

        ``scale`` is rounded to float32 and stored exactly; without it the tensor is not quantized.
        A single ``zero_point`` stands for all scales.
        """
        index = len(self._tensors)
        self._tensors.append(
            generated.TensorT(
                shape=np.array(shape, np.int32),
                type=TENSOR_TYPES[np.dtype(dtype).name.upper()],
                name=name or f"tensor_{index}",
                quantization=_quantization(scale, zero_point, axis),
                hasRank=True,
            )
        )
        return index

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = None,
        *,
        version: int = 1,
    ) -> None:
        """Add a builtin operator.

        Parameters
        ----------
        name
            As in the schema, ``"CONV_2D"``.
        inputs, outputs
            Tensor indices; -1 for an input that is absent.
        options
            Fields of the operator's options by their schema names, ``{"padding": "SAME"}``; enums
            as strings or codes. Fields left out keep the schema's defaults.
        version
            Version that the file asks of the operator. Runtimes only look whether it is
            registered, and version 1 is for every operator.

        Raises
        ------
        ValueError
            If there is no such operator, or it has no such option.
        """
        if name not in OPERATOR_CODES:
            raise ValueError(f"{name}: no such builtin operator")
        key = (OPERATOR_CODES[name], version)
        operator = generated.OperatorT(
            opcodeIndex=self._codes.setdefault(key, len(self._codes)),
            inputs=np.array(inputs, np.int32),
            outputs=np.array(outputs, np.int32),
        )
        table = options_name(name)
        if table is None and options:
            raise ValueError(f"{name} has no options")
        if table in UNIONS["BuiltinOptions"]:
            operator.builtinOptionsType = UNIONS["BuiltinOptions"][table]
            operator.builtinOptions = _options(name, table, options or {})
        elif table is not None:
            operator.builtinOptions2Type = UNIONS["BuiltinOptions2"][table]
            operator.builtinOptions2 = _options(name, table, options or {})
        self._operators.append(operator)

    def output(self, index: int) -> None:
        """Declare a tensor as the model's next output."""
        self._outputs.append(index)

    def build(self) -> bytes:
        """Return the file's bytes."""
        model = generated.ModelT(
            version=3,
            description=self._description,
            operatorCodes=[
                generated.OperatorCodeT(
                    deprecatedBuiltinCode=min(
                        code, OPERATOR_CODES["PLACEHOLDER_FOR_GREATER_OP_CODES"]
                    ),
                    builtinCode=code,
                    version=version,
                )
                for code, version in self._codes
            ],
            subgraphs=[
                generated.SubGraphT(
                    tensors=self._tensors,
                    inputs=np.array(self._inputs, np.int32),
                    outputs=np.array(self._outputs, np.int32),
                    operators=self._operators,
                    name="main",
                )
            ],
            buffers=self._buffers,
        )
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), _FILE_IDENTIFIER)
        return bytes(builder.Output())


def _quantization(scale: ArrayLike | None, zero_point: ArrayLike, axis: int) -> Any:
    if scale is None:
        return None
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    points = np.atleast_1d(np.asarray(zero_point, np.int64))
    return generated.QuantizationParametersT(
        scale=scales,
        zeroPoint=np.repeat(points, scales.size) if points.size == 1 else points,
        quantizedDimension=axis,
    )


def _options(operator: str, table: str, options: Mapping[str, Any]) -> Any:
    packed = getattr(generated, table + "T")()
    attributes = {snake_case(attribute): attribute for attribute in vars(packed)}
    for field, value in options.items():
        if field not in attributes:
            raise ValueError(
                f"{operator} has no option {field}; it has {', '.join(attributes) or 'none'}"
            )
        setattr(packed, attributes[field], encode_option(field, value))
    return packed
