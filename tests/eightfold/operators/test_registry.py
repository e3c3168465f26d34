"""Every operator has every part of its record, or the reason why not."""

from dataclasses import fields, replace

import pytest

from eightfold.model.schema import OPERATOR_CODES
from eightfold.operators import OPERATORS
from eightfold.operators.definition import Definition, Without
from eightfold.operators.rules import Role

REASONED = ("explain", "macs", "prepare", "spec", "stacks")
"""Parts that an operator has, or says why not."""

UNLISTED_WEIGHTS = {"BATCH_MATMUL", "SVDF", "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
"""Operators whose weights the spec does not list."""


def lacking(definition: Definition) -> list[str]:
    """Return the parts that an operator has not, without a reason in words."""
    parts = {part: getattr(definition, part) for part in REASONED}
    return [
        part
        for part, value in parts.items()
        if value is None or (isinstance(value, Without) and len(value.reason.split()) < 4)
    ]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_part_is_there_or_the_reason_why_not(name: str) -> None:
    assert lacking(OPERATORS[name]) == []
    assert not isinstance(OPERATORS[name].explain, Without)
    assert OPERATORS[name].golden_name.startswith("eightfold.golden.")


def test_a_part_without_a_reason_is_named() -> None:
    assert lacking(replace(OPERATORS["ADD"], prepare=Without(""))) == ["prepare"]


def test_the_parts_with_reasons_are_all_that_may_lack_one() -> None:
    kinds = {field.name: str(field.type) for field in fields(Definition)}
    assert {name for name, kind in kinds.items() if "Without" in kind} | {"explain"} == {*REASONED}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_weights_say_how_to_count_their_macs(name: str) -> None:
    definition = OPERATORS[name]
    has_weights = name in UNLISTED_WEIGHTS or any(
        operand.rule.role is Role.WEIGHT for operand in definition.operands
    )
    assert isinstance(definition.macs, Without) != has_weights


def test_every_record_is_of_a_builtin_operator() -> None:
    assert sorted(OPERATORS.keys() - OPERATOR_CODES.keys()) == []
