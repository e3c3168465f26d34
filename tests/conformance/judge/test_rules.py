"""Rules find what was planted, and count what they say."""

import numpy as np
import pytest

from eightfold.conformance.judge.forms import FORMS, Cases
from eightfold.conformance.judge.requantizer import features
from eightfold.conformance.judge.rules import clauses_of
from tests.support.conformance.requantizations import directed_cases, some


@pytest.fixture(scope="module")
def cases() -> Cases:
    return some(directed_cases("tflite", seed=5, count=4), 3000)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_a_planted_rule_is_found(form: str) -> None:
    cases = some(directed_cases(form, seed=6, count=4), 3000)
    meant = (cases["acc"] < 0) & (cases["zero_point"] > 0)
    (clause,) = clauses_of(features(FORMS[form], cases, meant), meant)
    assert set(clause.features) == {"a negative accumulator", "a positive zero point"}
    assert clause.sentence(int(meant.sum())) == (
        "all (and no others) have a negative accumulator and a positive zero point"
    ) or clause.features == ("a positive zero point", "a negative accumulator")


def test_two_causes_are_two_clauses(cases: Cases) -> None:
    meant = (cases["shift"] >= 12) | (cases["multiplier"] == 2**31 - 1)
    clauses = clauses_of(features(FORMS["tflite"], cases, meant), meant)
    found = {feature for clause in clauses for feature in clause.features}
    assert found == {"a left shift of at least 12", "a multiplier of 2^31 - 1"}
    assert sum(clause.meant for clause in clauses) == meant.sum()
    assert not any(clause.others for clause in clauses)


def test_ties_are_those_of_the_arithmetic(cases: Cases) -> None:
    table = features(FORMS["tflite"], cases, np.zeros(len(cases["acc"]), bool))
    for index, case in enumerate(zip(*cases.values(), strict=True)):
        values = dict(zip(cases, map(int, case), strict=True))
        x = (values["acc"] * 2 ** max(values["shift"], 0) + 2**31) % 2**32 - 2**31
        product = x * values["multiplier"]
        assert table["a tie at the first rounding"][index] == (product % 2**31 == 2**30)
        e = max(-values["shift"], 0)
        y = (product + 2**30) // 2**31
        assert table["a tie at the second rounding"][index] == (2 * (y % 2**e) == 2**e)
        assert table["a left shift that loses bits"][index] == (
            x != values["acc"] * 2 ** max(values["shift"], 0)
        )


def test_nothing_has_no_rule(cases: Cases) -> None:
    nothing = np.zeros(len(cases["acc"]), bool)
    assert clauses_of(features(FORMS["tflite"], cases, nothing), nothing) == ()


def test_chance_has_no_simple_rule_that_claims_to_be_exact(cases: Cases) -> None:
    meant = np.random.default_rng(0).random(len(cases["acc"])) < 0.1
    for clause in clauses_of(features(FORMS["tflite"], cases, meant), meant):
        assert clause.others
