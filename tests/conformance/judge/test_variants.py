"""Forms are golden's; mistakes are what their sentences say, in fractions, and differ."""

import struct
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from eightfold.conformance.judge.arithmetic import Arithmetic
from eightfold.conformance.judge.forms import FORMS, Cases, cases_of, form_of, take
from eightfold.conformance.judge.subject import pairs
from eightfold.conformance.judge.variants import MISTAKES, mistakes_of, results_with
from tests.support.conformance.requantizations import directed_cases, some
from tests.support.models.exact_arithmetic import EXACT, wrap

Round = Callable[[Fraction], int]
Case = dict[str, int]

HALF_UP = EXACT["half_up"]
HALF_AWAY = EXACT["half_away"]


def saturate(x: int, bits: int) -> int:
    return min(max(x, -(1 << (bits - 1))), (1 << (bits - 1)) - 1)


def clamp(v: int, c: Case) -> int:
    return min(max(v, c["low"]), c["high"])


def float32(x: float) -> float:
    return struct.unpack("f", struct.pack("f", x))[0]


def high(c: Case, first: Round = HALF_UP) -> int:
    return first(Fraction(wrap(c["acc"] << max(c["shift"], 0)) * c["multiplier"], 2**31))


def scaled(c: Case, first: Round = HALF_UP, second: Round = HALF_AWAY) -> int:
    return second(Fraction(high(c, first), 2 ** max(-c["shift"], 0)))


def finished(z: int, c: Case) -> int:
    return clamp(wrap(z + c["zero_point"]), c)


def real(c: Case) -> Fraction:
    return c["acc"] * c["multiplier"] * Fraction(2) ** (c["shift"] - 31)


def logical(c: Case) -> int:
    return (high(c) % 2**32) >> max(-c["shift"], 0)


def float_product(c: Case) -> int:
    product = float32(float32(c["acc"]) * float32(c["multiplier"] * 2.0 ** (c["shift"] - 31)))
    return round(min(max(product, -(2.0**30)), 2.0**30))


def subtracted_half(c: Case) -> int:
    y, e = high(c), max(-c["shift"], 0)
    half = (1 << e) >> 1
    return (y + (half if y >= 0 else -half)) >> e


def saturating_left(c: Case) -> int:
    x = saturate(c["acc"] << max(c["shift"], 0), 32)
    return HALF_AWAY(
        Fraction(HALF_UP(Fraction(x * c["multiplier"], 2**31)), 2 ** max(-c["shift"], 0))
    )


def wide_left(c: Case) -> int:
    if c["shift"] > 0:
        return clamp(HALF_UP(real(c)) + c["zero_point"], c)
    return finished(scaled(c), c)


def late_left(c: Case) -> int:
    y = HALF_UP(Fraction(c["acc"] * c["multiplier"], 2**31))
    return HALF_AWAY(Fraction(wrap(y << max(c["shift"], 0)), 2 ** max(-c["shift"], 0)))


