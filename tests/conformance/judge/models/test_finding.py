"""Whole models are judged: every mistake is named, a right runtime conforms, nothing crashes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.judge.models.mistakes import names_told, operator_mistakes
from eightfold.conformance.judge.models.subject import OperatorMistake, OperatorRun
from eightfold.conformance.profile import NETWORKS, OPERATORS, PROFILES, parted
from eightfold.conformance.vectors.models import OperatorCase, model_cases
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from eightfold.operators import load_model, run_operator

TFLITE = PROFILES["tflite"]


def compute(case: OperatorCase, name: str, mistakes: Sequence[OperatorMistake]) -> ModelAnswer:
    """Return all tensors, golden's but for mistakes in the operators of one name."""
    graph = load_model(case.model)
    values = dict(case.inputs)
    for operator in graph.operators:
        results = right = run_operator(graph, operator, values)
        for mistake in mistakes if operator.name == name else ():
            changed = mistake.results(OperatorRun(graph, operator, values, tuple(right)))
            # Of two mistakes, the second one where the first changes nothing.
            if not all(map(np.array_equal, changed, right)):
                results = changed
                break
        values.update(zip(operator.outputs, results, strict=True))
    tensors = {index: values[index] for op in graph.operators for index in op.outputs}
    return ModelAnswer(ending="computed", tensors=tensors)


def answers(cases: Sequence[OperatorCase], operator: str, *names: str) -> list[ModelAnswer]:
    """Return the answers of a runtime that makes some mistakes of an operator."""
    mistakes = {each.name: each for each in operator_mistakes(operator)}
    made = [mistakes[name] for name in names]
    return [
        ModelAnswer(ending="refused", message="as it must be")
        if case.refusal
        else compute(case, operator, made)
        for case in cases
    ]


def finding(operator: str, *names: str, count: int = 40) -> ClaimFinding:
    cases = list(model_cases(operator, TFLITE, "standard", count=count))
    name = parted(operator)[0]  # some mistakes show beyond the spec alone
    return judge_models(name, cases, answers(cases, name, *names), TFLITE, power=False)


NATURAL = [
    ("CONV_2D", "padding_0"),
    ("CONV_2D", "second_down"),
    ("CONV_2D", "first_scale_for_all"),
    ("CONV_2D", "kernel_flipped"),
    ("CONV_2D", "bias_after"),
    ("CONV_2D", "xnnpack_form"),
    ("DEPTHWISE_CONV_2D", "channels_tiled"),
    ("DEPTHWISE_CONV_2D", "relu_at_0"),
    ("FULLY_CONNECTED.beyond-spec", "weight_zero_point_ignored"),
    ("FULLY_CONNECTED", "clamp_wraps"),
    ("AVERAGE_POOL_2D", "padding_counted"),
    ("AVERAGE_POOL_2D", "mean_toward_zero"),
    ("MAX_POOL_2D", "padding_0"),
    ("MEAN", "input_zero_point_ignored"),
    ("SUM", "read_as_uint8"),
    ("LOGISTIC.beyond-spec", "tflm_form"),
    ("SOFTMAX", "beta_ignored"),
    ("PAD", "padding_0"),
    ("TRANSPOSE", "inverse"),
    ("RESIZE_BILINEAR", "half_pixel_ignored"),
    ("QUANTIZE", "zero_points_swapped"),
    ("ARG_MAX", "last_of_equals"),
    ("ADD", "operands_rounded"),
    ("LESS", "operands_swapped"),
    ("MAXIMUM.beyond-spec", "rescaled"),
    ("MUL", "second_zero_point_ignored"),
    ("SUB", "operands_swapped"),
]

TWO_OPERANDS = ("ADD", "LESS", "MAXIMUM", "MUL", "SUB")
"""Operators whose many mistakes take long to tell apart."""


@pytest.mark.parametrize(("operator", "mistake"), NATURAL)
@pytest.mark.usual(count=12)
@pytest.mark.slow
def test_a_natural_mistake_is_named(operator: str, mistake: str) -> None:
    found = finding(operator, mistake, count=8 if parted(operator)[0] in TWO_OPERANDS else 40)
    assert not found.right
    assert found.mistakes[0] == mistake, found.diagnosis
    # TFLite Micro's form of LOGISTIC has a fixed zero point, and but for it the same codes.
    assert len(found.mistakes) == 1 or mistake.endswith("_form"), found.diagnosis
    sentence = next(m.sentence for m in operator_mistakes(parted(operator)[0]) if m.name == mistake)
    assert f"{mistake}: {sentence} It explains all" in found.diagnosis[0]
    assert found.smallest
    assert "theirs: " in found.smallest[-1]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.slow
def test_a_right_runtime_conforms(operator: str) -> None:
    cases = list(model_cases(operator, TFLITE))
    found = judge_models(operator, cases, answers(cases, operator), TFLITE)
    assert found.right, found.lines("standard")
    assert not found.mistakes and not found.diagnosis and not found.smallest
    assert found.headline("standard") == f"{operator}: conforms, all {len(cases)} cases are exact."
    assert found.power


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_a_right_runtime_conforms_over_many_seeds(seed: int) -> None:
    for operator in OPERATORS:
        cases = list(model_cases(operator, TFLITE, "smoke", seed))
        assert judge_models(operator, cases, answers(cases, operator), TFLITE).right
    cases = list(model_cases(NETWORKS, TFLITE, "smoke", seed))
    assert judge_models(NETWORKS, cases, answers(cases, "ADD"), TFLITE).right


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_mistake_is_named(operator: str) -> None:
    told = names_told(operator, TFLITE)
    for mistake, names in told.items():
        assert not names or mistake in names
    mistakes = operator_mistakes(operator)
    # Who rescales shows it where scales differ, which the spec's restriction excludes.
    legal = [names for mistake, names in told.items() if mistake != "rescaled"]
    assert sum(not names for names in legal) < len(legal) / 3
    for mistake in mistakes[:: 1 if operator not in ("ADD", "MUL", "SUB") else 12]:
        found = finding(operator, mistake.name, count=30)
        assert found.right or mistake.name in found.mistakes


