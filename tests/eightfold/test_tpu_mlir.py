"""TPU-MLIR's forms on the machine model equal golden, and are refused only where golden refuses."""

import numpy as np
import pytest

from eightfold.config import PRESETS
from tests.eightfold.machine_run import run_compiled
from tests.eightfold.test_compiler import TIGHT
from tests.eightfold.tpu_mlir_cases import FORMS, Cases, random_cases


def expect_golden(cases: Cases) -> list:
    """Compile, run and compare; return the commands."""
    (segment,) = cases.network.compile().segments
    assert segment.compiled is not None
    found = run_compiled(segment.compiled, cases.network.graph, cases.inputs)
    assert set(found) == set(cases.results)
    for tensor, expected in cases.results.items():
        np.testing.assert_array_equal(found[tensor], expected, err_msg=f"tensor {tensor}")
    return [issued.command for issued in segment.compiled.issued]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMS)
def test_a_form_equals_golden(form: str, seed: int) -> None:
    expect_golden(random_cases(form, PRESETS["small"], seed, 3))


@pytest.mark.parametrize("config", ["4x4", "6x5", "2x9"])
@pytest.mark.parametrize("form", ["convolution", "inner_product", "avg_pool", "prelu", "pad"])
def test_a_form_equals_golden_where_little_fits(form: str, config: str) -> None:
    expect_golden(random_cases(form, TIGHT[config], 10, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 40))
@pytest.mark.parametrize("form", FORMS)
def test_many_forms_equal_golden(form: str, seed: int) -> None:
    expect_golden(random_cases(form, PRESETS["base"], seed, 5))
