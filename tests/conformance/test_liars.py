"""Each mistake exists as broken RTL, and the kit names it on both simulators."""

import numpy as np
import pytest

from eightfold.conformance import liars
from eightfold.conformance.judge.diagnosis import examine, judge
from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.subject import pairs
from eightfold.conformance.judge.tpu_mlir import SUBJECTS
from eightfold.conformance.judge.variants import MISTAKES, mistakes_of, results_with
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.registry import unit_cases
from tests.support.conformance.requantizations import UNSEEN

pytestmark = pytest.mark.slow

SAMPLE = ("second_half_up", "float32_half_even", "clamp_first", "scaled_16")
"""Mistakes of the normal tests."""


def wrong(named: liars.Named) -> bool:
    """Return whether a liar is not named, or an honest one is."""
    if not named.mistakes:
        return named.said != "conforms"
    if named.form.startswith("tpu") and named.mistakes[0] in UNSEEN:
        return named.said != "not to be seen in this profile"
    return named.verdict.conforms or named.mistakes[0] not in named.named


@pytest.mark.usual(names=["icarus"])
def test_some_liars_are_named_and_an_honest_unit_conforms(simulator: str) -> None:
    made = [(), *((MISTAKES[name],) for name in SAMPLE)]
    found = list(liars.name_liars("tflite", simulator, "smoke", liars=made))
    assert [each.mistakes for each in found] == [(), *((name,) for name in SAMPLE)]
    assert not [each for each in found if wrong(each)]
    assert not found[1].verdict.conforms


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usual("form")
def test_the_rtl_of_each_mistake_gives_what_its_sentence_says(form: str, simulator: str) -> None:
    drawn = liars.liar_cases(form, "smoke", seed=5, biased=True)
    cases = {name: values[::4] for name, values in drawn.items()}
    made = [(), *((mistake,) for mistake in mistakes_of(form, biased=True))]
    results = liars.liar_results(form, cases, made, simulator)
    for mistakes, theirs in zip(made, results, strict=True):
        expected = results_with(FORMS[form], cases, *mistakes)
        assert np.array_equal(theirs, expected), mistakes


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_each_liar_is_named_at_level_standard(form: str, simulator: str) -> None:
    found = list(liars.every_liar(form, simulator))
    assert len(found) == 1 + len(mistakes_of(form, True))
    assert not [(each.mistakes, each.named) for each in found if wrong(each)]


@pytest.mark.usual(names=["verilator"])
def test_an_honest_unit_conforms_with_every_seed(simulator: str) -> None:
    for form in FORMS:
        drawn = [liars.liar_cases(form, "smoke", seed) for seed in range(8)]
        cases = {name: np.concatenate([each[name] for each in drawn]) for name in drawn[0]}
        (theirs,) = liars.liar_results(form, cases, [()], simulator)
        assert judge(form, cases, theirs).conforms, form


@pytest.mark.usual(names=["icarus"])
def test_two_mistakes_at_once_deviate(simulator: str) -> None:
    rng = np.random.default_rng(0)
    for form in ("tflite", "tpu_mlir_32"):
        possible = list(pairs(mistakes_of(form)))
        chosen = [possible[index] for index in rng.permutation(len(possible))[:4]]
        for each in liars.name_liars(form, simulator, "smoke", liars=chosen):
            assert not each.verdict.conforms, each.mistakes
            assert each.named, each.mistakes


@pytest.mark.usual(names=["icarus-prelu]", "icarus-pad]"])
@pytest.mark.parametrize("unit", liars.FORM_UNITS)
def test_the_rtl_of_each_mistake_of_a_form_is_what_is_said_and_named(
    unit: str, simulator: str
) -> None:
    """And a right form conforms; what cases cannot tell is named together."""
    drawn, subject = unit_cases(unit, PROFILES["tpu-mlir"], "smoke"), SUBJECTS[unit]
    cases = {name: values.astype(np.int64) for name, values in drawn.inputs.items()}
    made = [(), *((mistake,) for mistake in subject.mistakes)]
    found = []
    for mistakes, theirs in zip(
        made, liars.form_results(unit, cases, made, simulator), strict=True
    ):
        expected = subject.compute(cases, mistakes)
        np.testing.assert_array_equal(theirs, expected, err_msg=str(mistakes))
        verdict = examine(subject, cases, drawn.results["result"].astype(np.int64), theirs)
        names = tuple(mistake.name for mistake in mistakes)
        found.append(liars.Named(unit, names, simulator, verdict))
    assert [each.mistakes for each in found if wrong(each)] == []
    assert found[0].verdict.power.unseen == ()


QUICK = ("parameters_before", "bias_per_tile", "entry_after", "compared_unsigned", "sticky_flag")
"""Faults of control in `make test`."""

CALLED = {
    **{
        f: tuple(f"{name}_{f}" for name in ("logistic", "tanh", "quantize"))
        for f in liars.TABLE_FAULTS
    },
    "addend_per_stall": ("nudge_per_stall",),
}
"""Names of faults that have others: another's, or those of each table."""


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("fault", liars.CONTROL_LIARS)
@pytest.mark.usual(names=[f"icarus-{fault}-0]" for fault in QUICK])
def test_a_fault_of_control_is_named(fault: str, seed: int, simulator: str) -> None:
    finding = liars.control_finding(liars.CONTROL_LIARS[fault], fault, simulator, seed=seed)
    assert finding.mistakes == CALLED.get(fault, (fault,))
    if finding.claim == "requantizer":
        assert finding.diagnosis[0].startswith("Arithmetic right, control wrong: ")


@pytest.mark.parametrize("kind", [liars.LyingStream, liars.LyingSequence, liars.LyingTable])
@pytest.mark.usual("kind")
def test_what_makes_no_fault_of_control_shows_none(
    kind: type[liars.ControlLiar], simulator: str
) -> None:
    assert liars.control_finding(kind, "right", simulator).right


AT_FEW_VALUES = (
    *("second_mask_short", "second_addend_overflows", "second_nudge_at_0"),
    *("multiplier_leading_one", "zero_point_unsigned", "relu_at_0_of_zero_point"),
)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_what_shows_at_few_values_is_named_with_every_seed(seed: int) -> None:
    cases = liars.liar_cases("tflite", "smoke", seed)
    for name in AT_FEW_VALUES:
        theirs = results_with(FORMS["tflite"], cases, MISTAKES[name])
        assert [each.name for each in judge("tflite", cases, theirs).explanations] == [name]
