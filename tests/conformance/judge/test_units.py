"""The finding of a unit: all four, and what answers can lack."""

from dataclasses import replace

import numpy as np
import pytest

from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.judge.dot import DOT
from eightfold.conformance.judge.forms import FORMS, cases_of
from eightfold.conformance.judge.tables import float_table
from eightfold.conformance.judge.units import displacement, displacement_sentence, judge_unit
from eightfold.conformance.judge.variants import MISTAKES, results_with
from eightfold.conformance.profile import PROFILES, UNITS
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.verdict import LISTED, CaseOutcome, ClaimFinding
from tests.support.conformance.requantizations import judged

TFLITE = PROFILES["tflite"]


def right(cases: UnitCases) -> dict[str, np.ndarray]:
    """Return golden's results as answers."""
    return {name: values.astype(np.int64) for name, values in cases.results.items()}


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.slow
def test_right_answers_conform(unit: str, name: str) -> None:
    profile = PROFILES[name]
    if unit not in profile.claims:
        return
    cases = unit_cases(unit, profile, "smoke", 3)
    finding = judge_unit(unit, profile, cases, UnitAnswers(results=right(cases)))
    assert finding.right and finding.cases == len(cases)
    assert (finding.diagnosis, finding.failed, finding.smallest) == ((), (), ())
    assert finding.power


def test_the_form_is_the_profiles() -> None:
    forms = {name: profile.form for name, profile in PROFILES.items()}
    assert forms == {
        "tflite": "tflite",
        "tflite-single": "tflite_single",
        "tflm": "tflite",
        "eightfold": "tflite",
        "npu-3x3": "tflite",
        "ethos-u-like": "tflite",
        "requantizer-right-shift": "tflite",
        "tpu-mlir": "tpu_mlir_32",
        "tpu-mlir-8": "tpu_mlir_8",
    }


@pytest.mark.parametrize(
    ("name", "mistake"), [("tflite", "second_half_up"), ("tpu-mlir", "rounding_down")]
)
def test_a_requantizers_mistake_is_named(name: str, mistake: str) -> None:
    profile = PROFILES[name]
    cases = unit_cases("requantizer", profile, "smoke", 0)
    finding = judged(profile, cases, mistake)
    assert finding.mistakes == (mistake,)
    assert finding.diagnosis[0].startswith(f"{mistake}: {MISTAKES[mistake].sentence}")
    assert "second tie" in finding.diagnosis[-1] or name != "tflite"
    index = int(finding.failed[0].name)
    got = results_with(FORMS[profile.form], cases_of(profile.form, cases.inputs), MISTAKES[mistake])
    said = f"{got[index]} instead of {cases.results['result'][index]} ({cases.kinds[index]})"
    assert finding.failed[0].message == said
    assert finding.smallest[0].startswith("case ") and "theirs: " in finding.smallest[-1]


def wrong_tables(*mistakes: str) -> tuple[UnitCases, ClaimFinding]:
    """Return the cases of tables and the finding of one that makes mistakes in LOGISTIC."""
    cases = unit_cases("tables", TFLITE, "smoke", 0)
    results = right(cases)
    mine = cases.inputs["operator"] == 0
    subject = float_table("LOGISTIC", "litert")
    columns = {name: values[mine].astype(np.int64) for name, values in cases.inputs.items()}
    made = tuple(each for each in subject.mistakes if each.name in mistakes)
    assert len(made) == len(mistakes)
    results["result"][mine] = subject.compute(columns, made)
    return cases, judge_unit("tables", TFLITE, cases, UnitAnswers(results=results))


def test_tables_are_judged_operator_by_operator() -> None:
    cases, finding = wrong_tables("logistic_output_zero_point_missing")
    assert finding.mistakes == ("logistic_output_zero_point_missing",)
    assert finding.counts[CaseOutcome.EXACT] == 80
    assert finding.diagnosis[0].startswith("LOGISTIC: logistic_output_zero_point_missing: The")
    assert "TANH: all 40 are exact." in finding.diagnosis
    assert finding.smallest[0].startswith("LOGISTIC: case ")
    assert "code " in finding.failed[0].message
    assert {cases.inputs["operator"][int(each.name)] for each in finding.failed} == {0}


