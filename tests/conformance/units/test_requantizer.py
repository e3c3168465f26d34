"""Requantizer cases: directed as they say, within the limits, and right by integers of Python."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.judge.forms import FORMS as JUDGED
from eightfold.conformance.judge.forms import cases_of
from eightfold.conformance.judge.variants import mistakes_of, results_with
from eightfold.conformance.profile import PROFILES, Profile, ProfileLimits
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import LEVELS, UnitCases
from eightfold.model.builder import ModelBuilder
from eightfold.run.reference.oracle import Oracle
from tests.support.conformance.requantizations import UNSEEN
from tests.support.models.exact_arithmetic import wrap

TFLITE = PROFILES["tflite"]


def truncated(x: int, unit: int) -> int:
    """Divide as C does."""
    return x // unit if x >= 0 else -(-x // unit)


def double_rounding(x: int, multiplier: int, shift: int) -> int:
    """As the C++ of gemmlowp says it, step by step."""
    x = wrap(x << max(shift, 0))
    product = x * multiplier
    x = truncated(product + ((1 << 30) if product >= 0 else 1 - (1 << 30)), 1 << 31)
    e = max(-shift, 0)
    mask = (1 << e) - 1
    return (x >> e) + ((x & mask) > (mask >> 1) + (x < 0))


def single_rounding(x: int, multiplier: int, shift: int) -> int:
    return (x * multiplier + (1 << (30 - shift))) >> (31 - shift)


def tpu_mlir(x: int, multiplier: int, rshift: int) -> int:
    return (2 * x * multiplier + (1 << rshift)) >> (rshift + 1)


FORMS: dict[str, Callable[[int, int, int], int]] = {
    "tflite": double_rounding,
    "tflite-single": single_rounding,
    "tpu-mlir": tpu_mlir,
    "tpu-mlir-8": tpu_mlir,
}


def results_of(cases: UnitCases, scale: Callable[[int, int, int], int], wraps: bool) -> list[int]:
    rows = zip(*(values.tolist() for values in cases.inputs.values()), strict=True)
    results = []
    for x, multiplier, shift, zero_point, low, high in rows:
        v = scale(x, multiplier, shift) + zero_point
        results.append(min(max(wrap(v) if wraps else v, low), high))
    return results


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", FORMS)
def test_results_are_those_of_the_form(name: str, seed: int) -> None:
    cases = unit_cases("requantizer", PROFILES[name], "smoke", seed)
    assert len(cases) > 2000
    results = results_of(cases, FORMS[name], name == "tflite")
    np.testing.assert_array_equal(cases.results["result"], results)


def test_micro_and_litert_requantize_alike() -> None:
    first, second = (unit_cases("requantizer", PROFILES[n]) for n in ("tflite", "tflm"))
    np.testing.assert_array_equal(first.inputs["accumulator"], second.inputs["accumulator"])
    np.testing.assert_array_equal(first.results["result"], second.results["result"])


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_mistakes_show_at_the_lowest_level(name: str, seed: int) -> None:
    profile = PROFILES[name]
    units = ["requantizer", *["requantizer.beyond-spec"] * (not name.startswith("tpu"))]
    drawn = [unit_cases(unit, profile, "smoke", seed) for unit in units]
    form = profile.form
    columns = [cases_of(form, cases.inputs) for cases in drawn]
    for mistake in mistakes_of(form):
        wrong = sum(
            int(np.sum(results_with(JUDGED[form], some, mistake) != cases.results["result"]))
            for some, cases in zip(columns, drawn, strict=True)
        )
        if name.startswith("tpu") and mistake.name in UNSEEN:
            assert not wrong
        else:
            assert wrong >= 5, mistake.name


@pytest.mark.parametrize("seed", range(3))
def test_a_missing_wrap_shows_beyond_the_spec_alone(seed: int) -> None:
    cases = unit_cases("requantizer", TFLITE, "smoke", seed)
    assert results_of(cases, double_rounding, False) == cases.results["result"].tolist()
    multiplier = cases.inputs["multiplier"]
    assert np.all((multiplier >= 1 << 30) | (multiplier == 0)) and np.any(multiplier == 0)
    cases = unit_cases("requantizer.beyond-spec", TFLITE, "smoke", seed)
    small = (cases.inputs["multiplier"] < 1 << 30) & (cases.inputs["multiplier"] > 0)
    assert np.all(small | (cases.kinds == "wrap"))
    wrong = np.array(results_of(cases, double_rounding, False)) != cases.results["result"]
    assert np.sum(wrong) >= 3
    assert set(cases.kinds[wrong].tolist()) == {"wrap"}


@pytest.mark.parametrize(
    ("name", "multipliers"),
    [(name, "any") for name in ("tflite", "tflite-single", "tpu-mlir")]
    + [("tflite", "converter"), ("tflite-single", "converter")],
)
def test_ties_are_ties(name: str, multipliers: Literal["any", "converter"]) -> None:
    profile = PROFILES[name]
    profile = profile.replace(limits=replace(profile.limits, multipliers=multipliers))
    cases = unit_cases("requantizer", profile, "standard")
    x, multiplier, shift = (
        cases.inputs[column].astype(object) for column in ("accumulator", "multiplier", "shift")
    )
    product = x * multiplier
    first, second = (cases.kinds == kind for kind in ("first tie", "second tie"))
    if name == "tflite":
        assert np.all(product[first] % (1 << 31) == 1 << 30)
        assert set(shift[first].tolist()) == set(range(-31, 1))
        for sign in (-1, 1):
            assert np.sum(np.sign(x[first].astype(int)) == sign) > 1000
        quotient, exponent = product // (1 << 31), -shift
        exact = second & (product % (1 << 31) == 0)
    else:
        quotient, exponent = product, shift if name == "tpu-mlir" else 31 - shift
        exact = second
        assert not np.any(first)
    unit = np.array([1 << int(e) for e in exponent[exact]], dtype=object)
    is_tie = quotient[exact] % unit == unit // 2
    assert np.mean(is_tie.astype(bool)) > 0.4
    # The directed multiplier of a converter is 2^30, of which one rounding has ties from 31 on.
    least = 31 if (name, multipliers) == ("tflite-single", "converter") else 1
    shifts = range(least, 32 if name == "tflite" else 63)
    tied = exponent[exact][is_tie.astype(bool)]
    assert set(tied.tolist()) == set(shifts)


def test_every_kind_has_every_shift_that_it_can_have() -> None:
    cases = unit_cases("requantizer", TFLITE)
    for kind, shifts in {
        "corner": range(-31, 1),
        "edge": range(-31, 31),
        "near": range(-31, 31),
        "power": range(-31, 1),
    }.items():
        assert set(shifts) <= set(cases.inputs["shift"][cases.kinds == kind].tolist()), kind


def test_most_results_are_within_the_clamp() -> None:
    cases = unit_cases("requantizer", TFLITE, "standard")
    near = cases.kinds == "near"
    result = cases.results["result"][near]
    inside = (result > cases.inputs["low"][near]) & (result < cases.inputs["high"][near])
    assert np.mean(inside) > 0.4
    assert set(cases.results["result"].tolist()) == set(range(-128, 128))


NARROW = Profile(
    name="narrow",
    claims=("requantizer", "dot", "tables"),
    limits=ProfileLimits(
        shift=(-24, -3),
        accumulator_bits=20,
        multiplier_bits=16,
        zero_points=(0, 5),
        clamp=((-128, 127), (0, 127)),
    ),
)


def test_limits_hold_and_what_they_leave_out_is_counted() -> None:
    cases = unit_cases("requantizer", NARROW)
    inputs = cases.inputs
    assert cases.left_out["outside of the limits"] > 1000
    assert len(cases) > 0.9 * len(unit_cases("requantizer", TFLITE))
    assert set(inputs["shift"].tolist()) == set(range(-24, -2))
    assert inputs["accumulator"].min() == -(1 << 19)
    assert inputs["accumulator"].max() == (1 << 19) - 1
    assert inputs["multiplier"].min() == 0
    assert inputs["multiplier"].max() == (1 << 15) - 1
    assert set(inputs["zero_point"].tolist()) == {0, 5}
    pairs = zip(inputs["low"].tolist(), inputs["high"].tolist(), strict=True)
    assert set(pairs) == {(-128, 127), (0, 127)}
    np.testing.assert_array_equal(cases.results["result"], results_of(cases, double_rounding, True))


@pytest.mark.parametrize("seed", range(3))
def test_relu_has_any_zero_point_and_parameters_hold_over_a_run(seed: int) -> None:
    limits = ProfileLimits(clamp="relu", hold=4, multipliers=(1000, 1 << 30))
    profile = Profile(name="lanes", claims=("requantizer", "dot"), limits=limits)
    cases = unit_cases("requantizer", profile, "smoke", seed)
    inputs = cases.inputs
    low, zero_point = inputs["low"], inputs["zero_point"]
    assert np.all((low == -128) | (low == zero_point)) and np.all(inputs["high"] == 127)
    assert len(set(low.tolist())) > 50
    assert inputs["multiplier"].min() >= 1000 and inputs["multiplier"].max() <= 1 << 30
    whole = len(cases) // 4 * 4
    for name, values in inputs.items():
        runs = values[:whole].reshape(-1, 4)
        assert np.all(runs == runs[:, :1]) == (name != "accumulator"), name
    np.testing.assert_array_equal(cases.results["result"], results_of(cases, double_rounding, True))
    dots = unit_cases("dot", profile, "smoke", seed).inputs
    for name in ("input_zero_point", "weight_zero_point"):
        runs = dots[name].reshape(-1, 4)
        assert np.all(runs == runs[:, :1])


@pytest.mark.parametrize(
    "limits",
    [
        ProfileLimits(clamp=((0, 0),)),
        ProfileLimits(clamp=((-128, -128), (127, 127))),
        ProfileLimits(shift=(-31, -31), accumulator_bits=8),
        ProfileLimits(shift=(-20, -10), multiplier_bits=4),
    ],
    ids=range(4),
)
def test_limits_within_which_the_accumulator_does_not_matter_are_refused(
    limits: ProfileLimits,
) -> None:
    profile = Profile(name="nothing", claims=("requantizer",), limits=limits)
    with pytest.raises(InputError, match="profile nothing: its limits leave a requantizer nothing"):
        unit_cases("requantizer", profile)


def test_one_step_of_the_result_is_enough() -> None:
    cases = unit_cases("requantizer", Profile(name="little", limits=ProfileLimits(clamp=((0, 1),))))
    assert set(cases.results["result"].tolist()) == {0, 1}


def test_tflite_with_one_rounding_has_no_result_beyond_int32() -> None:
    cases = unit_cases("requantizer", PROFILES["tflite-single"], "standard")
    assert cases.left_out["without a result"] > 1000
    x, m, shift = (cases.inputs[name].tolist() for name in ("accumulator", "multiplier", "shift"))
    scaled = [single_rounding(*case) for case in zip(x, m, shift, strict=True)]
    assert min(scaled) >= -(1 << 31) and max(scaled) < 1 << 31


def test_levels_grow() -> None:
    counts = [len(unit_cases("requantizer", TFLITE, level)) for level in LEVELS[:2]]
    assert counts[0] < 5_000 < 50_000 < counts[1]


@pytest.mark.parametrize("seed", [0])
def test_a_sample_equals_litert(oracle: Oracle, seed: int) -> None:
    """Channels of one convolution of zeros: the bias is the accumulator, the scale the multiplier.

    So it must be a float32, which ties, powers and many corners are.
    """
    cases = unit_cases("requantizer", TFLITE, "standard", seed)
    inputs = cases.inputs
    multiplier = inputs["multiplier"].astype(np.float64)
    scale = multiplier * 2.0 ** (inputs["shift"].astype(int) - 31)
    fits = (multiplier >= 1 << 30) & (multiplier.astype(np.float32) == multiplier)
    fits &= (inputs["low"] == -128) & (inputs["high"] == 127) & (inputs["zero_point"] == -128)
    assert np.sum(fits) > 500
    assert {"first tie", "second tie"} <= set(cases.kinds[fits].tolist())
    count = int(np.sum(fits))
    b = ModelBuilder()
    x = b.input((1, 1, 1, 1), scale=1.0)
    w = b.constant(np.zeros((count, 1, 1, 1), np.int8), scale=scale[fits])
    c = b.constant(inputs["accumulator"][fits].astype(np.int32), scale=scale[fits])
    y = b.tensor((1, 1, 1, count), scale=1.0, zero_point=-128)
    b.operator("CONV_2D", [x, w, c], [y], {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    b.output(y)
    tensors = oracle.run(b.build(), {x: np.zeros((1, 1, 1, 1), np.int8)})
    np.testing.assert_array_equal(tensors[y].ravel(), cases.results["result"][fits])
