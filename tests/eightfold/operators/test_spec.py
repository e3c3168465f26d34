"""The spec's numbered rules: identities that stay, a model that breaks each, the texts' words."""

import hashlib
import re
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.operators import SPEC_ROWS, check_model, spec_row
from eightfold.operators.rules import INT32_RANGE, SAME, Authority, Granularity, SpecRow, TensorRule
from eightfold.operators.spec import GENERAL, RESTRICTION, RESULTS, RULES, SpecRule, rule, rule_at
from tests.support.models.beside import texts
from tests.support.models.spec import operator_graph

_PUBLISHED = "bb38a11c3ec65ce4f21244d9cbbc9bb0dcd6d5ea27b9491e5f908e1427c9f419"
"""SHA-256 of all identities with their places, as others have cited them."""

_CHECKED = [each.identity for each in RULES.values() if each.checks]

_BREAKING: dict[str, tuple[str, dict[str, Any]]] = {
    "TFL8-GENERAL-2": ("ADD", {"output_0": {"scale": None}}),
    "TFL8-GENERAL-3": ("FULLY_CONNECTED", {"input_1": {"array": np.full((3, 4), -128, np.int8)}}),
    "TFL8-GENERAL-4": ("ADD", {"output_0": {"dtype": np.int16}}),
    "TFL8-GENERAL-6": ("ADD", {"output_0": {"dtype": np.uint8, "zero_point": 0}}),
    "TFL8-GENERAL-7": ("ADD", {"output_0": {"scale": [0.1, 0.2, 0.3, 0.4], "axis": 1}}),
    "TFL8-GENERAL-8": ("CONV_2D", {"input_1": {"scale": 0.1}}),
    "TFL8-GENERAL-10": ("FULLY_CONNECTED", {"input_1": {"scale": [0.1, 0.2, 0.3]}}),
    "TFL8-GENERAL-11": ("CONV_2D", {"input_1": {"zero_point": [0, 1, 0]}}),
}
"""An operator, and what of its operands breaks a general rule."""

_ELSEWHERE = ("TFL8-GENERAL-5", "TFL8-GENERAL-9", "TFL8-GENERAL-13")
"""General rules whose words ``test_check.py`` looks for, in models that this page cannot make."""


def test_identities_do_not_change() -> None:
    words = [f"{each.identity} {each.source} {each.place}" for each in RULES.values()]
    assert hashlib.sha256("\n".join(words).encode()).hexdigest() == _PUBLISHED
    assert {each.operator for each in RULES.values()} == {GENERAL, *(row.name for row in SPEC_ROWS)}


def test_a_rule_is_checked_unless_it_is_on_arithmetic() -> None:
    unchecked = {each.place or each.identity for each in RULES.values() if not each.checks}
    assert unchecked == {RESULTS, "TFL8-GENERAL-1", "TFL8-GENERAL-12"}


@pytest.mark.parametrize("identity", [each for each in _CHECKED if each not in _ELSEWHERE])
def test_check_finds_the_model_that_breaks_a_rule(identity: str) -> None:
    broken = RULES[identity]
    name, changes = _BREAKING.get(identity) or (broken.operator, _changes(broken))
    found = [f for f in check_model(operator_graph(name, **changes)) if f.rule in broken.checks]
    assert found
    if broken.operator != GENERAL:
        assert identity in {f.identity for f in found}


def _changes(broken: SpecRule) -> dict[str, Any]:
    if broken.place == RESTRICTION:
        return {"output_0": {"zero_point": 4}}
    operand = "_".join(broken.place.lower().split()[:2])
    if broken.place.endswith(RESTRICTION):
        return {operand: {"zero_point": -1}}
    return {operand: None if operand.startswith("input") else {"dtype": np.int16}}


def test_rules_are_found_by_identity_and_by_place() -> None:
    assert rule("tfl8-conv_2d-3") is rule_at("CONV_2D", "Input 1 restriction")
    assert rule_at("CONCATENATION", "Input 7") is rule("TFL8-CONCATENATION-1")
    assert not (rule_at("MAXIMUM", "Input 1") or rule_at("RELU", "Input 0"))


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("TFL8-CONV2D-3", "TFL8-CONV_2D-3"), ("", ""), ("\n", "")]
)
def test_an_unknown_rule_names_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"the nearest is {nearest}") as raised:
        rule(wrong)
    assert "\n" not in str(raised.value)


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
