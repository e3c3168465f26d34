"""Results that are right for another case are found, and how far away that is."""

import numpy as np
import pytest

from eightfold.conformance.answers import MISSING
from eightfold.conformance.judge.units import displacement, displacement_sentence

EXPECTED = {"result": np.random.default_rng(0).integers(-128, 128, 50)}


def moved(first: int, by: int) -> dict[str, np.ndarray]:
    expected = EXPECTED["result"]
    results = np.full(50, MISSING)
    results[:first] = expected[:first]
    for case in range(first, 50):
        if 0 <= case - by < 50:
            results[case] = expected[case - by]
    return {"result": results}


@pytest.mark.parametrize("first", [0, 20])
@pytest.mark.parametrize("by", [1, 3, -1, -2])
def test_results_of_other_cases_are_found(first: int, by: int) -> None:
    assert displacement(EXPECTED, moved(first, by)) == (first, by)


def test_right_results_and_others_are_not_displaced() -> None:
    assert displacement(EXPECTED, EXPECTED) is None
    assert displacement(EXPECTED, {"result": EXPECTED["result"][::-1]}) is None
    assert displacement(EXPECTED, {"result": np.full(50, MISSING)}) is None
    assert displacement_sentence(EXPECTED, EXPECTED) == ""


def test_the_sentence_names_the_likely_cause() -> None:
    assert displacement_sentence(EXPECTED, moved(0, 1)) == (
        "Each result is right for the case before it: the latency is 1 more than stated, or "
        "something answers without being asked."
    )
    assert displacement_sentence(EXPECTED, moved(0, -2)) == (
        "Each result is right for the 2 cases after it: the latency is 2 less than stated."
    )
    assert displacement_sentence(EXPECTED, moved(20, -1)) == (
        "From case 20 on each is right for the case after it: an answer to case 20 on got lost."
    )
