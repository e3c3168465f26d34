"""The TFLite schema by name: operators, their option fields and enums, tensor types.

Everything is looked up in the flatbuffer classes that `ai_edge_litert` generates from the schema,
so that every builtin operator is covered and nothing is written per operator. Option fields carry
the schema's own snake_case names, enums are strings: ``{"padding": "SAME", "stride_w": 2}``.
"""

import re
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as generated

_ENUM_OF_FIELD = {
    "algorithm": "RngAlgorithm",
    "combiner": "CombinerType",
    "compare_type": "StablehloComparisonType",
    "comparison_direction": "StablehloComparisonDirection",
    "fused_activation_function": "ActivationFunctionType",
    "idx_out_type": "TensorType",
    "in_data_type": "TensorType",
    "kernel_type": "LSTMKernelType",
    "key_dtype": "TensorType",
    "mode": "MirrorPadMode",
    "out_data_type": "TensorType",
    "out_type": "TensorType",
    "output_type": "TensorType",
    "padding": "Padding",
    "quantized_bias_type": "TensorType",
    "reduce_function": "ReduceWindowFunction",
    "type": "LSHProjectionType",
    "value_dtype": "TensorType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
}

_SHARED_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MULTINOMIAL": "RandomOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
    "RANDOM_UNIFORM": "RandomOptions",
    "REDUCE_ALL": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "SUM": "ReducerOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
}


def _codes(enum: str) -> dict[str, int]:
    return {name: code for name, code in vars(getattr(generated, enum)).items() if name[0] != "_"}


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


OPERATOR_CODES = _codes("BuiltinOperator")
"""Every builtin operator's code, by the operator's name."""

OPERATOR_NAMES = {code: name for name, code in OPERATOR_CODES.items()}
"""The reverse of `OPERATOR_CODES`."""

UNIONS = {
    "BuiltinOptions": _codes("BuiltinOptions"),
    "BuiltinOptions2": _codes("BuiltinOptions2"),
}
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


def snake_case(attribute: str) -> str:
    """Return the schema's name of a generated attribute: ``strideW`` is ``stride_w``."""
    return re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), attribute)


def encode_option(field: str, value: Any) -> Any:
    """Return an option's value as the flatbuffer classes hold it.

    Raises
    ------
    ValueError
        If ``value`` is a string and not a member of the field's enum.
    """
    if isinstance(value, str) and field in _ENUM_OF_FIELD:
        codes = _ENUMS[_ENUM_OF_FIELD[field]]
        if value not in codes:
            raise ValueError(f"{field} must be one of {', '.join(codes)}, not {value!r}")
        return codes[value]
    if isinstance(value, (tuple, np.ndarray)):
        return list(value)  # the generated classes write lists with the width of the schema
    return value


def decode_option(field: str, value: Any) -> Any:
    """Return an option as a plain value: enums as strings, vectors as tuples, text as `str`.

    Raises
    ------
    ValueError
        If the code is not a member of the field's enum.
    """
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if field in _ENUM_OF_FIELD and isinstance(value, int):
        for name, code in _ENUMS[_ENUM_OF_FIELD[field]].items():
            if code == value:
                return name
        raise ValueError(f"{field} has the unknown code {value}")
    return value
