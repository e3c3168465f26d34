"""The TFLite schema by name: operators, their option fields and enums, tensor types.

Everything is looked up in the flatbuffer classes that the package `tflite` generates from the
schema, so that every builtin operator is covered and nothing is written per operator. Option fields
carry the schema's own snake_case names, enums are strings: ``{"padding": "SAME", "stride_w": 2}``.

The package has the schema of TensorFlow 2.18. What LiteRT has added since is refused when it is
read: element types above 18, the operator STABLEHLO_CASE, data outside of the file (see
`eightfold.model.reader`). One addition is passed over: ``quant_spec`` of FULLY_CONNECTED, which
nothing here has ever read.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tflite
from flatbuffers import number_types

_ENUM_OF_FIELD = {
    "algorithm": "RngAlgorithm",
    "combiner": "CombinerType",
    "compare_type": "StablehloComparisonType",
    "comparison_direction": "StablehloComparisonDirection",
    "fused_activation_function": "ActivationFunctionType",
    "kernel_type": "LSTMKernelType",
    "mode": "MirrorPadMode",
    "padding": "Padding",
    "reduce_function": "ReduceWindowFunction",
    "type": "LSHProjectionType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    **dict.fromkeys(("in_data_type", "out_data_type", "out_type", "output_type"), "TensorType"),
    **dict.fromkeys(("idx_out_type", "key_dtype", "value_dtype"), "TensorType"),
    "quantized_bias_type": "TensorType",
}

_SHARED_OPTIONS = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), "MaximumMinimumOptions"),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_ALL", "REDUCE_ANY"), "ReducerOptions"),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"), "ReducerOptions"),
    **dict.fromkeys(("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"), "RandomOptions"),
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
}


def _codes(enum: str) -> dict[str, int]:
    return {name: code for name, code in vars(getattr(tflite, enum)).items() if name[0] != "_"}


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


OPERATOR_CODES = _codes("BuiltinOperator")
"""Every builtin operator's code, by the operator's name."""

OPERATOR_NAMES = {code: name for name, code in OPERATOR_CODES.items()}
"""The reverse of `OPERATOR_CODES`."""

UNIONS = {"BuiltinOptions": _codes("BuiltinOptions"), "BuiltinOptions2": _codes("BuiltinOptions2")}
"""Type codes of the two unions that hold an operator's options, by the name of the table."""

TENSOR_TYPES = _codes("TensorType")
"""Codes of the tensor element types, by name."""

DTYPES = {
    TENSOR_TYPES[np.dtype(kind).name.upper()]: np.dtype(kind)
    for kind in (np.int8, np.int16, np.int32, np.int64, np.float32, np.bool_, np.uint8)
}
"""The element types that are read and written, by code."""

_ENUMS = {enum: _codes(enum) for enum in set(_ENUM_OF_FIELD.values())}
_OPTIONS = {_letters(name): name for codes in UNIONS.values() for name in codes}


def options_name(operator: str) -> str | None:
    """Return the name of an operator's options table, or None if it has no options."""
    return _SHARED_OPTIONS.get(operator) or _OPTIONS.get(_letters(operator) + "options")


class _LeftOut:
    """A table without any of its fields, of which accessors return the schema's defaults."""

    Pos = 0

    def Offset(self, slot: int) -> int:  # noqa: N802 (called by the generated classes)
        return 0


class _Typed(_LeftOut):
    """A table of empty vectors, which have the element type that the schema gives them."""

    def Offset(self, slot: int) -> int:  # noqa: N802
        return slot

    def GetVectorAsNumpy(self, flags: Any, offset: int) -> np.ndarray:  # noqa: N802
        return np.empty(0, number_types.to_numpy_type(flags))


def options_table(table: str, packed: Any = None) -> Any:
    """Return accessors of an options table, on a flatbuffer's or with all fields left out."""
    accessors = getattr(tflite, table)()
    accessors._tab = packed or _LeftOut()
    return accessors


def option_fields(table: str) -> dict[str, str]:
    """Return the accessors' names of an options table by field, in the schema's order."""
    names = [name for name in vars(getattr(tflite, table)) if hasattr(tflite, f"{table}Add{name}")]
    return {snake_case(name): name for name in names}


def vector_type(table: str, accessor: str) -> np.dtype | None:
    """Return the element type of an option that is a vector of numbers, None for other options."""
    vector = getattr(options_table(table, _Typed()), f"{accessor}AsNumpy", None)
    return vector().dtype if vector else None


def snake_case(accessor: str) -> str:
    """Return the schema's name of an accessor: ``StrideW`` reads ``stride_w``."""
    words = re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), accessor)
    return words.removeprefix("_")


def option_codes(field: str) -> dict[str, int] | None:
    """Return the codes of an option by name; None if it is no enum."""
    return _ENUMS.get(_ENUM_OF_FIELD.get(field, ""))


def encode_option(field: str, value: Any) -> Any:
    """Return an option as the flatbuffer holds it; `ValueError` if an enum has no such string."""
    codes = option_codes(field)
    if isinstance(value, str) and codes is not None:
        if value not in codes:
            raise ValueError(f"{field} must be one of {', '.join(codes)}, not {value!r}")
        return codes[value]
    return value


def decoded_options(
    table: str, values: Any, vector: Callable[[Any, str], np.ndarray]
) -> dict[str, Any]:
    """Return an operator's options by field as plain values: those that are left out by default.

    ``values``: accessors from `options_table`. ``vector``: reads numbers by an accessor's name.
    Raises `ValueError` if a code is not a member of the field's enum.
    """
    return {
        field: _decoded(
            field,
            getattr(values, accessor)()
            if vector_type(table, accessor) is None
            else vector(values, accessor),
        )
        for field, accessor in option_fields(table).items()
    }


def _decoded(field: str, value: Any) -> Any:
    """Return an option as a plain value: enums as strings, vectors as tuples, text as `str`."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    codes = option_codes(field)
    if codes is not None and isinstance(value, int):
        for name, code in codes.items():
            if code == value:
                return name
        raise ValueError(f"{field} has the unknown code {value}")
    return value
