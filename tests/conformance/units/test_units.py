"""Dot products, tables and ranges: right by other means, within the limits, the same again."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.adapters import UnitAdapter, accelerator
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import EVERY_UNIT, FORMS, PROFILES, UNITS, Profile, ProfileLimits
from eightfold.conformance.units.dot import KINDS, LENGTH
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from eightfold.conformance.units.tables import OPERATORS
from eightfold.conformance.units.unit import LEVELS, Column, Level, as_columns
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.run.reference.oracle import Oracle
from tests.support.models.single import one_operator
from tests.support.networks.machine_run import run_compiled

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
