"""Every rule of the spec has a check, cases, and mistakes that break it; findings cite it."""

import json
from fnmatch import filter as matches
from itertools import islice

import pytest
from click.testing import CliRunner

from eightfold.conformance import citation
from eightfold.conformance.commands import spec
from eightfold.conformance.judge.contracts import requantizer
from eightfold.conformance.judge.dot import DOT
from eightfold.conformance.judge.models.mistakes import operator_mistakes, operator_power
from eightfold.conformance.judge.models.subject import OperatorRun
from eightfold.conformance.judge.tables import float_table
from eightfold.conformance.profile import CLAIMS, OPERATORS, PROFILES
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.vectors.models import model_cases
from eightfold.operators import load_model
from eightfold.operators.spec import ARITHMETIC, RULES, rule, rules_of
from tests.support.conformance.requantizations import judged


@pytest.mark.parametrize("operator", ["GENERAL", *OPERATORS])
def test_a_rule_has_cases_and_a_mistake_or_the_reason_why_not(operator: str) -> None:
    for each in rules_of(operator):
        assert citation.cases_of_rule(each), each
        assert bool(citation.mistakes_of_rule(each)) != (each.identity in citation.UNSHOWN), each


def test_no_pattern_is_without_a_mistake() -> None:
    subjects = (requantizer("tflite", biased=True), DOT, float_table("TANH", "litert"))
    names = {each.name for subject in subjects for each in subject.mistakes}
    names = {name.removeprefix("tanh_") for name in names}
    names |= {each.name for operator in OPERATORS for each in operator_mistakes(operator)}
    dead = [p for patterns in citation.BROKEN.values() for p in patterns if not matches(names, p)]
    assert not dead
    assert all(key in RULES for key in citation.BROKEN if key.startswith("TFL8-"))
    assert {*citation.UNSHOWN, *citation.DEFAULTS.values()} <= RULES.keys()


@pytest.mark.parametrize("operator", ["FULLY_CONNECTED", "L2_NORMALIZATION", "SQUEEZE"])
def test_models_show_a_mistake_that_breaks_each_rule(operator: str) -> None:
    runs = []
    for case in islice(model_cases(operator, PROFILES["tflite"], "standard"), 12):
        graph = load_model(case.model)
        (only,) = graph.operators
        expected = tuple(case.tensors[index] for index in only.outputs)
        runs.append(OperatorRun(graph, only, case.inputs, expected))
    unseen = {f"{operator} {name}" for name in operator_power(operator, runs).unseen}
    for each in rules_of(operator):
        assert each.identity in citation.UNSHOWN or set(citation.mistakes_of_rule(each)) - unseen, (
            each
        )


@pytest.mark.parametrize(
    ("claim", "mistakes", "identities"),
    [
        ("CONV_2D", ["padding_0"], ["TFL8-CONV_2D-1"]),
        ("CONV_2D", ["input_nchw"], ["TFL8-CONV_2D-7"]),
        ("CONV_2D", ["zero_points_swapped"], ["TFL8-CONV_2D-1", "TFL8-CONV_2D-6"]),
        ("CONCATENATION", ["output_scale_other"], ["TFL8-CONCATENATION-3"]),
        ("networks", ["CONV_2D clamp_wraps", "ADD xnnpack_form"], ["TFL8-CONV_2D-6", "TFL8-ADD-4"]),
        ("requantizer", ["second_half_up and clamp_wraps"], ["TFL8-GENERAL-1", "TFL8-GENERAL-4"]),
        ("dot", ["bias_twice"], ["TFL8-GENERAL-12"]),
        ("tables", ["tanh_symmetric", "second_half_up"], ["TFL8-TANH-2", "TFL8-QUANTIZE-3"]),
    ],
)
def test_a_claim_breaks_the_rules_of_its_mistakes(
    claim: str, mistakes: list[str], identities: list[str]
) -> None:
    assert [*citation.broken(claim, mistakes)] == identities
    assert [claim for claim in CLAIMS["tflite"] if not citation.broken(claim)] == ["fake_quantize"]


@pytest.mark.parametrize("profile", ["tflite", "tpu-mlir"])
def test_a_finding_cites_what_is_broken(profile: str) -> None:
    cases = unit_cases("requantizer", PROFILES[profile], "smoke")
    assert judged(PROFILES[profile], cases).rules == ()
    finding = judged(PROFILES[profile], cases, "clamp_symmetric")
    assert finding.mistakes == ("clamp_symmetric",)
    cited = f"It breaks TFL8-GENERAL-4: {rule('TFL8-GENERAL-4').text}" in finding.lines("smoke")
    assert cited == (profile == "tflite")
    assert finding.rules == ("TFL8-GENERAL-4",) * (profile == "tflite")


def test_the_command_prints_all_rules_those_of_a_row_or_one() -> None:
    def printed(*arguments: str) -> str:
        return CliRunner().invoke(spec, arguments, catch_exceptions=False).output

    assert [line.split()[0] for line in printed().splitlines()] == [*RULES]
    assert len(printed("conv_2d").splitlines()) == len(rules_of("CONV_2D")) == 7
    one = printed("tfl8-conv_2d-3").splitlines()
    assert one[0] == "identity: TFL8-CONV_2D-3"
    assert "mistakes: CONV_2D weight_zero_point_of_input" in one
    (record,) = json.loads(printed("TFL8-SHAPE-2", "--json"))
    assert (record["unchecked"], record["mistakes"]) == (ARITHMETIC, ["SHAPE reversed"])