def test_without_an_explanation_of_each_operator_no_mistake_is_claimed() -> None:
    cases = unit_cases("tables", TFLITE, "smoke", 0)
    results = right(cases)
    results["result"][cases.inputs["operator"] == 1] = 3
    results["result"][cases.inputs["operator"] == 2] = np.roll(
        results["result"][cases.inputs["operator"] == 2], 128, axis=1
    )
    finding = judge_unit("tables", TFLITE, cases, UnitAnswers(results=results))
    assert finding.mistakes == ()
    text = " ".join(finding.diagnosis)
    assert "QUANTIZE: quantize_byte_order" in text and "TANH: No mistake with a name" in text


def test_missing_unknown_and_extra_answers_deviate_and_hide_no_mistake() -> None:
    cases = unit_cases("dot", TFLITE, "smoke", 0)
    columns = {name: values.astype(np.int64) for name, values in cases.inputs.items()}
    (mistake,) = [each for each in DOT.mistakes if each.name == "last_missing"]
    results = DOT.compute(columns, (mistake,))
    results[-100:] = MISSING
    results[3] = UNKNOWN
    answers = UnitAnswers(results={"result": results}, extra=2, note="no answer within 9 cycles.")
    finding = judge_unit("dot", TFLITE, cases, answers)
    assert finding.counts[CaseOutcome.MISSING] == 100
    assert finding.counts[CaseOutcome.UNKNOWN_BITS] == 1
    assert finding.mistakes == ("last_missing",)
    assert finding.extra == 2
    assert finding.diagnosis[-1] == "What answered has said: no answer within 9 cycles."
    crashed = judge_unit("dot", TFLITE, cases, replace(answers, crashed=True))
    assert crashed.counts[CaseOutcome.CRASHED] == 100 and not crashed.counts[CaseOutcome.MISSING]


def test_right_but_too_many_answers_deviate() -> None:
    cases = unit_cases("fake_quantize", TFLITE, "smoke", 0)
    answers = UnitAnswers(results=right(cases), extra=1)
    assert not judge_unit("fake_quantize", TFLITE, cases, answers).right


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("marker", [MISSING, UNKNOWN])
@pytest.mark.slow
def test_a_unit_that_never_answers_deviates(unit: str, marker: int) -> None:
    cases = unit_cases(unit, TFLITE, "smoke", 0)
    results = {name: np.full_like(values, marker) for name, values in right(cases).items()}
    finding = judge_unit(unit, TFLITE, cases, UnitAnswers(results=results))
    outcome = CaseOutcome.MISSING if marker == MISSING else CaseOutcome.UNKNOWN_BITS
    assert finding.counts[outcome] == len(cases) == finding.cases
    assert not finding.mistakes and not finding.right
    assert f"theirs: {outcome.text}" in finding.smallest[-1]
    assert len(finding.failed) == min(len(cases), LISTED)


def test_a_list_with_one_missing_element_is_missing() -> None:
    cases = unit_cases("tables", TFLITE, "smoke", 0)
    results = right(cases)
    results["result"][5, 200] = MISSING
    finding = judge_unit("tables", TFLITE, cases, UnitAnswers(results=results))
    assert finding.counts[CaseOutcome.MISSING] == 1
    assert finding.failed[0].name == "5"


def test_columns_of_other_shapes_are_refused() -> None:
    cases = unit_cases("tables", TFLITE, "smoke", 0)
    with pytest.raises(ValueError, match=r"result must be integers of \(120, 256\), not none"):
        judge_unit("tables", TFLITE, cases, UnitAnswers(results={}))
    short = UnitAnswers(results={"result": right(cases)["result"][:, :255]})
    with pytest.raises(ValueError, match=r"not int64 of \(120, 255\)"):
        judge_unit("tables", TFLITE, cases, short)


def test_results_far_beyond_int64s_middle_are_wrong_and_no_crash() -> None:
    cases = unit_cases("dot", TFLITE, "smoke", 0)
    results = right(cases)
    results["result"][:2] = [2**63 - 1, -(2**63) + 5]
    finding = judge_unit("dot", TFLITE, cases, UnitAnswers(results=results))
    assert finding.counts[CaseOutcome.WRONG] == 2


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
