"""The rows: the operator table of the TFLite 8-bit quantization spec, in its order.

Source: TensorFlow Lite 8-bit quantization specification, "int8 quantized operator specifications".
Operands with the source ``KERNELS`` are not in the table: TFLite reference kernels.
"""

from dataclasses import replace

from eightfold.spec.row import (
    INT32_RANGE,
    WEIGHT_RANGE,
    FixedQuantization,
    Granularity,
    Restriction,
    Role,
    Row,
    Source,
    TensorRule,
)

_INT8 = TensorRule()
_OTHER_INT8 = TensorRule(source=Source.KERNELS)


def _unquantized(*dtypes: str) -> TensorRule:
    return TensorRule(
        dtypes=dtypes,
        range=None,
        granularity=Granularity.UNQUANTIZED,
        source=Source.KERNELS,
    )


_INT32 = _unquantized("int32")
_INDEX = _unquantized("int32", "int64")
_BOOL = _unquantized("bool")


def _fixed(numerator: float, denominator: float, zero_point: int) -> tuple[TensorRule, ...]:
    return (TensorRule(restriction=FixedQuantization(numerator, denominator, zero_point)),)


def _multiply_accumulate(granularity: Granularity, axis: int) -> tuple[TensorRule, ...]:
    """Return the inputs of an operator with weights, whose channels lie along ``axis``."""
    weight = TensorRule(
        range=WEIGHT_RANGE,
        granularity=granularity,
        axis=axis,
        restriction=Restriction.SYMMETRIC,
        role=Role.WEIGHT,
    )
    bias = TensorRule(
        dtypes=("int32",),
        range=INT32_RANGE,
        granularity=granularity,
        restriction=Restriction.BIAS,
        role=Role.BIAS,
        optional=True,
    )
    return (_INT8, weight, bias)


def _comparison(name: str) -> Row:
    return Row(name, (_INT8, _INT8), (_BOOL,))


ROWS: tuple[Row, ...] = (
    Row("ADD", (_INT8, _INT8)),
    Row("AVERAGE_POOL_2D", same=True),
    Row("CONCATENATION", same=True, variadic=True),
    Row("CONV_2D", _multiply_accumulate(Granularity.PER_AXIS, 0)),
    Row("DEPTHWISE_CONV_2D", _multiply_accumulate(Granularity.PER_AXIS, 3)),
    Row("FULLY_CONNECTED", _multiply_accumulate(Granularity.PER_TENSOR, 0)),
    Row("L2_NORMALIZATION", outputs=_fixed(1.0, 128.0, 0)),
    Row("LOGISTIC", outputs=_fixed(1.0, 256.0, -128)),
    Row("MAX_POOL_2D", same=True),
    Row("MUL", (_INT8, _INT8)),
    Row("RESHAPE", (_INT8, replace(_INT32, optional=True)), same=True),
    Row("RESIZE_BILINEAR", (_INT8, _INT32), same=True),
    Row("SOFTMAX", outputs=_fixed(1.0, 256.0, -128)),
    Row("SPACE_TO_DEPTH", same=True),
    Row("TANH", outputs=_fixed(1.0, 128.0, 0)),
    Row("PAD", (_INT8, _INDEX), same=True),
    Row("GATHER", (_INT8, _unquantized("int16", "int32", "int64")), same=True),
    Row("BATCH_TO_SPACE_ND", (_INT8, _INT32, _INT32), same=True),
    Row("SPACE_TO_BATCH_ND", (_INT8, _INT32, _INT32), same=True),
    Row("TRANSPOSE", (_INT8, _INT32), same=True),
    Row("MEAN", (_INT8, _INT32)),
    Row("SUB", (_INT8, _INT8)),
    Row("SUM", (_INT8, _INT32)),
    Row("SQUEEZE", same=True),
    Row("LOG_SOFTMAX", outputs=_fixed(16.0, 256.0, 127)),
    Row("MAXIMUM", (_INT8, _OTHER_INT8), same=True),
    Row("ARG_MAX", (_INT8, _INDEX), (_INDEX,)),
    Row("MINIMUM", (_INT8, _OTHER_INT8), same=True),
    _comparison("LESS"),
    Row("PADV2", (_INT8, _INDEX, _OTHER_INT8), same=True),
    _comparison("GREATER"),
    _comparison("GREATER_EQUAL"),
    _comparison("LESS_EQUAL"),
    Row("SLICE", (_INT8, _INDEX, _INDEX), same=True),
    _comparison("EQUAL"),
    _comparison("NOT_EQUAL"),
    Row("SHAPE", outputs=(_INDEX,)),
    Row("QUANTIZE", remark="Requantization"),
)
"""One row per operator of the table."""

_PLACES = {row.name: place for place, row in enumerate(ROWS, start=1)}


def row_of(operator: str) -> Row | None:
    """Return the row of an operator by the schema's name; None if the spec has none."""
    return ROWS[_PLACES[operator] - 1] if operator in _PLACES else None


def place_of(row: Row) -> int:
    """Return the number of a row in the table, from 1."""
    return _PLACES[row.name]