def test_every_operator_of_the_spec_has_mistakes() -> None:
    for operator in OPERATORS:
        names = [mistake.name for mistake in operator_mistakes(operator)]
        assert names and len(set(names)) == len(names)


def test_two_mistakes_deviate_with_the_closest_and_what_is_left() -> None:
    found = finding("CONV_2D", "padding_0", "clamp_wraps")
    assert not found.right
    assert not found.mistakes
    assert "No mistake with a name explains all results. The closest is" in found.diagnosis[0]
    assert "models that it does not explain" in found.diagnosis[1]


def test_what_has_no_name_is_told_by_what_it_has_in_common() -> None:
    cases = list(model_cases("MAX_POOL_2D", TFLITE, "standard", count=60))
    given = []
    for case, answer in zip(cases, answers(cases, "MAX_POOL_2D"), strict=True):
        tensors = {
            i: np.bitwise_xor(t, np.int8(1)) if next(iter(case.inputs.values())).shape[0] > 1 else t
            for i, t in answer.tensors.items()
        }
        given.append(replace(answer, tensors=tensors))
    found = judge_models("MAX_POOL_2D", cases, given, TFLITE)
    assert found.diagnosis[0] == "No mistake with a name explains the results."
    assert "all (and no others) have a batch above 1 of input 0." in found.diagnosis[1]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ModelAnswer(ending="refused", message="no"), CaseOutcome.REFUSED),
        (ModelAnswer(ending="crashed", message="SIGSEGV"), CaseOutcome.CRASHED),
        (ModelAnswer(ending="timeout", message="60 s"), CaseOutcome.TIMEOUT),
        (ModelAnswer(ending="missing", message="nothing"), CaseOutcome.MISSING),
        (ModelAnswer(ending="computed"), CaseOutcome.MISSING),
    ],
)
def test_endings_are_outcomes(answer: ModelAnswer, outcome: CaseOutcome) -> None:
    case = next(model_cases("RESHAPE", TFLITE))
    found = judge_models("RESHAPE", [case], [answer], TFLITE, names=["RESHAPE/0000"])
    assert found.counts == {outcome: 1}
    assert found.failed[0].name == "RESHAPE/0000"
    assert found.failed[0].outcome == outcome
    assert found.smallest[0].startswith("case RESHAPE/0000: ")


def test_shapes_types_and_single_codes_are_outcomes() -> None:
    case = next(model_cases("MEAN", TFLITE, seed=3))
    ((index, right),) = case.tensors.items()
    near = np.where(right < 127, right + 1, right - 1).astype(np.int8)
    for tensor, outcome in (
        (right, CaseOutcome.EXACT),
        (near, CaseOutcome.OFF_BY_ONE),
        (near ^ np.int8(64), CaseOutcome.WRONG),
        (right.astype(np.int16), CaseOutcome.SHAPE),
        (np.stack([right, right]), CaseOutcome.SHAPE),
    ):
        answer = ModelAnswer(ending="computed", tensors={index: tensor})
        found = judge_models("MEAN", [case], [answer], TFLITE)
        assert found.counts == {outcome: 1}


def test_illegal_models_are_to_be_refused() -> None:
    cases = list(model_cases("CONV_2D.strictness", TFLITE))
    given = [
        ModelAnswer(ending="computed", tensors={3: np.zeros(1, np.int8)}),
        ModelAnswer(ending="crashed", message="SIGSEGV"),
    ]
    found = judge_models("CONV_2D", cases, given, TFLITE)
    assert found.counts == {CaseOutcome.ACCEPTED: 1, CaseOutcome.CRASHED: 1}
    text = " ".join(found.lines("standard"))
    assert f"Accepted though illegal: to be refused: {cases[0].refusal}." in text
    assert "Illegal models that were not refused: SIGSEGV; to be refused:" in text


@pytest.mark.slow
def test_the_guilty_operator_of_networks_is_found_and_its_mistake_named() -> None:
    cases = list(model_cases(NETWORKS, TFLITE, "standard", count=60))
    given = answers(cases, "CONV_2D", "relu_always")
    found = judge_models(NETWORKS, cases, given, TFLITE)
    assert not found.right
    assert found.layer == "network"
    assert found.mistakes == ("CONV_2D relu_always",)
    assert "CONV_2D deviates on right operands" in found.diagnosis[0]
    assert any("CONV_2D, output 0, element" in line for line in found.smallest)


def test_of_networks_outputs_alone_can_be_judged() -> None:
    cases = list(model_cases(NETWORKS, TFLITE, "standard", count=20))
    given = []
    for case, answer in zip(cases, answers(cases, "ADD", "clamp_wraps"), strict=True):
        outputs = set(load_model(case.model).outputs)
        kept = {i: t for i, t in answer.tensors.items() if i in outputs}
        given.append(replace(answer, tensors=kept))
    found = judge_models(NETWORKS, cases, given, TFLITE)
    assert not found.right
    assert found.counts[CaseOutcome.EXACT] + found.counts.get(CaseOutcome.WRONG, 0) <= 20


def test_naming_says_what_coincides_and_what_is_not_seen() -> None:
    rows = names_told("LOGISTIC", TFLITE, "smoke")
    assert rows["input_zero_point_ignored"] == ("input_zero_point_ignored",)
    assert all(not names or mistake in names for mistake, names in rows.items())
