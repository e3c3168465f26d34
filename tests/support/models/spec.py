"""A conforming model for each row of the spec, and the same with one operand changed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eightfold.model import Graph, read_model
from eightfold.model.builder import ModelBuilder
from eightfold.operators import check_model
from eightfold.operators.spec import RESULTS, rule

_WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
_POOL = {**_WINDOW, "filter_height": 2, "filter_width": 2}
_CHANNEL_SCALES = np.array([0.1, 1 / 3, 1e-6], np.float32)
_INPUT_SCALE = np.float32(0.3)


def _int8(*shape: int, scale: Any = _INPUT_SCALE, zero_point: int = 3) -> dict[str, Any]:
    return {"shape": shape, "scale": scale, "zero_point": zero_point}


def _plain(dtype: type[np.generic], *shape: int) -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype}


def _numbers(*values: Any, dtype: type[np.signedinteger] = np.int32) -> dict[str, Any]:
    return {"array": np.array(values[0] if len(values) == 1 else values, dtype)}


def _weighted(shape: tuple[int, ...], axis: int, scales: np.ndarray) -> list[dict[str, Any]]:
    codes = np.resize(np.array([-127, 127, 0, 1], np.int8), shape)
    return [
        {"array": codes, "scale": scales, "axis": axis},
        {"array": np.array([-(2**31), 2**31 - 1, 0], np.int32), "scale": _INPUT_SCALE * scales},
    ]


_PAIRS = _numbers([[1, 1], [0, 2]])
_BLOCK = _numbers(2, 2), _numbers([[0, 0], [0, 0]])
_ROW = _int8(2, 4)
_ONE_SCALE = np.array([0.02], np.float32)

_Case = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]
_CASES: dict[str, _Case] = {
    **{name: ([_ROW, _int8(2, 4, scale=0.7)], _int8(2, 4, scale=0.9, zero_point=-128), {})
       for name in ("ADD", "SUB", "MUL")},
    **{name: ([_int8(1, 3, 3, 2)], _int8(1, 2, 2, 2), _POOL)
       for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")},
    "CONCATENATION": ([_ROW, _ROW, _ROW], _int8(6, 4), {"axis": 0}),
    "CONV_2D": (
        [_int8(1, 3, 3, 2), *_weighted((3, 1, 1, 2), 0, _CHANNEL_SCALES)],
        _int8(1, 3, 3, 3, scale=0.8, zero_point=127),
        _WINDOW,
    ),
    "DEPTHWISE_CONV_2D": (
        [_int8(1, 3, 3, 3), *_weighted((1, 2, 2, 3), 3, _CHANNEL_SCALES)],
        _int8(1, 2, 2, 3, scale=0.8),
        {**_WINDOW, "depth_multiplier": 1},
    ),
    "FULLY_CONNECTED": (
        [_ROW, *_weighted((3, 4), 0, _ONE_SCALE)],
        _int8(2, 3, scale=0.8),
        {},
    ),
    "L2_NORMALIZATION": ([_ROW], _int8(2, 4, scale=1 / 128, zero_point=0), {}),
    "LOGISTIC": ([_ROW], _int8(2, 4, scale=1 / 256, zero_point=-128), {}),
    "TANH": ([_ROW], _int8(2, 4, scale=1 / 128, zero_point=0), {}),
    "SOFTMAX": ([_ROW], _int8(2, 4, scale=1 / 256, zero_point=-128), {"beta": 1.0}),
    "LOG_SOFTMAX": ([_ROW], _int8(2, 4, scale=1 / 16, zero_point=127), {}),
    "RESHAPE": ([_ROW, _numbers(8, 1)], _int8(8, 1), {"new_shape": [8, 1]}),
    "RESIZE_BILINEAR": ([_int8(1, 2, 2, 1), _numbers(4, 4)], _int8(1, 4, 4, 1), {}),
    "SPACE_TO_DEPTH": ([_int8(1, 2, 2, 1)], _int8(1, 1, 1, 4), {"block_size": 2}),
    "PAD": ([_ROW, _PAIRS], _int8(4, 6), {}),
    "PADV2": (
        [_ROW, _PAIRS, {"array": np.int8(-5), "scale": _INPUT_SCALE, "zero_point": 3}],
        _int8(4, 6),
        {},
    ),
    "GATHER": ([_ROW, _numbers(1, 0, 1)], _int8(3, 4), {}),
    "BATCH_TO_SPACE_ND": ([_int8(4, 1, 1, 2), *_BLOCK], _int8(1, 2, 2, 2), {}),
    "SPACE_TO_BATCH_ND": ([_int8(1, 2, 2, 2), *_BLOCK], _int8(4, 1, 1, 2), {}),
    "TRANSPOSE": ([_ROW, _numbers(1, 0)], _int8(4, 2), {}),
    "SQUEEZE": ([_int8(1, 8)], _int8(8), {"squeeze_dims": [0]}),
    "SLICE": (
        [_ROW, _numbers(0, 1, dtype=np.int64), _numbers(2, 2, dtype=np.int64)],
        _int8(2, 2),
        {},
    ),
    "MAXIMUM": ([_ROW, _ROW], _ROW, {}),
    "MINIMUM": ([_ROW, _ROW], _ROW, {}),
    "MEAN": ([_ROW, _numbers([1])], _int8(2, scale=0.1, zero_point=-9), {}),
    "SUM": ([_ROW, _numbers([1])], _int8(2, scale=1.3, zero_point=-9), {}),
    "QUANTIZE": ([_ROW], _int8(2, 4, scale=0.9, zero_point=-128), {}),
    **{name: ([_ROW, _int8(2, 4, scale=0.7)], _plain(np.bool_, 2, 4), {})
       for name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")},
    "ARG_MAX": ([_ROW, _numbers(1)], _plain(np.int64, 2), {"output_type": "INT64"}),
    "SHAPE": ([_ROW], _plain(np.int32, 2), {"out_type": "INT32"}),
}  # fmt: skip


def operator_model(
    name: str, changes: Mapping[str, Mapping[str, Any] | None] | None = None
) -> bytes:
    """Return a model of one operator that conforms to its row, but for ``changes``.

    They are by ``"input 1"`` or ``"output 0"``: arguments of `ModelBuilder.tensor` to change; None
    leaves the input out. Operands are tensors 0, 1, ... in the order of the row; an input that is
    left out has no number.
    """
    operands, result, options = _CASES[name]
    changes = changes or {}
    builder = ModelBuilder()
    inputs = []
    for position, operand in enumerate(operands):
        change = changes.get(f"input {position}", {})
        inputs.append(-1 if change is None else _add(builder, {**operand, **change}))
    output = builder.tensor(**{**result, **(changes.get("output 0") or {})})
    builder.operator(name, inputs, [output], options)
    builder.output(output)
    return builder.build()


def _add(builder: ModelBuilder, operand: Mapping[str, Any]) -> int:
    return builder.constant(**operand) if "array" in operand else builder.input(**operand)


def operator_graph(name: str, **changes: Mapping[str, Any] | None) -> Graph:
    """Return `operator_model` as a graph; changes by ``input_1`` or ``output_0``."""
    named = {operand.replace("_", " "): change for operand, change in changes.items()}
    return read_model(operator_model(name, named))


def found_in(graph: Graph) -> list[str]:
    """Return each finding as ``severity tensor: found; rule [source]``.

    What the spec asks cites the rule that has these words and stands there.
    """
    findings = check_model(graph)
    for f in findings:
        assert (f.identity is not None) == f.source.startswith("spec"), f
        if f.identity and rule(f.identity).place != RESULTS:
            assert f.rule in rule(f.identity).checks, f
            where = rule(f.identity).source.removesuffix("...")
            assert f.source.startswith(where) or where.startswith(f.source), f
    return [
        f"{f.severity} {'-' if f.tensor is None else f.tensor}: {f.found}; {f.rule} [{f.source}]"
        for f in findings
    ]
