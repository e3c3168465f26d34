"""Every mistake is named by its results alone, a right unit conforms, and what is said is true,
also of what cases cannot tell apart."""

import re

import numpy as np
import pytest

from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.judge.contracts import features, requantizer
from eightfold.conformance.judge.diagnosis import UnitVerdict, judge
from eightfold.conformance.judge.forms import FORMS, Cases
from eightfold.conformance.judge.power import Power, power
from eightfold.conformance.judge.rules import clauses_of
from eightfold.conformance.judge.variants import BIASED, MISTAKES, mistakes_of, results_with
from eightfold.conformance.verdict import CaseOutcome
from tests.support.conformance.requantizations import directed_cases, some, telling_cases

FORM = FORMS["tflite"]


def named(verdict: UnitVerdict) -> set[str]:
    return {explanation.name for explanation in verdict.explanations}


def text(verdict: UnitVerdict) -> str:
    return " ".join(verdict.lines())


@pytest.fixture(scope="module")
def cases() -> Cases:
    return telling_cases("tflite", seed=0)


@pytest.fixture(scope="module")
def many() -> Cases:
    return some(directed_cases("tflite", seed=7, count=4), 3000)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usual("form")
@pytest.mark.slow
def test_a_right_unit_conforms(form: str, seed: int) -> None:
    cases = some(directed_cases(form, seed, count=1), 2000)
    verdict = judge(form, cases, FORMS[form].results(cases))
    assert verdict.conforms and verdict.failure is None and not verdict.explanations
    assert verdict.lines() == [f"{form}: conforms, all {verdict.cases} results are exact."]


@pytest.mark.slow
def test_one_wrong_result_of_many_deviates(cases: Cases) -> None:
    results = FORM.results(cases)
    results[-1] += 1
    verdict = judge("tflite", cases, results)
    assert not verdict.conforms
    assert verdict.counts[CaseOutcome.OFF_BY_ONE] == 1
    assert verdict.failure and verdict.failure.index == len(results) - 1


def check_numbers(verdict: UnitVerdict, cases: Cases, meant: np.ndarray) -> None:
    """Count again what the remainder says."""
    table = features(FORMS[verdict.name], cases, meant)
    assert verdict.unexplained == meant.sum()
    left = meant.copy()
    for clause in verdict.remainder:
        holds = np.logical_and.reduce([table[name] for name in clause.features])
        assert clause.meant == (holds & left).sum() > 0
        assert clause.others == (holds & ~meant).sum()
        left &= ~holds


@pytest.mark.parametrize(
    "names",
    [
        ("first_down", "right_one_more", "relu_always"),
        ("second_half_up", "zero_point_subtracted", "left_saturates"),
        ("high_16", "left_after", "clamp_symmetric"),
    ],
)
@pytest.mark.usual
@pytest.mark.slow
def test_of_three_mistakes_the_closest_is_said_and_what_is_left(
    names: tuple[str, ...], many: Cases
) -> None:
    results = results_with(FORM, many, *(MISTAKES[name] for name in names))
    verdict = judge("tflite", many, results)
    assert not verdict.conforms and not verdict.explanations
    assert verdict.closest and verdict.closest.mistakes[0].name in names
    closest = results_with(FORM, many, *verdict.closest.mistakes)
    assert verdict.closest.explained == (closest == results).sum()
    assert verdict.remainder
    check_numbers(verdict, many, closest != results)
    assert "The closest is" in text(verdict)


def test_a_mistake_without_a_name_is_told_by_its_cases(many: Cases) -> None:
    wrong = (many["zero_point"] == -128) & (many["shift"] < 0)
    results = np.where(wrong, FORM.results(many) - 7, FORM.results(many))
    verdict = judge("tflite", many, results)
    assert verdict.closest is None and not verdict.explanations
    (clause,) = verdict.remainder
    assert set(clause.features) == {"a zero point of -128", "a right shift"}
    assert (clause.meant, clause.others) == (wrong.sum(), 0)
    assert "All of them are off by -7." in text(verdict)
    check_numbers(verdict, many, wrong)


