"""The spec's numbered rules: identities that never change, and a model that breaks each."""

import hashlib
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.operators import SPEC_ROWS, check_model
from eightfold.operators.spec import GENERAL, RESTRICTION, RESULTS, RULES, SpecRule, rule, rule_at
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
