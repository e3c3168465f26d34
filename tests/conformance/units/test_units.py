"""Cases of units: directed as they say, right by other means, within the limits, the same again."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.adapters import UnitAdapter, accelerator
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.judge.forms import FORMS as JUDGED
from eightfold.conformance.judge.forms import cases_of
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.judge.variants import mistakes_of, results_with
from eightfold.conformance.profile import EVERY_UNIT, FORMS, PROFILES, UNITS, Profile, ProfileLimits
from eightfold.conformance.units.dot import KINDS, LENGTH
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from eightfold.conformance.units.tables import OPERATORS
from eightfold.conformance.units.unit import LEVELS, Column, Level, UnitCases, as_columns
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.model.builder import ModelBuilder
from eightfold.run.reference.oracle import Oracle
from lab.hostile.subject import run_compiled
from tests.support.conformance.requantizations import UNSEEN
from tests.support.models.exact_arithmetic import exact_multiply, wrap
from tests.support.models.single import one_operator

TFLITE = PROFILES["tflite"]


def test_every_unit_of_profiles_is_there() -> None:
    assert tuple(UNIT_KINDS) == EVERY_UNIT


@pytest.mark.parametrize("unit", UNITS)
def test_the_same_arguments_give_the_same_cases(unit: str) -> None:
    first, again = (unit_cases(unit, TFLITE, "smoke", 3) for _ in range(2))
    other = unit_cases(unit, TFLITE, "smoke", 4)
    differs = False
    for name, values in {**first.inputs, **first.results}.items():
        np.testing.assert_array_equal(values, {**again.inputs, **again.results}[name])
        differs |= not np.array_equal(values, {**other.inputs, **other.results}[name])
    assert differs


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS[:2])
@pytest.mark.usual(names=["smoke"])
def test_the_document_says_how_many_cases_there_are(level: Level) -> None:
    text = (IMPORT_ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    for unit in UNITS:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{unit}` |"))
        stated = row.split("|")[3 + LEVELS.index(level)]
        assert int(stated.replace(",", "")) == len(unit_cases(unit, TFLITE, level)), unit


@pytest.mark.parametrize("unit", UNITS)
def test_columns_are_as_described(unit: str) -> None:
    kind, cases = UNIT_KINDS[unit], unit_cases(unit, TFLITE)
    for columns, arrays in ((kind.inputs, cases.inputs), (kind.results, cases.results)):
        assert list(arrays) == [column.name for column in columns]
        for column in columns:
            shape = (len(cases),) if column.length == 1 else (len(cases), column.length)
            assert arrays[column.name].shape == shape
            assert arrays[column.name].dtype == column.dtype


def test_dot_products_are_sums_of_products() -> None:
    cases = unit_cases("dot", TFLITE)
    columns = [values.tolist() for values in cases.inputs.values()]
    for row, result in zip(
        zip(*columns, strict=True), cases.results["result"].tolist(), strict=True
    ):
        length, zx, zw, bias, x, w = row
        terms = [(a - zx) * (b - zw) for a, b in zip(x, w, strict=True)]
        assert not any(terms[length:])
        total = bias + sum(terms[:length])
        assert result == (total + (1 << 31)) % (1 << 32) - (1 << 31)
    assert set(cases.kinds.tolist()) == set(KINDS)
    assert set(cases.inputs["length"].tolist()) == set(range(1, LENGTH + 1))


@pytest.mark.slow
def test_dot_products_reach_their_extremes_and_wrap_beyond_the_spec() -> None:
    cases = unit_cases("dot.beyond-spec", TFLITE)
    bias, result = (a.astype(np.int64) for a in (cases.inputs["bias"], cases.results["result"]))
    assert (result - bias).max() > 1 << 31 and (result - bias).min() < -(1 << 31)  # wrapped
    cases = unit_cases("dot", TFLITE, "standard")
    bias, result = (a.astype(np.int64) for a in (cases.inputs["bias"], cases.results["result"]))
    assert bias.max() > INT32_MAX - (1 << 17) and bias.min() < INT32_MIN + (1 << 17)
    sums = result - bias
    assert sums.max() == LENGTH * 255 * 128 and sums.min() == -LENGTH * 255 * 128
    assert np.mean(cases.inputs["weight_zero_point"] != 0) > 0.1


def test_a_narrow_accumulator_has_no_sum_that_it_cannot_hold() -> None:
    profile = Profile(name="narrow", limits=ProfileLimits(accumulator_bits=18, zero_points=(0,)))
    cases = unit_cases("dot", profile)
    assert len(cases) == len(unit_cases("dot", TFLITE))
    x, w = (cases.inputs[name].astype(np.int64) for name in ("inputs", "weights"))
    w -= cases.inputs["weight_zero_point"].astype(np.int64)[:, None]
    partial = np.cumsum(x * w, axis=1)
    for sums in (partial, partial + cases.inputs["bias"].astype(np.int64)[:, None]):
        assert sums.min() >= -(1 << 17) and sums.max() < 1 << 17
    assert set(cases.inputs["input_zero_point"].tolist()) == {0}


@pytest.mark.parametrize("reference", ["litert", "tflm"])
def test_a_sample_of_tables_equals_the_reference(reference: str) -> None:
    profile = PROFILES["tflite" if reference == "litert" else "tflm"]
    cases = unit_cases("tables", profile)
    columns = [values.tolist() for values in cases.inputs.values()]
    rows = list(zip(*columns, cases.results["result"], strict=True))
    codes = np.arange(-128, 128, dtype=np.int8)
    with Oracle(reference) as oracle:
        for operator, scale, zero_point, out_scale, out_zero, result in rows[::7]:
            scales = tuple(np.array([scale, out_scale], np.uint32).view(np.float32))
            zeros, shape = (zero_point, out_zero), (1, 256)
            name = OPERATORS[operator]
            model = one_operator(name, [shape], shape, scales=scales, zero_points=zeros)
            tensors = oracle.run(model, {0: codes[None]})
            np.testing.assert_array_equal(tensors[1].ravel(), result)


def test_tables_with_one_rounding_differ_at_ties() -> None:
    double, single = (unit_cases("tables", PROFILES[n]) for n in ("tflite", "tflite-single"))
    differs = np.any(double.results["result"] != single.results["result"], axis=1)
    assert set(double.inputs["operator"][differs].tolist()) == {OPERATORS.index("QUANTIZE")}
    assert "ties" in double.kinds[differs].tolist()
    assert np.sum(differs) > 5


def test_golden_has_no_tables_of_micro_with_one_rounding() -> None:
    profile = Profile(name="one", reference="tflm", limits=ProfileLimits(rounding="single"))
    cases = unit_cases("tables", profile)
    assert set(cases.inputs["operator"].tolist()) == {OPERATORS.index("QUANTIZE")}
    assert cases.left_out["without a result"] == 80


def test_ranges_have_codes_or_have_none() -> None:
    cases = unit_cases("fake_quantize", TFLITE)
    valid = cases.results["valid"].astype(bool)
    assert np.all(valid[cases.kinds == "codes"])
    assert not np.any(valid[cases.kinds == "illegal"])
    near = valid[cases.kinds == "neighbour"]
    assert 0 < np.sum(near) < len(near)
    low, high = (cases.inputs[f"input_{end}"].view(np.float32)[valid] for end in ("low", "high"))
    scale = cases.results["scale"].view(np.float32)[valid].astype(np.float64)
    steps = cases.inputs["levels"][valid].astype(np.float64) - 1
    zero_point = cases.results["zero_point"][valid].astype(int)
    first = np.where(steps == 255, -128, -127)
    np.testing.assert_allclose(scale * (first - zero_point), low, rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(scale * (127 - zero_point), high, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize(
    ("unit", "profile", "message"),
    [
        ("adder", TFLITE, "no unit 'adder'; use requantizer, dot, tables, fake_quantize"),
        ("dot", Profile(name="a", claims=("tables",)), "profile a: does not claim dot; add it to"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(unit: str, profile: Profile, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        unit_cases(unit, profile)


def test_a_value_that_does_not_fit_is_not_cut() -> None:
    with pytest.raises(OverflowError, match="x does not fit 8 bits"):
        as_columns((Column("x", 8, True, "a byte"),), {"x": np.array([0, 128])})


TPU_MLIR = PROFILES["tpu-mlir"]


def on_the_model(graph: Any, network: Any, batch: Any, **_: Any) -> list[SimpleNamespace]:
    (segment,), (inputs,) = network.segments, batch
    return [SimpleNamespace(tensors=run_compiled(segment.compiled, graph, inputs))]


def expect_goldens_answers(unit: str) -> None:
    cases = unit_cases(unit, TPU_MLIR).take(np.arange(0, 60 if unit == "requantizer" else 9))
    answers = accelerator.FormsOnAccelerator(unit, "nano").answer(
        cases.inputs, simulator="verilator"
    )
    np.testing.assert_array_equal(answers.results["result"], cases.results["result"])


@pytest.mark.parametrize("unit", ["requantizer", *FORMS])
def test_the_accelerator_answers_as_golden(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "simulate_network", on_the_model)
    expect_goldens_answers(unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["requantizer", *FORMS])
@pytest.mark.usual
def test_the_accelerator_in_rtl_answers_as_golden(unit: str) -> None:
    expect_goldens_answers(unit)


LIAR = """
from eightfold.conformance.adapters import UnitAdapter
from eightfold.conformance.answers import UnitAnswers
from eightfold.conformance.judge.tpu_mlir import SUBJECTS