def test_missing_and_unknown_results_do_not_conform_and_hide_no_mistake(many: Cases) -> None:
    count = len(many["acc"])
    results = results_with(FORM, many, MISTAKES["second_down"])
    known = np.ones(count, bool)
    known[[0, 2]] = known[count // 2 + 1 :] = False
    results[~known] = MISSING
    results[[0, 2]] = UNKNOWN
    verdict = judge("tflite", many, results)
    assert verdict.counts[CaseOutcome.MISSING] == (~known).sum() - 2
    assert verdict.counts[CaseOutcome.UNKNOWN_BITS] == 2
    assert "second_down" in named(verdict)
    assert verdict.failure and verdict.failure.result is not None
    known[[0, 2]] = True
    results = np.where(known, FORM.results(many), MISSING)
    verdict = judge("tflite", many, results)
    assert not verdict.conforms and not verdict.explanations
    assert "Every result that is known is exact." in verdict.lines()
    assert f"have a case number of {count // 2 + 1} or more" in text(verdict)


def test_no_cases_are_no_conformance() -> None:
    cases = some(directed_cases("tflite", 0, count=1), 0)
    verdict = judge("tflite", cases, np.zeros(0, np.int64))
    assert not verdict.conforms
    assert verdict.lines() == ["tflite: nothing was judged, there are no cases."]


def test_a_result_beyond_int8_is_wrong(cases: Cases) -> None:
    verdict = judge("tflite", cases, FORM.results(cases) + 256)
    assert verdict.counts[CaseOutcome.WRONG] == verdict.cases


def test_the_smallest_failure_has_steps_that_end_beside_theirs(cases: Cases) -> None:
    verdict = judge("tflite", cases, results_with(FORM, cases, MISTAKES["second_down"]))
    assert verdict.failure
    lines = verdict.failure.lines()
    expected = FORM.results(cases)[verdict.failure.index]
    assert f"= {expected}" in lines[-2]
    found = re.search(r"theirs: (-?\d+), expected (-?\d+), difference -1", lines[-1])
    assert found and int(found[2]) == expected
    wrong = np.flatnonzero(
        results_with(FORM, cases, MISTAKES["second_down"]) != FORM.results(cases)
    )
    bits = [abs(int(cases["acc"][index])).bit_length() for index in wrong]
    assert abs(verdict.failure.case["acc"]).bit_length() <= min(bits) + 1


def test_the_first_of_two_equal_failures_is_shown(cases: Cases) -> None:
    twice = {name: np.concatenate([values, values]) for name, values in cases.items()}
    verdict = judge("tflite", twice, results_with(FORM, twice, MISTAKES["second_down"]))
    assert verdict.failure and verdict.failure.index < len(cases["acc"])


@pytest.mark.slow
def test_the_same_verdict_every_time(cases: Cases) -> None:
    results = results_with(FORM, cases, *(MISTAKES[n] for n in ("first_down", "relu_always")))
    assert judge("tflite", cases, results) == judge("tflite", cases, results)


def test_arrays_of_other_shapes_and_fields_are_refused(cases: Cases) -> None:
    results = FORM.results(cases)
    with pytest.raises(ValueError, match="results must be int64 of shape"):
        judge("tflite", cases, results[:-1])
    with pytest.raises(ValueError, match="results must be int64 of shape .* not float64"):
        judge("tflite", cases, results.astype(float))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="cases lack shift"):
        judge("tflite", {k: v for k, v in cases.items() if k != "shift"}, results)


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


def test_two_causes_are_two_clauses(many: Cases) -> None:
    meant = (many["shift"] >= 12) | (many["multiplier"] == 2**31 - 1)
    clauses = clauses_of(features(FORMS["tflite"], many, meant), meant)
    found = {feature for clause in clauses for feature in clause.features}
    assert found == {"a left shift of at least 12", "a multiplier of 2^31 - 1"}
    assert sum(clause.meant for clause in clauses) == meant.sum()
    assert not any(clause.others for clause in clauses)


