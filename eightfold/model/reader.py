"""Read a .tflite file into a `Graph`, or say in one line why not."""

import math
import os
import stat
import struct
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from eightfold.common.errors import InputError, Untaken
from eightfold.golden.errors import shortened
from eightfold.model import schema
from eightfold.model.beside import check_beside, options_fault
from eightfold.model.flatbuffer import CONVERT, EXTERNAL_BUFFER, TO_INT8, Source, text
from eightfold.model.graph import Graph, Operator, Quantization, Tensor
from eightfold.model.variables import CALL_ONCE, Subgraph, initial_values, with_variables

_QUANTIZED_DIMENSION = 16
"""Where a quantization's vtable says at which byte its table holds the quantized dimension."""

_SHAPE = 4
"""Where a tensor's vtable says at which byte its table refers to the shape."""


def normalize_dimensions(model: bytes) -> bytes:
    """Return a model, its file's bytes, with the quantized dimension 0 in every tensor of rank 1.

    Some files state another one, TFLite Micro's person_detect the 3 of the weights beside each
    bias. There is no choice in such a tensor, and TFLite Micro never looks; LiteRT refuses the
    file. Nothing else of the file, which `eightfold.model.read_model` has read, changes.
    """
    changed = bytearray(model)
    places, kept = set(), set()
    for tensor in _packed_tensors(model):
        values = tensor.Quantization()
        # A file without the field means 0, the schema's default.
        if values and (offset := values._tab.Offset(_QUANTIZED_DIMENSION)):
            chosen = places if tensor.ShapeLength() == 1 else kept
            chosen.add(values._tab.Pos + offset)
    for place in places - kept:  # tensors may share what the file says of quantization
        struct.pack_into("<i", changed, place, 0)
    return bytes(changed)


def _packed_tensors(model: bytes) -> list[Any]:
    """Return the tensors of subgraph 0 of a model that was read."""
    subgraph: Any = tflite.Model.GetRootAs(model, 0).Subgraphs(0)
    return [subgraph.Tensors(index) for index in range(subgraph.TensorsLength())]


def with_shapes(model: bytes, graph: Graph) -> bytes:
    """Return a model, its file's bytes, whose tensors of subgraph 0 state the shapes of a graph.

    New shapes lie behind all else, since in the file tensors may share one; nothing else changes.
    The graph is what `read_model` read, with other shapes of the same ranks.
    """
    changed = bytearray(model) + bytes(-len(model) % 4)
    # Behind the file's tensors a graph has those of variables.
    for tensor, packed in zip(graph.tensors, _packed_tensors(model), strict=False):
        stated = tuple(packed.Shape(axis) for axis in range(packed.ShapeLength()))
        if not stated or stated == tensor.shape:
            continue
        field = packed._tab.Pos + packed._tab.Offset(_SHAPE)
        struct.pack_into("<I", changed, field, len(changed) - field)
        changed += struct.pack(f"<{len(tensor.shape) + 1}i", len(tensor.shape), *tensor.shape)
    return bytes(changed)


_IDENTIFIER = b"TFL3"
_SCHEMA_VERSION = 3
_BUILTIN_CODE = 10  # of an operator code's vtable: the accessor of `tflite` mixes both fields
_FILE_LIMIT = 1 << 29  # bytes of a file
_UNKNOWN = "code "
"""What the name of an operator without a name begins with."""

_SHOWN = 50  # operators that are not builtin, in a message
COMPOSITE = "STABLEHLO_COMPOSITE"
"""The operator that names a subgraph that computes it."""

