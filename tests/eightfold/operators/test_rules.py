"""The rows say what the spec's texts say."""

import re

import pytest

from eightfold.operators import SPEC_ROWS, spec_row
from eightfold.operators.rules import (
    INT32_RANGE,
    SAME,
    Authority,
    FixedQuantization,
    Granularity,
    SpecRow,
    TensorRule,
)
from tests.support.models.beside import texts

_LANGUAGES = {"french": "000_*.txt", "japanese": "003_*.txt"}
_Fields = dict[str, dict[str, str]]


@pytest.mark.parametrize("language", _LANGUAGES)
def test_rows_equal_the_table_of_the_text(language: str) -> None:
    found = sorted(texts().glob(_LANGUAGES[language]))
    if not found:
        pytest.skip(f"no {texts() / _LANGUAGES[language]}: see pytest --models-folder")
    table = _parse(found[0].read_text(encoding="utf-8"))
    assert len(table) == 38
    assert [(title, fields) for title, fields in table.items()] == [
        _as_text(row) for row in SPEC_ROWS
    ]


def test_parsing_keeps_every_field() -> None:
    text = (
        "Prose: not a row\n\nCONV_2D\n  Input 1 (Weight):\n    data_type  : int8\n"
        "    restriction: zero_point = 0\n  Output 0:\n    range      : [-128, 127]\n"
        f"  restriction: {SAME}\n\nQUANTIZE (Requantization)\n  Input 0:\n    data_type  : int8\n"
    )
    assert _parse(text) == {
        "CONV_2D": {
            "Input 1 (Weight)": {"data_type": "int8", "restriction": "zero_point = 0"},
            "Output 0": {"range": "[-128, 127]"},
            "": {"restriction": SAME},
        },
        "QUANTIZE (Requantization)": {"Input 0": {"data_type": "int8"}},
    }


def test_there_are_38_operators_each_with_one_row() -> None:
    assert len({row.name for row in SPEC_ROWS}) == 38
    assert [row.entry.number for row in SPEC_ROWS] == list(range(1, 39))
    assert all(spec_row(row.name) is row for row in SPEC_ROWS)


_BEYOND = """
RELU RELU6 LEAKY_RELU PRELU HARD_SWISH TRANSPOSE_CONV STRIDED_SLICE SPLIT PACK UNPACK EXPAND_DIMS
DEPTH_TO_SPACE RESIZE_NEAREST_NEIGHBOR REDUCE_MAX REDUCE_MIN ARG_MIN DEQUANTIZE
"""


@pytest.mark.parametrize("name", _BEYOND.split())
def test_an_operator_beyond_the_table_has_no_row(name: str) -> None:
    assert spec_row(name) is None


def test_fixed_scales_are_exact_in_float32() -> None:
    fixed = {
        row.name: (rule.restriction.scale, rule.restriction.zero_point)
        for row in SPEC_ROWS
        for rule in row.outputs
        if isinstance(rule.restriction, FixedQuantization)
    }
    assert fixed == {
        "L2_NORMALIZATION": (0.0078125, 0),
        "LOGISTIC": (0.00390625, -128),
        "SOFTMAX": (0.00390625, -128),
        "TANH": (0.0078125, 0),
        "LOG_SOFTMAX": (0.0625, 127),
    }


def _parse(text: str) -> dict[str, _Fields]:
    """Return operator -> operand -> field -> value; the operator's own fields are under ''."""
    table: dict[str, _Fields] = {}
    row: _Fields = {}
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][A-Z0-9_]+( \(\w+\))?", line):
            row = table[line] = {}
        elif operand := re.fullmatch(r"  ((Input|Output) .+):", line):
            fields = row[operand[1]] = {}
        elif field := re.fullmatch(r"    (\w+) *: (.+)", line):
            fields[field[1]] = field[2]
        elif restriction := re.fullmatch(r"  restriction: (.+)", line):
            row[""] = {"restriction": restriction[1]}
    return table


def _as_text(row: SpecRow) -> tuple[str, _Fields]:
    """Return a row as `_parse` returns it, without what only the kernels define."""
    fields = {
        f"{side} {'...' if row.variadic and side == 'Input' else position}{rule.label}": _rule(rule)
        for side, rules in (("Input", row.inputs), ("Output", row.outputs))
        for position, rule in enumerate(rules)
        if rule.source is Authority.SPEC
    }
    if row.entry.same:
        fields[""] = {"restriction": SAME}
    return row.title, fields


def _rule(rule: TensorRule) -> dict[str, str]:
    (dtype,) = rule.dtypes
    assert rule.range is not None
    low, high = ("int32_min", "int32_max") if rule.range == INT32_RANGE else rule.range
    granularity = str(rule.granularity)
    if rule.granularity is Granularity.PER_AXIS and rule.axis is not None:
        granularity += f" (dim = {rule.axis})"
    fields = {"data_type": dtype, "range": f"[{low}, {high}]", "granularity": granularity}
    if rule.restriction is not None:
        fields["restriction"] = str(rule.restriction)
    return fields