def test_ties_are_those_of_the_arithmetic(many: Cases) -> None:
    table = features(FORMS["tflite"], many, np.zeros(len(many["acc"]), bool))
    for index, case in enumerate(zip(*many.values(), strict=True)):
        values = dict(zip(many, map(int, case), strict=True))
        x = (values["acc"] * 2 ** max(values["shift"], 0) + 2**31) % 2**32 - 2**31
        product = x * values["multiplier"]
        assert table["a tie at the first rounding"][index] == (product % 2**31 == 2**30)
        e = max(-values["shift"], 0)
        y = (product + 2**30) // 2**31
        assert table["a tie at the second rounding"][index] == (2 * (y % 2**e) == 2**e)
        assert table["a left shift that loses bits"][index] == (
            x != values["acc"] * 2 ** max(values["shift"], 0)
        )


def test_nothing_has_no_rule(many: Cases) -> None:
    nothing = np.zeros(len(many["acc"]), bool)
    assert clauses_of(features(FORMS["tflite"], many, nothing), nothing) == ()


def test_chance_has_no_simple_rule_that_claims_to_be_exact(many: Cases) -> None:
    meant = np.random.default_rng(0).random(len(many["acc"])) < 0.1
    for clause in clauses_of(features(FORMS["tflite"], many, meant), meant):
        assert clause.others


TIES = {"second_half_up", "second_half_down", "second_half_even", "first_half_even"}
"""Mistakes that only ties show."""


def told(cases: Cases) -> Power:
    """Return the power of cases of TFLite's requantizer."""
    return power(requantizer("tflite", "bias" in cases), cases, FORM.results(cases))


def uniform_cases(count: int) -> Cases:
    """Return accumulators and multipliers from everywhere, and the shift of a typical layer."""
    rng = np.random.default_rng(0)
    zeros = np.zeros(count, np.int64)
    return {
        "acc": rng.integers(-(2**20), 2**20, count),
        "multiplier": rng.integers(2**30, 2**31, count),
        "shift": zeros - 13,
        "zero_point": zeros,
        "low": zeros - 128,
        "high": zeros + 127,
    }


def test_uniform_cases_do_not_see_how_ties_round() -> None:
    cases = uniform_cases(1000)
    y = (cases["acc"] * cases["multiplier"] + 2**30) >> 31
    kept = (y & (2**13 - 1)) != 2**12
    cases = {name: values[kept] for name, values in cases.items()}
    found = told(cases)
    assert set(found.unseen) >= TIES | {"zero_point_missing", "left_missing", "relu_at_0"}
    assert "second_down" not in found.unseen
    assert "second_half_even" in found.sentences()[0]
    for name in found.unseen:
        results = results_with(FORM, cases, MISTAKES[name])
        np.testing.assert_array_equal(results, FORM.results(cases))


def test_what_coincides_is_one_group() -> None:
    cases = uniform_cases(1000)
    for group in told(cases).groups:
        codes = {results_with(FORM, cases, MISTAKES[n]).tobytes() for n in group}
        assert len(group) > 1 and len(codes) == 1


@pytest.mark.slow
def test_directed_cases_tell_all_mistakes_apart() -> None:
    found = told(telling_cases("tflite", seed=1))
    assert (found.unseen, found.groups) == ((), ())
    assert found.sentences() == [
        f"These cases tell all {found.mistakes} mistakes from the reference, and apart."
    ]


def test_mistakes_of_the_bias_need_a_bias() -> None:
    assert not BIASED & {mistake.name for mistake in mistakes_of("tflite")}
    cases = directed_cases("tflite", 0, count=1, biased=True)
    assert not BIASED & set(told(cases).unseen)
    cases = {**cases, "bias": np.zeros_like(cases["bias"])}
    assert set(told(cases).unseen) >= BIASED


def test_without_cases_nothing_is_seen() -> None:
    cases = {name: values[:0] for name, values in uniform_cases(1).items()}
    found = told(cases)
    assert len(found.unseen) == found.mistakes == len(mistakes_of("tflite"))
