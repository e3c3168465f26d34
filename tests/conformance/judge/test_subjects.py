"""The mistakes of every unit are named by the results alone, and what is said is true."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from eightfold.conformance.judge import diagnosis
from eightfold.conformance.judge.contracts import requantizer
from eightfold.conformance.judge.diagnosis import UnitVerdict, examine
from eightfold.conformance.judge.dot import DOT
from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.power import Power, power
from eightfold.conformance.judge.ranges import RANGES
from eightfold.conformance.judge.sequences import FAULTS
from eightfold.conformance.judge.subject import Cases, Subject, pairs
from eightfold.conformance.judge.tables import float_table, quantize_table
from eightfold.conformance.judge.tpu_mlir import SUBJECTS as TPU_MLIR
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.tables import OPERATORS
from eightfold.golden.fixed_point import Integers
from tests.support.conformance.requantizations import telling_cases
from tests.support.models.exact_arithmetic import wrap

SUBJECTS: dict[str, tuple[Subject, str]] = {
    "dot": (DOT, "tflite"),
    "fake_quantize": (RANGES, "tflite"),
    "LOGISTIC litert": (float_table("LOGISTIC", "litert"), "tflite"),
    "TANH litert": (float_table("TANH", "litert"), "tflite"),
    "LOGISTIC tflm": (float_table("LOGISTIC", "tflm"), "tflm"),
    "TANH tflm": (float_table("TANH", "tflm"), "tflm"),
    "QUANTIZE": (quantize_table(False), "tflite"),
    "QUANTIZE single": (quantize_table(True), "tflite-single"),
    **{unit: (subject, "tpu-mlir") for unit, subject in TPU_MLIR.items()},
}

REQUANTIZERS = {
    f"{form} {'biased' if biased else 'plain'}": (form, biased)
    for form in FORMS
    for biased in (False, True)
}

ALL = (*SUBJECTS, *REQUANTIZERS)


@cache
def unit_columns(
    unit: str, profile: str, seed: int
) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return a unit's cases at level smoke, and golden's results."""
    cases = unit_cases(unit, PROFILES[profile], "smoke", seed)
    columns = {key: values.astype(np.int64) for key, values in cases.inputs.items()}
    return columns, [values.astype(np.int64) for values in cases.results.values()]


@cache
def drawn(name: str, seed: int = 0) -> tuple[Subject, Cases, Integers]:
    """Return a subject, the unit's cases at level smoke, and golden's results.

    Of a requantizer few of the directed cases, and the results of its form.
    """
    if name in REQUANTIZERS:
        form, biased = REQUANTIZERS[name]
        cases = telling_cases(form, seed, biased)
        return requantizer(form, biased), cases, FORMS[form].results(cases)
    subject, profile = SUBJECTS[name]
    unit = name if name in ("dot", "fake_quantize", *TPU_MLIR) else "tables"
    columns, parts = unit_columns(unit, profile, seed)
    expected = parts[0] if len(parts) == 1 else np.stack(parts, axis=1)
    if unit == "tables":
        mine = columns["operator"] == OPERATORS.index(subject.name)
        columns = {key: values[mine] for key, values in columns.items()}
        expected = expected[mine]
    return subject, columns, expected


@cache
def told(name: str) -> Power:
    """Return what a subject's cases cannot tell apart."""
    return power(*drawn(name))


def verdict_on(name: str, results: Integers, monkeypatch: pytest.MonkeyPatch) -> UnitVerdict:
    """Examine results; what the cases tell apart does not depend on them, and is computed once."""
    monkeypatch.setattr(diagnosis, "power", lambda *_: told(name))
    return examine(*drawn(name), results)


@pytest.mark.parametrize(
    ("name", "seed"),
    [*((name, seed) for name in SUBJECTS for seed in range(20)), *((r, 0) for r in REQUANTIZERS)],
)
@pytest.mark.usual("name")
@pytest.mark.slow
def test_the_arithmetic_without_a_mistake_is_goldens(name: str, seed: int) -> None:
    subject, cases, expected = drawn(name, seed)
    np.testing.assert_array_equal(subject.compute(cases, ()), expected)


def names_of(verdict: UnitVerdict) -> set[str]:
    return {explanation.name for explanation in verdict.explanations}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.usual(count=8)
@pytest.mark.slow
def test_each_mistake_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, cases, _ = drawn(name)
    assert len(told(name).unseen) <= 7
    for mistake in subject.mistakes:
        results = subject.compute(cases, (mistake,))
        verdict = verdict_on(name, results, monkeypatch)
        if mistake.name in told(name).unseen:
            assert verdict.conforms
            continue
        alike = next((set(g) for g in told(name).groups if mistake.name in g), {mistake.name})
        assert names_of(verdict) == alike
        assert any(alike & {line.partition(":")[0]} for line in verdict.lines())


