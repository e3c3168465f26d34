"""What LiteRT looks at when it loads a file, beside what is run: all that the file holds.

Those are other subgraphs than 0, signatures, codes of operators, and every operator's options.
Nothing of it is run here. LiteRT reads all of it before it runs subgraph 0, and refuses a file for
some of what it finds; so do the checks here. It prepares no other subgraph: what it would find out
only then, such as an operand that is no tensor, is no reason to refuse the file.

Source: ``InterpreterBuilder``, ``BuiltinRefOpResolver`` and ``ParseOpData`` of LiteRT 2.3.0, asked
with a file for each code and each rule; `tests/eightfold/model/test_beside.py` asks again.
"""

from collections.abc import Collection, Sequence
from typing import Any

import tflite

from eightfold.common.errors import InputError
from eightfold.golden.errors import shortened
from eightfold.model import schema
from eightfold.model.flatbuffer import CONVERT, EXTERNAL_BUFFER, Source

_ADDRESSES = 1 << 64
"""LiteRT counts elements and bytes in 64 bits."""

_BLOCKWISE = 2
"""The kind of a quantization's details that is younger than the schema of `tflite`."""

_DENSE, _SPARSE = 0, 1


def check_beside(content: bytes, names: Sequence[str], used: Collection[int]) -> None:
    """Refuse a file for what LiteRT refuses it for, beside subgraph 0, which has been read.

    ``names``: of all operator codes: the builtin operator's, another one for what is not builtin.
    ``used``: numbers of the codes that operators of subgraph 0 refer to.
    """
    for number, name in enumerate(names):
        if number not in used and name in NO_KERNEL:
            raise InputError(
                f"operator code {number}, which no operator of subgraph 0 has, is {name}; LiteRT "
                f"has no kernel for it; {CONVERT}"
            )
    source = Source(content)
    model = source.model()
    tensors = [source.child(model.Subgraphs(0)).TensorsLength()]
    for number in range(1, model.SubgraphsLength()):
        subgraph = source.child(model.Subgraphs(number))
        _Subgraph(source, model, subgraph, number).check(names)
        tensors.append(subgraph.TensorsLength())
    for number, signature in enumerate(source.children(model, "SignatureDefs")):
        _check_signature(source, signature, number, tensors)


