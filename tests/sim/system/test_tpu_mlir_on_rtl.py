"""TPU-MLIR's forms on the accelerator in RTL equal golden, with random stalls.

Many of a form run side by side in one stream, with parameters of their full ranges. The Adds of a
single command have all pairs of codes, the others some; `tests/eightfold/compiler/test_tpu_mlir.py`
has all.
"""

import numpy as np
import pytest

from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.toolchain import Simulator
from tests.support.hardware.twins import TWINS
from tests.support.networks.tpu_mlir import FORMS, random_cases

COUNTS = {
    "convolution": (10, 0),
    "inner_product": (10, 0),
    "avg_pool": (8, 0),
    "add_symmetric": (2, 256),
    "add_asymmetric": (2, 256),
    "add_with_near_ties": (3, 6),
    "add_extreme": (3, 6),
    "leaky_relu": (10, 0),
    "prelu": (5, 0),
    "pad": (8, 0),
}
"""Of each form, and codes of operand a."""


def expect_golden(
    form: str, preset: str, seed: int, size: tuple[int, int], simulator: Simulator
) -> None:
    """Simulate a network of ``size`` forms and codes, and compare."""
    cases = random_cases(form, TWINS[preset], seed, *size)
    stall = (0.0, 0.1, 0.4)[(seed + len(form)) % 3]
    (run,) = simulate_network(
        cases.network.graph,
        cases.network.compile(),
        [cases.inputs],
        simulator=simulator,
        stall=stall,
        seed=seed,
    )
    for tensor, expected in cases.results.items():
        np.testing.assert_array_equal(run.tensors[tensor], expected, err_msg=f"tensor {tensor}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usual(count=4)
def test_a_form_equals_golden_on_small(form: str, seed: int) -> None:
    expect_golden(form, "small", seed, COUNTS[form], "verilator")


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("form", ["inner_product", "add_symmetric", "leaky_relu"])
@pytest.mark.usual
def test_a_form_equals_golden_on_icarus(form: str) -> None:
    expect_golden(form, "nano", 1, (1, 2), "icarus")