@pytest.mark.parametrize(
    ("name", "count"), [*((name, 8) for name in SUBJECTS), ("tflite plain", 15)]
)
@pytest.mark.usual(count=4)
@pytest.mark.slow
def test_two_mistakes_are_explained(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, cases, expected = drawn(name)
    made = list(pairs(subject.mistakes))
    for index in np.random.default_rng(0).choice(len(made), count, replace=False):
        results = subject.compute(cases, made[index])
        if np.array_equal(results, expected):
            continue
        verdict = verdict_on(name, results, monkeypatch)
        assert not verdict.conforms and verdict.explanations
        # A mistake may hide the other: a single one is then all that can be said.
        assert " and ".join(each.name for each in made[index]) in names_of(verdict) or all(
            len(explanation.mistakes) == 1 for explanation in verdict.explanations
        )
        for explanation in verdict.explanations:
            np.testing.assert_array_equal(subject.compute(cases, explanation.mistakes), results)


@pytest.mark.parametrize("name", ALL)
def test_steps_end_in_the_result(name: str) -> None:
    subject, cases, expected = drawn(name)
    rng = np.random.default_rng(1)
    for index in rng.choice(len(expected), 100):
        row = np.atleast_1d(expected[index])
        place = int(rng.integers(len(row)))
        wanted = int(row[place])
        value = wanted if subject.value is None else subject.value(wanted, place)
        assert subject.steps(cases, int(index), place)[-1][1] == value


@pytest.mark.parametrize("name", ALL)
@pytest.mark.slow
def test_a_mistake_without_a_name_has_its_rest_described(name: str) -> None:
    subject, cases, expected = drawn(name)
    results = expected.copy()
    results[7::11] += 5
    verdict = examine(subject, cases, expected, results)
    assert not verdict.conforms and not verdict.explanations
    assert verdict.unexplained >= len(results[7::11])
    assert verdict.failure and verdict.failure.index % 11 == 7
    assert verdict.failed[0].name == "7"
    assert "No mistake with a name explains all results" in " ".join(verdict.lines())


def test_mistakes_have_names_and_sentences_of_their_own() -> None:
    subjects = [subject.mistakes for subject, _ in SUBJECTS.values()]
    for mistakes in (*subjects, [*MISTAKES.values()], [*FAULTS.values()]):
        names = [mistake.name for mistake in mistakes]
        sentences = [mistake.sentence for mistake in mistakes]
        assert len(set(names)) == len(names) and len(set(sentences)) == len(sentences)
        assert all(text[0].isupper() and text.endswith(".") for text in sentences)


def products(case: dict) -> Iterator[int]:
    for x, w in zip(case["inputs"], case["weights"], strict=True):
        yield (x - case["input_zero_point"]) * (w - case["weight_zero_point"])


def dot(case: dict, **changes: Any) -> int:
    """Return the dot product of a case some of whose values are others."""
    return wrap((case | changes)["bias"] + sum(products(case | changes)))


def saturating(case: dict) -> int:
    total = min(max(wrap(case["bias"], 64), -(2**15)), 2**15 - 1)
    for product in products(case):
        total = min(max(total + product, -(2**15)), 2**15 - 1)
    return total


EXACT: dict[str, Callable[[dict], int]] = {
    "input_zero_point_missing": lambda c: dot(c, input_zero_point=0),
    "weight_zero_point_added": lambda c: dot(c, weight_zero_point=-c["weight_zero_point"]),
    "zero_points_swapped": lambda c: dot(
        c, input_zero_point=c["weight_zero_point"], weight_zero_point=c["input_zero_point"]
    ),
    "operands_unsigned": lambda c: dot(
        c, **{name: [v & 255 for v in c[name]] for name in ("inputs", "weights")}
    ),
    "last_missing": lambda c: dot(c, inputs=c["inputs"][:-1], weights=c["weights"][:-1]),
    "product_16_wraps": lambda c: wrap(c["bias"] + sum(wrap(p, 16) for p in products(c))),
    "accumulator_24_wraps": lambda c: wrap(dot(c), 24),
    "accumulator_16_saturates": saturating,
    "bias_missing": lambda c: dot(c, bias=0),
    "cross_term_missing": lambda c: wrap(
        dot(c) - c["length"] * c["input_zero_point"] * c["weight_zero_point"]
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_mistake_of_dot_is_its_formula(name: str) -> None:
    _, cases, expected = drawn("dot")
    (mistake,) = [each for each in DOT.mistakes if each.name == name]
    results = DOT.compute(cases, (mistake,))
    assert not np.array_equal(results, expected)
    for index in range(0, len(results), 5):
        case = dict(DOT.shown(cases, index, 0))
        assert results[index] == EXACT[name](case)


def test_an_interpolated_table_is_exact_at_its_points_and_the_mean_between_them() -> None:
    subject, cases, _ = drawn("LOGISTIC litert")
    (mistake,) = [m for m in subject.mistakes if m.name == "logistic_interpolated_16"]
    one = {name: values[:1].copy() for name, values in cases.items()}
    one["input_scale"][0] = int(np.float32(0.5).view(np.uint32))
    one["input_zero_point"][0] = 0
    right, wrong = subject.compute(one, ())[0], subject.compute(one, (mistake,))[0]
    points = np.arange(-128, 128) % 2 == 0
    np.testing.assert_array_equal(right[points], wrong[points])
    mean = (1 / (1 + math.exp(0.0)) + 1 / (1 + math.exp(-1.0))) / 2
    assert wrong[128 + 1] == round(mean * 256) - 128 != right[128 + 1]
