"""TPU-MLIR's forms as units: the accelerator answers them, and mistakes are told."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.conformance.adapters import UnitAdapter, accelerator
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import FORMS, PROFILES
from eightfold.conformance.units.registry import unit_cases
from tests.support.networks.machine_run import run_compiled

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
