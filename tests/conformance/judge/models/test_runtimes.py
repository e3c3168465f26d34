"""What LiteRT's optimized kernels and XNNPACK compute is what their named forms compute."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.vectors.models import model_cases
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from lab.documents.kit import COLUMNS, both, findings
from tests.support.conformance.models import answers_of

_CPU = Path("/proc/cpuinfo")

pytestmark = pytest.mark.skipif(
    not _CPU.is_file() or "avx2" not in _CPU.read_text(),
    reason="optimized kernels differ between machines: the forms are those of AVX2",
)


@cache
def found(name: str, operator: str, seed: int, count: int = 100) -> ClaimFinding:
    profile = PROFILES["tflite"]
    cases = list(model_cases(operator, profile, "standard", seed, count=count))
    return judge_models(operator, cases, answers_of(name, cases), profile, power=False)


@pytest.mark.parametrize(
    ("name", "operator", "mistake"),
    [
        ("litert", "SUM", "read_as_uint8"),
        ("litert-optimized", "DEPTHWISE_CONV_2D", "litert_optimized_form"),
        ("litert-optimized", "FULLY_CONNECTED", "litert_optimized_form"),
        ("litert-optimized", "SUM", "litert_optimized_form"),
        ("litert-optimized", "QUANTIZE", "litert_optimized_form"),
        ("litert-optimized", "LOG_SOFTMAX", "computed_in_float_half_away"),
        ("xnnpack", "CONV_2D", "xnnpack_form"),
        ("xnnpack", "DEPTHWISE_CONV_2D", "xnnpack_form"),
        ("xnnpack", "MEAN", "xnnpack_form"),
        ("xnnpack", "SUM", "xnnpack_form"),
        ("xnnpack", "QUANTIZE", "xnnpack_form"),
        ("xnnpack", "RESIZE_BILINEAR", "xnnpack_form"),
        pytest.param("litert-optimized", "ADD", "litert_optimized_form", marks=pytest.mark.slow),
        pytest.param("litert-optimized", "MUL", "litert_optimized_form", marks=pytest.mark.slow),
        pytest.param("xnnpack", "ADD", "xnnpack_form", marks=pytest.mark.slow),
        pytest.param("xnnpack", "MUL", "xnnpack_form", marks=pytest.mark.slow),
        pytest.param("xnnpack", "SUB", "xnnpack_form", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usual("name", count=2)
@pytest.mark.slow
def test_what_a_runtime_computes_has_a_name(name: str, operator: str, mistake: str) -> None:
    finding = found(name, operator, seed=0)
    assert finding.mistakes[0] == mistake, finding.lines("standard")
    assert "It explains all" in finding.diagnosis[0]
    assert len(finding.mistakes) == 1 or operator not in ("ADD", "MUL", "SUB")


def test_models_that_crash_have_it_in_common_that_there_is_no_bias() -> None:
    finding = found("litert-optimized", "DEPTHWISE_CONV_2D", seed=0)
    text = " ".join(finding.diagnosis)
    assert "models that ended as crashed, all (and no others) have no third input." in text


@pytest.mark.tflm
@pytest.mark.slow
def test_the_table_says_what_was_found() -> None:
    reference, micro = COLUMNS[0], COLUMNS[-1]
    entries = findings(reference, "smoke", ["SUM", "TANH"])
    assert [both(each, "smoke") for each in entries.values()] == [
        "`read_as_uint8`: 4 wrong of 4; beyond the spec `read_as_uint8`: 4 wrong of 4",
        "no deviation found",
    ]
    (tanh,) = findings(micro, "smoke", ["TANH"]).values()
    only = "no deviation found; beyond the spec `tflm_form`: 4 wrong of 4"
    assert both(tanh, "smoke") == only
    outside = replace(tanh[0], counts={CaseOutcome.EXACT: 3, CaseOutcome.WRONG: 1}, mistakes=())
    right = replace(outside, counts={CaseOutcome.EXACT: 4})
    assert both((right, outside)) == "conforms; beyond the spec 1 wrong of 4"
