"""Contracts: executable, held to exactly, and as far from the spec as the report says."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.judge.contracts import contract_cases, contract_of
from eightfold.conformance.judge.forms import FORMS, cases_of, take
from eightfold.conformance.judge.subject import rows
from eightfold.conformance.judge.variants import MISTAKES, mistakes_of, results_with
from eightfold.conformance.profile import Profile, Waiver
from eightfold.conformance.units.registry import unit_cases
from tests.support.conformance.requantizations import judged, kept

PAIR = "second_half_up and relu_at_0"


@pytest.mark.parametrize("name", [each.name for each in mistakes_of("tflite")] + [PAIR])
@pytest.mark.slow
def test_a_unit_with_a_contract_is_held_to_exactly_that(name: str) -> None:
    profile = kept(name)
    cases = contract_cases("requantizer", profile, seed=3)
    contract = contract_of(profile)
    asked = cases_of("tflite", cases.inputs)
    made = [MISTAKES[each] for each in name.split(" and ")]
    expected = cases.results["result"].astype(np.int64)
    np.testing.assert_array_equal(results_with(FORMS["tflite"], asked, *made), expected)
    np.testing.assert_array_equal(contract.subject.compute(asked, ()), expected)
    for index in range(0, len(cases), 97):
        assert contract.steps(take(asked, index))[-1][1] == expected[index]
    for mistake in contract.subject.mistakes:
        contract.subject.compute(rows(asked, slice(None, None, 97)), (mistake,))


def test_a_unit_that_keeps_the_spec_deviates_from_a_contract() -> None:
    profile = kept("second_half_up")
    found = judged(profile, contract_cases("requantizer", profile))
    assert found.mistakes == ("without_second_half_up",)
    assert not found.right
    assert found.contract[0] == "The contract breaks TFL8-GENERAL-1 by second_half_up."
    assert judged(profile, contract_cases("requantizer", profile), "second_half_up").right


def test_what_a_unit_does_otherwise_than_its_contract_has_a_name() -> None:
    profile = kept(PAIR)
    cases = contract_cases("requantizer", profile)
    assert "without_relu_at_0" in judged(profile, cases, "second_half_up").mistakes
    found = judged(profile, cases, "second_half_up", "relu_at_0", "first_down")
    assert found.mistakes == ("first_down",)
    once = kept("one_rounding_half_up")
    cases = contract_cases("requantizer", once)
    assert "two_roundings" in judged(once, cases).mistakes
    assert "rounding_half_even" in judged(once, cases, "one_rounding_half_even").mistakes


def test_the_distance_counts_what_differs_and_shows_the_smallest_case() -> None:
    contract = contract_of(kept("second_half_up"))
    drawn = unit_cases("requantizer", Profile.load("tflite"))
    cases = cases_of("tflite", drawn.inputs)
    found = contract.distance(cases, drawn.kinds)
    shifted = cases["acc"] << np.maximum(cases["shift"], 0)
    defined = shifted == shifted.astype(np.int32)
    differ = (FORMS["tflite"].results(cases) != contract.results(cases))[defined]
    said = f"in {differ.sum()} of {defined.sum()} cases, by up to 1; in "
    assert said in found[0] and " % of random cases" in found[0]
    sides = ["  spec:", "  contract:"]
    assert [line for line in found if line in sides] == sides
    same = contract_of(Profile.load("tflite")).distance(cases, drawn.kinds)
    assert "the spec's results in all" in same[0]


def test_a_contract_is_stated_by_name_or_with_reasons_and_survives_a_file() -> None:
    table = {"name": "x", "contract": [{"rule": "second_half_up", "reason": "one adder less"}]}
    profile = Profile.from_dict(table)
    assert profile.contract == (Waiver(rule="second_half_up", reason="one adder less"),)
    assert profile.claims == ("requantizer",)
    assert "contract" not in Profile.load("tflite").as_dict()
    for each in (profile, kept(PAIR)):
        assert Profile.from_dict(each.as_dict()) == each
    assert kept(PAIR).as_dict()["contract"] == PAIR


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"contract": "second_haf_up"}, "has no rule 'second_haf_up'; second_half_up"),
        ({"contract": "bias_missing"}, "tflite has no rule 'bias_missing'"),
        ({"contract": "second_down and second_up"}, "say two things of one place, second"),
        ({"contract": [{"rule": "second_up"}]}, "each table needs a reason"),
        ({"contract": [{"rule": "second_up", "reason": " "}]}, "each table needs a reason"),
        ({"contract": [{"rules": "second_up"}]}, "unknown field rules"),
        ({"contract": 3}, "must be a name, or tables of rule and reason"),
        ({"contract": "second_up", "claims": ["ADD"]}, "'ADD' with a contract; use requantizer"),
        ({"contract": "two_roundings"}, "tflite has no rule 'two_roundings'"),
    ],
)
def test_a_wrong_contract_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("[", r"\[")):
        Profile.from_dict({"name": "x", **fields})