class Liar(UnitAdapter):
    unit = {unit!r}

    def answer(self, cases, *, simulator, seed=0, trace=None):
        subject = SUBJECTS[self.unit]
        made = tuple(each for each in subject.mistakes if each.name in {mistakes!r})
        cases = {{name: values.astype("int64") for name, values in cases.items()}}
        return UnitAnswers(results={{"result": subject.compute(cases, made)}})
"""

LIES = {
    "convolution": "padding_zero",
    "inner_product": "bias_missing",
    "add_symmetric": "products_shifted",
    "add_asymmetric": "quotient_rounded",
    "avg_pool": "offset_added",
    "leaky_relu": "condition_zero",
    "prelu": "multiplier_shifted",
    "pad": "rounding_toward_zero",
}


@pytest.mark.parametrize("unit", FORMS)
def test_a_liar_is_told_and_who_is_right_is_not(unit: str, tmp_path: Path) -> None:
    cases = unit_cases(unit, TPU_MLIR)
    for mistakes in ((LIES[unit],), ()):
        file = tmp_path / f"liar_{len(mistakes)}.py"
        file.write_text(LIAR.format(unit=unit, mistakes=mistakes))
        with load_adapter(f"{file}:Liar") as liar:
            assert isinstance(liar, UnitAdapter)
            answers = liar.answer(cases.inputs, simulator="verilator")
        finding = judge_unit(unit, TPU_MLIR, cases, answers)
        assert finding.right is not bool(mistakes)
        assert finding.mistakes == mistakes


def test_the_command_asks_a_form(tmp_path: Path) -> None:
    (tmp_path / "liar.py").write_text(LIAR.format(unit="prelu", mistakes=("condition_zero",)))
    asked = ["conform", "run", "--adapter", f"{tmp_path}/liar.py:Liar", "--profile", "tpu-mlir"]
    result = CliRunner().invoke(commands, [*asked, "--workers", "1"])
    assert result.exit_code == 1 and "condition_zero: What decides is q_x >= 0" in result.output


def single_rounding(x: int, multiplier: int, shift: int) -> int:
    return (x * multiplier + (1 << (30 - shift))) >> (31 - shift)


def tpu_mlir(x: int, multiplier: int, rshift: int) -> int:
    return (2 * x * multiplier + (1 << rshift)) >> (rshift + 1)


ARITHMETIC: dict[str, Callable[[int, int, int], int]] = {
    "tflite": exact_multiply,
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
@pytest.mark.parametrize("name", ARITHMETIC)
def test_results_are_those_of_the_form(name: str, seed: int) -> None:
    cases = unit_cases("requantizer", PROFILES[name], "smoke", seed)
    assert len(cases) > 2000
    results = results_of(cases, ARITHMETIC[name], name == "tflite")
    np.testing.assert_array_equal(cases.results["result"], results)


def test_micro_and_litert_requantize_alike() -> None:
    first, second = (unit_cases("requantizer", PROFILES[n]) for n in ("tflite", "tflm"))
    np.testing.assert_array_equal(first.inputs["accumulator"], second.inputs["accumulator"])
    np.testing.assert_array_equal(first.results["result"], second.results["result"])


@pytest.mark.parametrize("name", ARITHMETIC)
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
    assert results_of(cases, exact_multiply, False) == cases.results["result"].tolist()
    multiplier = cases.inputs["multiplier"]
    assert np.all((multiplier >= 1 << 30) | (multiplier == 0)) and np.any(multiplier == 0)
    cases = unit_cases("requantizer.beyond-spec", TFLITE, "smoke", seed)
    small = (cases.inputs["multiplier"] < 1 << 30) & (cases.inputs["multiplier"] > 0)
    assert np.all(small | (cases.kinds == "wrap"))
    wrong = np.array(results_of(cases, exact_multiply, False)) != cases.results["result"]
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
    np.testing.assert_array_equal(cases.results["result"], results_of(cases, exact_multiply, True))


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
    np.testing.assert_array_equal(cases.results["result"], results_of(cases, exact_multiply, True))
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
