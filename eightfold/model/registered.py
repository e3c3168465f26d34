"""What LiteRT's reference kernels are registered for, and options that it refuses to read.

It looks at both when it loads a file, whatever of the file is run then.

Source: ``BuiltinRefOpResolver`` and ``ParseOpData`` of LiteRT 2.3.0, asked with a file for each
code and each rule; `tests/eightfold/model/test_beside.py` asks again.
"""

from typing import Any

from eightfold.model.flatbuffer import Source
from eightfold.model.schema import OPERATOR_CODES, option_codes, option_fields, vector_type

_STABLEHLO = "STABLEHLO_"
_STABLEHLO_KERNELS = {
    f"{_STABLEHLO}{name}"
    for name in (
        "ADD",
        "COMPOSITE",
        "GATHER",
        "MAXIMUM",
        "MINIMUM",
        "MULTIPLY",
        "PAD",
        "REDUCE_WINDOW",
        "RNG_BIT_GENERATOR",
        "SCATTER",
    )
}

NO_KERNEL = frozenset(
    {
        "CALL",
        "CEIL",
        "CONCAT_EMBEDDINGS",
        "DELEGATE",
        "ELU",
        "HASHTABLE",
        "HASHTABLE_FIND",
        "HASHTABLE_IMPORT",
        "HASHTABLE_SIZE",
        "PLACEHOLDER_FOR_GREATER_OP_CODES",
        "ROUND",
        "SEGMENT_SUM",
    }
    | {name for name in OPERATOR_CODES if name.startswith(_STABLEHLO)} - _STABLEHLO_KERNELS
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

    Raises `InputError` if options refer to bytes outside of the file.

    ``table``, ``options``: its options' name and their accessors; None if it has none, or those of
        another operator.
    """
    if table is None or options is None:
        return f"{name} has no options" if name in _NOT_EMPTY else None
    fields = option_fields(table)
    for field in _NEEDED.get(name, ()):
        held = getattr(options, f"{fields[field]}IsNone", None) or getattr(options, fields[field])
        if held() in (True, None):
            return f"{field} is left out"
    lengths = {}
    for field, accessor in fields.items():
        if vector_type(table, accessor) is not None:
            lengths[field] = source.vector(options, accessor).size
        elif field in _TYPES | _MEMBERS and not _is_known(field, getattr(options, accessor)()):
            return f"{field} has the unknown code {getattr(options, accessor)()}"
    return _lengths_fault(name, lengths)


def _is_known(field: str, code: int) -> bool:
    if field in _TYPES:
        return code in ELEMENT_BITS
    codes = option_codes(field) or {}
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