_NOT_BUILTIN = {"CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}


Model = bytes | str | Path
"""A ``.tflite`` file, or its bytes; they may be a bytearray."""


def read_model(source: Model) -> Graph:
    """Read subgraph 0 of a model, whose operators have not passed the gate.

    Element types int8, int16, int32, int64, uint8, float32 and bool are read. Shapes are those that
    the file states for running it as it is: a batch size that could be changed by resizing is taken
    as written. `eightfold.operators.load_model` returns graphs that have passed the gate.
    Raises `InputError` if there is no such file, or it is damaged, not a model, or uses what is not
    supported: custom operators, subgraphs in use other than those of CALL_ONCE and composites,
    dynamic shapes, sparse tensors, other element types, data outside the file; or another subgraph
    or a signature is what LiteRT does not read (`eightfold.model.beside`). The message is one line
    and starts with the file's name.

    ``source``: the bytes of a ``.tflite`` file, or its path.
    """
    with named(source):
        content = model_bytes(source)
        _check_identifier(content)
        graph = _Reader(content).graph()
        _check_order(graph)
    return graph


def model_bytes(source: Model) -> bytes:
    """Return the bytes of a model; raise `InputError` if it is neither these nor such a file."""
    if isinstance(source, str | os.PathLike):
        return _read_file(source)
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    raise InputError(f"give a .tflite file or its bytes, not {type(source).__name__}")


@contextmanager
def named(source: Model) -> Iterator[None]:
    """Within it, the message of an `InputError` starts with the model's file, or with "model"."""
    label = os.fspath(source) if isinstance(source, str | os.PathLike) else "model"
    with _labelled("".join(c if c.isprintable() else "?" for c in label)):
        yield


@contextmanager
def _labelled(label: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise type(error)(f"{label}: {error}") from None


def _check_order(graph: Graph) -> None:
    """Check that operators can run in their order, each tensor is produced once, none repeated."""
    tensors = graph.tensors
    for kind, indices in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        if len(set(indices)) != len(indices):
            raise InputError(f"the graph's {kind} name a tensor twice; each can be named once")
    available = {tensor.index for tensor in tensors if tensor.data is not None}
    if constant := available & set(graph.inputs):
        raise InputError(
            f"{tensors[min(constant)]} is both a constant and an input of the graph; "
            "remove it from the inputs"
        )
    available |= set(graph.given)
    for operator in graph.operators:
        for index in operator.inputs:
            if index != -1 and index not in available:
                raise InputError(
                    f"{operator} reads {tensors[index]}, which is no input or constant and which "
                    "no earlier operator produces; sort the operators, without cycles"
                )
        for index in operator.outputs:
            if index in available:
                raise InputError(
                    f"{operator} produces {tensors[index]}, which is an input, a constant or "
                    "already produced; give it a tensor of its own"
                )
            available.add(index)
    for index in graph.results:
        if index not in available:
            raise InputError(
                f"the graph's output {tensors[index]} is never produced; remove it from the outputs"
            )


def _bound(
    operator: Operator, tensors: Sequence[Tensor], body: Subgraph, edges: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Return which tensors the inputs and outputs of a composite's body are."""
    given = [*operator.inputs, *operator.outputs]
    if [len(each) for each in edges] != [len(operator.inputs), len(operator.outputs)]:
        raise InputError(f"{operator} has other inputs and outputs than its body; {CONVERT}")
    own = [index for each in edges for index in each]
    if len(set(own)) < len(own) or -1 in given or body.handles or body.variable:
        raise Untaken(
            f"{operator} hands on an input as it is, lacks one, or keeps state; inline its body"
        )
    for inner, outer in zip(own, given, strict=True):
        one, other = body.tensors[inner], tensors[outer]
        if one.data is not None or _kind(one) != _kind(other):
            raise InputError(f"{operator}: {one} of its body is not as {other} is; {CONVERT}")
    return dict(zip(own, given, strict=True))


def _kind(tensor: Tensor) -> tuple[Any, ...]:
    """Return all that codes mean: shape, element type, scales and zero points."""
    values = tensor.quantization
    parts = values and (values.scale.tolist(), values.zero_point.tolist(), values.axis)
    return tensor.shape, tensor.dtype, parts


def _read_file(path: str | Path) -> bytes:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("not a regular file; name a .tflite file")
        if status.st_size > _FILE_LIMIT:
            raise InputError(
                f"{status.st_size} bytes, more than {_FILE_LIMIT}; use a smaller model"
            )
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{error.strerror}; name a readable .tflite file") from None
    except ValueError:  # a NUL character
        raise InputError("not a file name; name a .tflite file") from None


def _check_identifier(content: bytes) -> None:
    if not content:
        raise InputError("empty; name a .tflite file")
    if content[4:8] != _IDENTIFIER:
        raise InputError(
            f"not a .tflite file: bytes 4 to 7 are {content[4:8]!r} instead of {_IDENTIFIER!r}; "
            "name a file that the TFLite converter wrote"
        )


_DETECTOR = "TFLite_Detection_PostProcess"

_DETECTION = (
    f"{_DETECTOR} sorts and selects boxes in float32, by options that no schema describes: cut the "
    "network off before it, and compute it from the outputs there"
)


_TENSOR_LIMIT = 1 << 31  # bytes of a tensor; the hardware's addresses have 32 bits
_RANK_LIMIT = 32
_HANDLE = schema.TENSOR_TYPES["RESOURCE"]


class _TensorReader:
    """Reads all tensors of one subgraph, a generated table as ``model`` is."""

    def __init__(self, source: Source, model: Any, subgraph: Any) -> None:
        self._source = source
        self._model = model
        self._subgraph = subgraph
        self._buffer_count = model.BuffersLength()
        self._given = set(source.integers(subgraph, "Inputs"))
        self._computed = {
            index
            for operator in source.children(subgraph, "Operators")
            for index in source.integers(operator, "Outputs")
        }

    def read(self) -> tuple[Tensor, ...]:
        """Return the tensors; raise `InputError` for the first that is not sound."""
        every = self._source.children(self._subgraph, "Tensors")
        return tuple(self._tensor(index, packed) for index, packed in enumerate(every))

    def marked(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return which tensors are handles of variables, and which are variable themselves."""
        packed = [*self._source.children(self._subgraph, "Tensors")]
        return (
            frozenset(i for i, each in enumerate(packed) if each.Type() == _HANDLE),
            frozenset(i for i, each in enumerate(packed) if each.IsVariable()),
        )

    def _tensor(self, index: int, packed: Any) -> Tensor:
        name = text(packed.Name())
        code = packed.Type()
        # For messages, until what the tensor really holds is known to be sound.
        label = Tensor(index, name, (), np.dtype(np.int8), None, None)
        if code == _HANDLE:
            shape = self._shape(packed, label)
            self._quantization(packed, label, shape, label.dtype)  # LiteRT looks at it too
            return replace(label, shape=shape)
        if code not in schema.DTYPES:
            kind = next((k for k, c in schema.TENSOR_TYPES.items() if c == code), f"code {code}")
            if kind == "VARIANT":
                raise Untaken(
                    f"{label} keeps state between runs; make the state an input and an output"
                )
            known = ", ".join(dtype.name for dtype in schema.DTYPES.values())
            raise Untaken(f"{label} has element type {kind}, not {known}; {TO_INT8}")
        if packed.Sparsity() is not None:
            raise Untaken(f"{label} is sparse; store it densely")
        dtype = schema.DTYPES[code]
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
        scale = self._source.counted(values, "Scale").astype(np.float32)
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
        zero_point = self._source.counted(values, "ZeroPoint").astype(np.int64)
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


class _Reader:
    """One reading of one file; messages do not name the file yet."""

    def __init__(self, content: bytes) -> None:
        self._source = Source(content)
        self._model = self._source.model()
        if self._model.Version() != _SCHEMA_VERSION:
            raise InputError(
                f"schema version {self._model.Version()} instead of {_SCHEMA_VERSION}; {CONVERT}"
            )
        if self._model.BuffersLength() == 0:
            raise InputError(f"no buffer in it, not even the empty one; {CONVERT}")
        if self._model.SubgraphsLength() == 0:
            raise InputError(f"no subgraph in it; {CONVERT}")

    def graph(self) -> Graph:
        packed = self._source.child(self._model.Subgraphs(0))
        codes = [*map(self._operator_code, self._source.children(self._model, "OperatorCodes"))]
        main, used = self._part(packed, codes)
        main = self._inlined(main, codes)
        count = len(main.tensors)
        graph = Graph(
            tensors=main.tensors,
            operators=main.operators,
            inputs=self._indices(packed, "Inputs", "the graph", count),
            outputs=self._indices(packed, "Outputs", "the graph", count),
            description=text(self._model.Description()),
        )
        check_beside(self._source.content, [name for _, name in codes], used)
        values = [self._initial(op, codes) for op in main.operators if op.name == CALL_ONCE]
        return with_variables(graph, main, values)

    def _part(self, packed: Any, codes: Sequence[tuple[bool, str]]) -> tuple[Subgraph, set[int]]:
        """Return a subgraph, and the numbers of the operator codes that it has."""
        reader = _TensorReader(self._source, self._model, packed)
        tensors = reader.read()
        operators = self._operators(packed, codes)
        used = [each.OpcodeIndex() for each in operators]
        named = [
            self._operator(index, each, codes[code][1], len(tensors))
            for index, (each, code) in enumerate(zip(operators, used, strict=True))
        ]
        return Subgraph(tensors, tuple(named), *reader.marked()), set(used)

    def _inlined(
        self, part: Subgraph, codes: Sequence[tuple[bool, str]], within: tuple[int, ...] = (0,)
    ) -> Subgraph:
        """Return a subgraph with the bodies of its composites in their places.

        STABLEHLO_COMPOSITE's inputs and outputs stand for those of the subgraph that its options
        name; its other tensors follow. ``within``: the subgraphs that lead here.
        """
        tensors = list(part.tensors)
        operators: list[Operator] = []
        for operator in part.operators:
            if operator.name != COMPOSITE:
                operators.append(replace(operator, index=len(operators)))
                continue
            number = operator.options["decomposition_subgraph_index"]
            if number in within:
                raise InputError(f"{operator} runs subgraph {number}, in which it is; {CONVERT}")
            packed, body = self._other(operator, number, codes)
            body = self._inlined(body, codes, (*within, number))
            count = len(body.tensors)
            edges = [
                self._indices(packed, field, f"subgraph {number}", count)
                for field in ("Inputs", "Outputs")
            ]
            places = _bound(operator, tensors, body, edges)
            for tensor in body.tensors:
                if tensor.index not in places:
                    places[tensor.index] = len(tensors)
                    tensors.append(replace(tensor, index=len(tensors)))
            for inner in body.operators:
                inputs = tuple(places.get(index, -1) for index in inner.inputs)
                outputs = tuple(places[index] for index in inner.outputs)
                index = len(operators)
                operators.append(replace(inner, index=index, inputs=inputs, outputs=outputs))
        return replace(part, tensors=tuple(tensors), operators=tuple(operators))

    def _other(
        self, operator: Operator, number: int, codes: Sequence[tuple[bool, str]]
    ) -> tuple[Any, Subgraph]:
        """Return the subgraph that an operator runs, packed and read."""
        if not 0 < number < self._model.SubgraphsLength():
            raise InputError(f"{operator} runs subgraph {number}, and there is none; {CONVERT}")
        packed = self._source.child(self._model.Subgraphs(number))
        with _labelled(f"subgraph {number}"):
            return packed, self._part(packed, codes)[0]

    def _initial(
        self, operator: Operator, codes: Sequence[tuple[bool, str]]
    ) -> dict[Hashable, Tensor]:
        """Return the values that variables have from the subgraph that a CALL_ONCE runs."""
        number = operator.options["init_subgraph_index"]
        _, part = self._other(operator, number, codes)
        with _labelled(f"subgraph {number}"):
            return initial_values(part)

    def _operators(self, subgraph: Any, known: Sequence[tuple[bool, str]]) -> list[Any]:
        """Return the packed operators; refuse all at once that are not builtin."""
        operators = []
        unknown = {}
        for index, packed in enumerate(self._source.children(subgraph, "Operators")):
            code = packed.OpcodeIndex()
            if code >= len(known):
                raise InputError(
                    f"operator {index} refers to operator code {code} of {len(known)}; {CONVERT}"
                )
            builtin, name = known[code]
            if not builtin:
                unknown.setdefault(name, index)
            operators.append(packed)
        if unknown:
            listed = ", ".join(f"{name} (operator {i})" for name, i in [*unknown.items()][:_SHOWN])
            if len(unknown) > _SHOWN:
                listed += f" and {len(unknown) - _SHOWN} more"
            is_detector = f"custom {_DETECTOR!r}" in unknown
            advice = _DETECTION if is_detector else "replace them by builtin ones"
            raise Untaken(f"not builtin operators: {listed}; {advice}")
        # LiteRT refuses these even if no operator refers to them.
        if strange := [name for _, name in known if name.startswith(_UNKNOWN)]:
            raise InputError(f"among its operator codes is an unknown one, {strange[0]}; {CONVERT}")
        return operators

    def _operator_code(self, packed: Any) -> tuple[bool, str]:
        """Return whether a code stands for a builtin operator, and its name or what it says."""
        # Old files have only the first field, which holds codes up to 127.
        code = max(packed.DeprecatedBuiltinCode(), self._source.number(packed, _BUILTIN_CODE))
        name = schema.OPERATOR_NAMES.get(code, f"{_UNKNOWN}{code}")
        if name == "CUSTOM" and packed.CustomCode() is None:
            return False, f"{_UNKNOWN}{code} without a name"
        if name == "CUSTOM":
            return False, f"custom {text(packed.CustomCode())[:60]!r}"
        return code in schema.OPERATOR_NAMES and name not in _NOT_BUILTIN, name

    def _operator(self, index: int, packed: Any, name: str, tensor_count: int) -> Operator:
        where = f"operator {index} {name}"
        try:
            options = self._options(packed, name)
        except ValueError as error:
            raise InputError(f"{where}: {error}; {CONVERT}") from None
        if name not in (CALL_ONCE, COMPOSITE) and any("subgraph" in field for field in options):
            raise Untaken(f"{where} runs another subgraph; flatten the model into one")
        return Operator(
            index=index,
            name=name,
            inputs=self._indices(packed, "Inputs", where, tensor_count, lowest=-1),
            outputs=self._indices(packed, "Outputs", where, tensor_count),
            options=options,
            intermediates=self._indices(packed, "Intermediates", where, tensor_count),
        )

    def _indices(
        self, packed: Any, field: str, where: str, tensor_count: int, lowest: int = 0
    ) -> tuple[int, ...]:
        indices = self._source.integers(packed, field)
        for index in indices:
            if not lowest <= index < tensor_count:
                raise InputError(
                    f"{where} names tensor {index} among its {field.lower()}, "
                    f"but there are {tensor_count}; {CONVERT}"
                )
        return indices

    def _options(self, packed: Any, name: str) -> dict[str, Any]:
        table = schema.options_name(name)
        if table is None:
            return {}
        union = next(union for union, codes in schema.UNIONS.items() if table in codes)
        code = getattr(packed, union + "Type")()
        if code not in (0, schema.UNIONS[union][table]):
            held = next((k for k, c in schema.UNIONS[union].items() if c == code), f"code {code}")
            raise ValueError(f"its options are {held} instead of {table}")
        content = getattr(packed, union)() if code else None
        values = schema.options_table(table)  # the schema's defaults
        if content is not None:
            self._source.table(values, content.Pos)
        if fault := options_fault(self._source, name, table, content and values):
            raise ValueError(fault)
        return schema.decoded_options(table, values, self._source.counted)