def upper_half(c: Case) -> int:
    return scaled(c | {"multiplier": c["multiplier"] // 65536 * 65536})


def before_shift(c: Case) -> int:
    e = max(-c["shift"], 0)
    return HALF_AWAY(Fraction(high(c), 2**e) + c["zero_point"])


FORMULAS: dict[str, Callable[[Case], int]] = {
    "second_logical": lambda c: finished(logical(c), c),
    "second_half_subtracted": lambda c: finished(subtracted_half(c), c),
    "one_rounding_half_up": lambda c: finished(wrap(HALF_UP(real(c))), c),
    "one_rounding_half_away": lambda c: finished(wrap(HALF_AWAY(real(c))), c),
    "float32_half_even": lambda c: clamp(float_product(c) + c["zero_point"], c),
    "multiplier_upper_16": lambda c: finished(upper_half(c), c),
    "high_16": lambda c: finished(
        HALF_AWAY(Fraction(wrap(high(c), 16), 2 ** max(-c["shift"], 0))), c
    ),
    "left_saturates": lambda c: finished(saturating_left(c), c),
    "left_after": lambda c: finished(late_left(c), c),
    "left_missing": lambda c: finished(scaled(c | {"shift": min(c["shift"], 0)}), c),
    "left_wide": wide_left,
    "shift_negated": lambda c: finished(scaled(c | {"shift": -c["shift"]}), c),
    "right_one_more": lambda c: finished(
        HALF_AWAY(Fraction(high(c), 2 ** (1 + max(-c["shift"], 0)))), c
    ),
    "zero_point_saturates": lambda c: clamp(saturate(scaled(c) + c["zero_point"], 32), c),
    "zero_point_subtracted": lambda c: finished(scaled(c), c | {"zero_point": -c["zero_point"]}),
    "zero_point_before_shift": lambda c: (
        clamp(before_shift(c), c) if c["shift"] < 0 else finished(scaled(c), c)
    ),
    "clamp_first": lambda c: wrap(clamp(scaled(c), c) + c["zero_point"], 8),
    "clamp_wraps": lambda c: wrap(scaled(c) + c["zero_point"], 8),
    "scaled_8": lambda c: clamp(saturate(scaled(c), 8) + c["zero_point"], c),
    "relu_at_0": lambda c: min(
        max(wrap(scaled(c) + c["zero_point"]), 0 if c["low"] > -128 else -128), c["high"]
    ),
}
FORMULAS |= {
    f"second_{mode}": lambda c, way=way: finished(scaled(c, second=way), c)
    for mode, way in EXACT.items()
    if mode != "half_away"
}
FORMULAS |= {
    f"first_{mode}": lambda c, way=way: finished(scaled(c, first=way), c)
    for mode, way in EXACT.items()
    if mode != "half_up"
}


@pytest.fixture(scope="module")
def cases() -> Cases:
    return some(directed_cases("tflite", seed=3, count=4), 2000)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.slow
def test_the_mistake_is_its_formula(name: str, cases: Cases) -> None:
    form = FORMS["tflite"]
    results = results_with(form, cases, MISTAKES[name])
    expected = [FORMULAS[name](take(cases, index)) for index in range(len(results))]
    np.testing.assert_array_equal(results, expected)
    assert not np.array_equal(results, form.results(cases))


def test_mistakes_change_what_exists_in_forms_that_exist() -> None:
    known = {field.name for field in fields(Arithmetic)}
    for mistake in MISTAKES.values():
        assert mistake.changes and mistake.changes.keys() <= known
        assert mistake.forms and set(mistake.forms) <= set(FORMS)


def test_a_pair_is_of_different_places() -> None:
    made = [(one.name, other.name) for one, other in pairs(mistakes_of("tflite"))]
    assert len(made) > 1000 and len(set(made)) == len(made)
    assert ("first_down", "second_down") in made
    assert not {("second_down", "second_up"), ("second_up", "second_down")} & set(made)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usual("form")
@pytest.mark.slow
def test_every_mistake_and_pair_gives_codes(form: str, biased: bool) -> None:
    cases = some(directed_cases(form, seed=4, count=1, biased=biased), 200)
    mistakes = mistakes_of(form, biased)
    for made in (*((mistake,) for mistake in mistakes), *pairs(mistakes)):
        results = results_with(FORMS[form], cases, *made)
        assert results.dtype == np.int64 and results.shape == cases["acc"].shape
        assert results.min() >= -128 and results.max() <= 127


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be one of tflite, .*, not 'float'"):
        form_of("float")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.slow
def test_columns_in_the_specs_terms_are_cases(name: str) -> None:
    cases = directed_cases(name, seed=3, count=1)
    sign = -1 if name.startswith("tpu_mlir") else 1
    columns = {key: values for key, values in cases.items() if key not in ("acc", "shift")}
    columns |= {"accumulator": cases["acc"], "shift": (sign * cases["shift"]).astype(np.int8)}
    found = cases_of(name, columns | {"kind": np.zeros(1)})
    assert found.keys() == cases.keys()
    for key, values in cases.items():
        np.testing.assert_array_equal(found[key], values)
        assert found[key].dtype == np.int64
