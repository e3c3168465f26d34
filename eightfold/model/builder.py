"""Write int8 models of one or several operators, down to the exact float32 scale."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from eightfold.model import schema
from eightfold.model.beside import LOWEST_VERSIONS
from eightfold.model.variables import CALL_ONCE
from eightfold.model.writer import Table, code_table, pack


class Kind(TypedDict, total=False):
    """What a tensor may have besides shape and element type, see `ModelBuilder.tensor`."""

    scale: ArrayLike | None
    zero_point: ArrayLike
    axis: int
    name: str | None


class ModelBuilder:
    """Collect tensors and operators, then write them as a ``.tflite`` file.

    Tensors are numbered in the order they are added; operators run in the order they are added.
    The same calls always give the same bytes. Nothing is checked against an operator's rules,
    so that models which a runtime must reject can be written too.

    ``description``: free text that the file carries.

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
        self._tensors: list[Table] = []
        self._buffers = [Table("Buffer")]  # buffer 0 is empty by convention
        self._operators: list[Table] = []
        self._codes: dict[tuple[int, int], int] = {}
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        # Of the subgraph that CALL_ONCE runs.
        self._initial_tensors: list[Table] = []
        self._initial_operators: list[Table] = []

    def input(
        self,
        shape: Sequence[int],
        *,
        dtype: DTypeLike = np.int8,
        open_batch: bool = False,
        **kind: Unpack[Kind],
    ) -> int:
        """Add an input of the model and return its tensor index; see `tensor`.

        With ``open_batch`` the file leaves dimension 0 open, and ``shape`` is what it is for now.
        """
        index = self.tensor(shape, dtype=dtype, **kind)
        self._inputs.append(index)
        if open_batch:
            fields = self._tensors[index].fields
            ranked = fields.pop("HasRank")  # it is behind the signature, as in the schema
            fields |= {"ShapeSignature": np.array([-1, *shape[1:]], np.int32), "HasRank": ranked}
        return index

    def constant(self, array: ArrayLike, **kind: Unpack[Kind]) -> int:
        """Add a tensor with data, of the array's shape and dtype, and return its index.

        ``array``: the data; a plain Python list becomes int64, so pass an array with its dtype.
        ``kind``: see `tensor`.
        """
        array = np.asarray(array)
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        self._buffers.append(Table("Buffer", Data=data))
        index = self.tensor(array.shape, dtype=array.dtype, **kind)
        self._tensors[index].fields["Buffer"] = len(self._buffers) - 1
        return index

    def tensor(
        self,
        shape: Sequence[int] | None,
        *,
        scale: ArrayLike | None = None,
        zero_point: ArrayLike = 0,
        dtype: DTypeLike = np.int8,
        name: str | None = None,
        axis: int = 0,
        variable: bool = False,
    ) -> int:
        """Add a tensor that an operator produces, and return its index.

        Without ``shape`` the file leaves the shape open. A ``variable`` tensor no operator
        produces: it keeps what operators such as SVDF leave in it.

        ``scale``, ``zero_point``: one value, or one per slice along ``axis``, the quantized
            dimension. Scales are rounded to float32 and stored exactly; without any the tensor is
            not quantized. A single zero point stands for all scales.
        ``name``: ``tensor_<index>`` if not given.
        """
        index = len(self._tensors)
        self._tensors.append(
            Table(
                "Tensor",
                Shape=np.array([] if shape is None else shape, np.int32),
                Type=schema.TENSOR_TYPES[np.dtype(dtype).name.upper()],
                Buffer=0,
                Name=name or f"tensor_{index}",
                Quantization=_quantization(scale, zero_point, axis),
                IsVariable=variable,
                HasRank=shape is not None,
            )
        )
        return index

    def variable(self, initial: ArrayLike, **kind: Unpack[Kind]) -> int:
        """Add a resource variable and return the index of its handle.

        READ_VARIABLE reads ``[handle]``, ASSIGN_VARIABLE ``[handle, tensor]``. The operators
        CALL_ONCE, once, and VAR_HANDLE come along; a subgraph of its own assigns ``initial``, an
        array of the variable's shape and dtype with the quantization of `constant`. Variables of
        the same ``name`` are one, which has the initial value that was given last.
        """
        if not self._initial_operators:
            ModelBuilder.operator(self, CALL_ONCE, [], [], {"init_subgraph_index": 1})
        index = self.constant(initial, **kind)
        value = self._tensors[index]
        handle = Table("Tensor", Type=schema.TENSOR_TYPES["RESOURCE"], Name=value.fields["Name"])
        self._tensors[index] = handle
        options = {"shared_name": handle.fields["Name"]}
        first = len(self._initial_tensors)
        self._initial_tensors += [handle, value]
        ModelBuilder.operator(self, "VAR_HANDLE", [], [first], options)
        ModelBuilder.operator(self, "ASSIGN_VARIABLE", [first, first + 1], [])
        self._initial_operators += [self._operators.pop(-2), self._operators.pop()]
        ModelBuilder.operator(self, "VAR_HANDLE", [], [index], options)
        return index

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = None,
        *,
        intermediates: Sequence[int] = (),
        version: int | None = None,
    ) -> None:
        """Add a builtin operator.

        Raises `ValueError` if there is no such operator, it has no such option, or an option's
        vector holds other numbers.

        ``name``: as in the schema, ``"CONV_2D"``.
        ``inputs``, ``outputs``: tensor indices; -1 for an input that is absent.
        ``options``: fields of the operator's options by their schema names, ``{"padding":
            "SAME"}``; enums as strings or codes. Fields left out keep the schema's defaults.
        ``intermediates``: tensor indices of the scales of what is computed on the way.
        ``version``: version that the file asks of the operator; None: the lowest. Runtimes only
            look whether it is registered.
        """
        if name not in schema.OPERATOR_CODES:
            raise ValueError(f"{name}: no such builtin operator")
        key = (schema.OPERATOR_CODES[name], version or LOWEST_VERSIONS.get(name, 1))
        operator = Table(
            "Operator",
            OpcodeIndex=self._codes.setdefault(key, len(self._codes)),
            Inputs=np.array(inputs, np.int32),
            Outputs=np.array(outputs, np.int32),
        )
        table = schema.options_name(name)
        if table is None and options:
            raise ValueError(f"{name} has no options")
        if table is not None:
            union = next(union for union, codes in schema.UNIONS.items() if table in codes)
            operator.fields[f"{union}Type"] = schema.UNIONS[union][table]
            operator.fields[union] = _options(name, table, options or {})
        if intermediates:  # behind the options, as in the schema
            operator.fields["Intermediates"] = np.array(intermediates, np.int32)
        self._operators.append(operator)

    def output(self, index: int) -> None:
        """Declare a tensor as the model's next output."""
        self._outputs.append(index)

    def build(self) -> bytes:
        """Return the file's bytes."""
        subgraphs = [
            Table(
                "SubGraph",
                Tensors=self._tensors,
                Inputs=np.array(self._inputs, np.int32),
                Outputs=np.array(self._outputs, np.int32),
                Operators=self._operators,
                Name="main",
            )
        ]
        if self._initial_operators:
            fields = {"Tensors": self._initial_tensors, "Operators": self._initial_operators}
            subgraphs.append(Table("SubGraph", **fields, Name="initial"))
        model = Table(
            "Model",
            Version=3,
            OperatorCodes=[code_table(*key) for key in self._codes],
            Subgraphs=subgraphs,
            Description=self._description,
            Buffers=self._buffers,
        )
        return pack(model)


def _quantization(scale: ArrayLike | None, zero_point: ArrayLike, axis: int) -> Table | None:
    if scale is None:
        return None
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    points = np.atleast_1d(np.asarray(zero_point, np.int64))
    return Table(
        "QuantizationParameters",
        Scale=scales,
        ZeroPoint=np.repeat(points, scales.size) if points.size == 1 else points,
        QuantizedDimension=axis,
    )


def _options(operator: str, table: str, options: Mapping[str, Any]) -> Table:
    accessors = schema.option_fields(table)
    if unknown := [field for field in options if field not in accessors]:
        raise ValueError(
            f"{operator} has no option {unknown[0]}; it has {', '.join(accessors) or 'none'}"
        )
    packed = Table(table)
    for field, accessor in accessors.items():
        if field not in options:
            continue
        value = schema.encode_option(field, options[field])
        dtype = schema.vector_type(table, accessor)
        if dtype is not None:
            vector = np.array(value, dtype)
            if dtype.kind != "f" and not np.array_equal(vector, value):
                raise ValueError(f"{operator}: {field} holds numbers of {dtype}, not {value}")
            value = vector
        packed.fields[accessor] = value
    return packed
