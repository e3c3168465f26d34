"""What cases cannot tell apart is said, and is so."""

import numpy as np
import pytest

from eightfold.conformance.judge.forms import FORMS, Cases
from eightfold.conformance.judge.power import Power, power
from eightfold.conformance.judge.requantizer import requantizer
from eightfold.conformance.judge.variants import BIASED, MISTAKES, mistakes_of, results_with
from tests.support.conformance.requantizations import directed_cases, telling_cases

TIES = {"second_half_up", "second_half_down", "second_half_even", "first_half_even"}
"""Mistakes that only ties show."""


def told(cases: Cases) -> Power:
    """Return the power of cases of TFLite's requantizer."""
    return power(requantizer("tflite", "bias" in cases), cases, FORMS["tflite"].results(cases))


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
        results = results_with(FORMS["tflite"], cases, MISTAKES[name])
        np.testing.assert_array_equal(results, FORMS["tflite"].results(cases))


def test_what_coincides_is_one_group() -> None:
    cases = uniform_cases(1000)
    for group in told(cases).groups:
        codes = {results_with(FORMS["tflite"], cases, MISTAKES[n]).tobytes() for n in group}
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