class _Subgraph:
    """A subgraph other than 0."""

    def __init__(self, source: Source, model: Any, subgraph: Any, number: int) -> None:
        self._source, self._model, self._subgraph = source, model, subgraph
        self._label = f"subgraph {number}"

    def check(self, names: Sequence[str]) -> None:
        if self._subgraph.TensorsIsNone():
            raise InputError(f"{self._label} has no tensors; {CONVERT}")
        for index, packed in enumerate(self._source.children(self._subgraph, "Tensors")):
            if fault := self._tensor_fault(packed):
                raise InputError(f"{self._label}: tensor {index} {fault}; {CONVERT}")
        for index, packed in enumerate(self._source.children(self._subgraph, "Operators")):
            if fault := self._operator_fault(packed, names):
                raise InputError(f"{self._label}: operator {index} {fault}; {CONVERT}")

    def _operator_fault(self, packed: Any, names: Sequence[str]) -> str | None:
        code = int(packed.OpcodeIndex())
        if code >= len(names):
            return f"refers to operator code {code} of {len(names)}"
        name = names[code]
        table = schema.options_name(name)
        options = None
        for union, codes in schema.UNIONS.items():
            if table in codes and getattr(packed, f"{union}Type")() == codes[table]:
                content = getattr(packed, union)()
                if content is not None:
                    options = self._source.table(getattr(tflite, table)(), content.Pos)
        fault = options_fault(self._source, name, table, options)
        return fault and f"{name}: {fault}"

    def _tensor_fault(self, packed: Any) -> str | None:
        code = packed.Type()
        shape = self._source.integers(packed, "Shape")
        if code not in ELEMENT_BITS:
            return f"has the element type code {code}"
        size = _size(shape, ELEMENT_BITS[code])
        if size is None:
            return f"of shape {shortened(shape)} has a size that nothing holds"
        if fault := self._quantization_fault(packed, shape):
            return fault
        content = self._content(packed)
        if content is None:
            variable_text = packed.IsVariable() and not ELEMENT_BITS[code]
            return "is text, and keeps state between runs" if variable_text else None
        if packed.IsVariable():
            return "keeps state between runs, and has data"
        if self._source.number(packed, EXTERNAL_BUFFER):
            return "has data inside of the flatbuffer, and outside"
        sparsity = self._source.child(packed.Sparsity())
        if sparsity is not None:
            return None if self._is_sparse(sparsity) else "has a sparsity that is not complete"
        if content < size:
            return f"takes {size} bytes, but its data has {content}"
        return None

    def _content(self, packed: Any) -> int | None:
        """Return the bytes of a constant; None if the tensor is none."""
        index = packed.Buffer()
        count = self._model.BuffersLength()
        if index == 0:
            return None
        if index >= count:
            raise InputError(
                f"{self._label} has a tensor that refers to buffer {index} of {count}; {CONVERT}"
            )
        buffer = self._source.child(self._model.Buffers(index))
        if not buffer.DataIsNone():
            return self._source.vector(buffer, "Data").size
        if buffer.Offset() <= 1:
            return None
        self._source.check(buffer.Offset(), buffer.Size())
        return buffer.Size()

    def _quantization_fault(self, packed: Any, shape: Sequence[int]) -> str | None:
        values = self._source.child(packed.Quantization())
        if values is None:
            return None
        if values.DetailsType() == _BLOCKWISE:
            return None if values.Details() else "has a blockwise quantization without blocks"
        scales = self._source.vector(values, "Scale").size
        points = self._source.vector(values, "ZeroPoint").size
        axis = values.QuantizedDimension()
        if not scales:
            return None
        if points != scales:
            return f"has {scales} scales and {points} zero points"
        if axis < 0 or (shape and axis >= len(shape)):
            return f"is quantized along dimension {axis} of {len(shape)}"
        if scales > 1 and shape and scales != shape[axis]:
            return f"has {scales} scales for shape {shortened(shape)}"
        return None

    def _is_sparse(self, values: Any) -> bool:
        """Return whether a sparsity says of every dimension how it is stored."""
        if values.TraversalOrderIsNone() or values.DimMetadataIsNone():
            return False
        for stored in self._source.children(values, "DimMetadata"):
            if stored.Format() not in (_DENSE, _SPARSE):
                return False
            if stored.Format() == _SPARSE and not all(
                self._has_values(getattr(stored, part)(), getattr(stored, f"{part}Type")())
                for part in ("ArraySegments", "ArrayIndices")
            ):
                return False
        return True

    def _has_values(self, content: Any, code: int) -> bool:
        names = {code: name for name, code in vars(tflite.SparseIndexVector).items()}
        if content is None or not hasattr(tflite, names.get(code, "")):
            return False
        vector = self._source.table(getattr(tflite, names[code])(), content.Pos)
        return not vector.ValuesIsNone()


def _size(shape: Sequence[int], bits: int) -> int | None:
    """Return the bytes of a dense tensor, 0 if its content decides; None if they are too many."""
    if not bits:
        return 0
    elements = 1
    for size in shape:
        elements *= size
        if size < 0 or elements >= _ADDRESSES:
            return None
    return size if (size := -(-elements * bits // 8)) < _ADDRESSES else None


def _check_signature(source: Source, packed: Any, number: int, tensors: Sequence[int]) -> None:
    """Refuse a signature without readable names, or leading nowhere; ``tensors``: per subgraph."""
    label = f"signature {number}"
    subgraph = packed.SubgraphIndex()
    if packed.SignatureKey() is None:
        raise InputError(f"{label} has no name; {CONVERT}")
    if subgraph >= len(tensors):
        raise InputError(f"{label} is of subgraph {subgraph} of {len(tensors)}; {CONVERT}")
    words = [packed.SignatureKey()]
    for field in ("Inputs", "Outputs"):
        for named in source.children(packed, field):
            words.append(named.Name() or b"")
            if named.TensorIndex() >= tensors[subgraph]:
                raise InputError(
                    f"{label} names tensor {named.TensorIndex()} among its {field.lower()}, but "
                    f"subgraph {subgraph} has {tensors[subgraph]}; {CONVERT}"
                )
    for word in words:
        try:
            word.decode()
        except UnicodeDecodeError:
            raise InputError(f"{label} has a name that is no UTF-8; {CONVERT}") from None


_STABLEHLO_KERNELS = {
    *("STABLEHLO_ADD", "STABLEHLO_COMPOSITE", "STABLEHLO_GATHER", "STABLEHLO_MAXIMUM"),
    *("STABLEHLO_MINIMUM", "STABLEHLO_MULTIPLY", "STABLEHLO_PAD", "STABLEHLO_REDUCE_WINDOW"),
    *("STABLEHLO_RNG_BIT_GENERATOR", "STABLEHLO_SCATTER"),
}

NO_KERNEL = frozenset(
    {name for name in schema.OPERATOR_CODES if name.startswith("STABLEHLO_")} - _STABLEHLO_KERNELS
    | {"HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE"}
    | {"CALL", "CEIL", "CONCAT_EMBEDDINGS", "DELEGATE", "ELU", "ROUND", "SEGMENT_SUM"}
    | {"PLACEHOLDER_FOR_GREATER_OP_CODES"}
)
"""Operators of the schema that no version of a reference kernel computes."""

LOWEST_VERSIONS = {"BROADCAST_TO": 2}
"""Operators whose version 1 has no reference kernel, and the lowest one that has."""

ELEMENT_BITS = {
    **dict(enumerate((32, 16, 32, 8, 64, 0, 8, 16, 64, 8, 64, 128, 64, 0, 0, 32, 16, 4, 16))),
    **{19: 2, 20: 4, 21: 8, 22: 8},
}
"""Bits of an element by the code of its type, with those that are younger than the schema of
`tflite`; 0 where the content decides it: text, resources, variants."""

_DIMENSIONS = 8
"""Numbers of an option that is a shape, or lists dimensions, at most."""

_OF_DIMENSIONS = {"RESHAPE", "SQUEEZE", "STABLEHLO_GATHER", "STABLEHLO_PAD", "STABLEHLO_SCATTER"}

_NEEDED = {
    "BUCKETIZE": ("boundaries",),
    "STABLEHLO_COMPOSITE": ("name", "composite_attributes"),
    "STABLEHLO_PAD": ("edge_padding_low", "edge_padding_high", "interior_padding"),
    "STABLEHLO_REDUCE_WINDOW": ("window_dimensions",),
}
"""Options that an operator cannot be without, if it has any."""

_NOT_EMPTY = {"LSTM", "STABLEHLO_COMPOSITE", "STABLEHLO_PAD", "STABLEHLO_REDUCE_WINDOW"}
"""Operators that cannot be without options."""

_MEMBERS = {"kernel_type", "reduce_function", "weights_format"}
"""Options that must be a member of their enum, and not its UNSUPPORTED."""

_TYPES = {"in_data_type", "out_data_type", "out_type", "output_type", "quantized_bias_type"}
"""Options that must be a type of elements."""


def options_fault(source: Source, name: str, table: str | None, options: Any) -> str | None:
    """Return in words which option of an operator LiteRT refuses to read; None if it reads all.

    ``table``, ``options``: name and accessors; None without options, or with another operator's.
    """
    if table is None or options is None:
        return f"{name} has no options" if name in _NOT_EMPTY else None
    fields = schema.option_fields(table)
    for field in _NEEDED.get(name, ()):
        held = getattr(options, f"{fields[field]}IsNone", None) or getattr(options, fields[field])
        if held() in (True, None):
            return f"{field} is left out"
    lengths = {}
    for field, accessor in fields.items():
        if schema.vector_type(table, accessor) is not None:
            lengths[field] = source.vector(options, accessor).size
        elif field in _TYPES | _MEMBERS and not _is_known(field, getattr(options, accessor)()):
            return f"{field} has the unknown code {getattr(options, accessor)()}"
    return _lengths_fault(name, lengths)


def _is_known(field: str, code: int) -> bool:
    if field in _TYPES:
        return code in ELEMENT_BITS
    codes = schema.option_codes(field) or {}
    return code in codes.values() and code != codes.get("UNSUPPORTED")


def _lengths_fault(name: str, lengths: dict[str, int]) -> str | None:
    """Return in words which vector of an operator's options is as long as it must not be."""
    if name in _OF_DIMENSIONS:
        for field, length in lengths.items():
            if length > _DIMENSIONS:
                return f"{field} has {length} numbers; the limit is {_DIMENSIONS}"
    if name == "STABLEHLO_PAD" and len(set(lengths.values())) > 1:
        return f"{', '.join(lengths)} are not of one length"
    if name == "STABLEHLO_REDUCE_WINDOW":
        count = lengths["window_dimensions"]
        if not 0 < count <= _DIMENSIONS:
            return f"window_dimensions has {count} numbers, not 1 to {_DIMENSIONS}"
        for field, length in lengths.items():
            if length not in (0, 2 * count if field == "padding" else count):
                return f"{field} has {length} numbers for {count} window_dimensions"
    return None
