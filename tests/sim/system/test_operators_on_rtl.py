"""Every operator in RTL equals golden on random models, with random stalls.

``eightfold campaign run operators --backend verilator`` asks for more models, and for others.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.networks import combined
from eightfold.cases.operators import OPERATORS
from eightfold.compiler import HARDWARE, compile_network
from eightfold.operators import load_model, run_graph
from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.toolchain import Simulator
from lab.coverage import POINTS
from lab.suites.operators import Part, parts, simulate_parts
from tests.support.campaign.units import units_of
from tests.support.hardware.twins import TWINS
from tests.support.models.tflite_micro import variants
from tests.support.networks.tpu_mlir import FORMS, random_cases

MODELS = 2
"""Models of an operator."""

GROUP = 8
"""Operators of one run: seconds pass before it begins."""

NAMES = sorted(HARDWARE)
GROUPS = [NAMES[start : start + GROUP] for start in range(0, len(NAMES), GROUP)]


def test_every_operator_runs_and_has_bins() -> None:
    assert set(OPERATORS) >= HARDWARE
    assert set(POINTS) == HARDWARE


def unit_of(operator: str, simulator: Simulator) -> Unit:
    """Return the unit that draws models of an operator for a simulator."""
    config = {"icarus": "nano", "verilator": "small"}[simulator]
    (unit,) = units_of("operators", TWINS[config], config, backend=simulator, operators=operator)
    return unit


def models(unit: Unit) -> Iterator[Part]:
    """Yield models of an operator, for Icarus such that it simulates in seconds."""
    for seed in count():
        yield from parts(replace(unit, first=seed))[0]


@pytest.mark.slow
@pytest.mark.parametrize("operators", GROUPS, ids=lambda each: f"{each[0]}..{each[-1]}")
@pytest.mark.usual(names=["verilator", "icarus-ABS"])
def test_equals_golden(operators: list[str], simulator: Simulator) -> None:
    units = [unit_of(name, simulator) for name in operators]
    cases, _ = simulate_parts(
        units[0], [part for each in units for part in islice(models(each), MODELS)]
    )
    wrong = [f"{case.operator}, seed {case.seed}: {case.message}" for case in cases if case.message]
    assert not wrong


@pytest.mark.slow
def test_the_variants_equal_golden() -> None:
    graph, inputs = combined([(load_model(model), given) for model, given in variants().values()])
    network = compile_network(graph, TWINS["small"], "tflm", keep=True)
    (run,) = simulate_network(
        graph, network, [inputs], simulator="verilator", reference="tflm", stall=0.1
    )
    expected = run_graph(graph, inputs, "tflm")
    litert = run_graph(graph, inputs, "litert")
    for operator in graph.operators:
        (output,) = operator.outputs
        np.testing.assert_array_equal(run.tensors[output], expected[output], err_msg=str(operator))
        assert np.any(expected[output] != litert[output]), operator


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


ON_ICARUS = [
    pytest.param("icarus", form, marks=pytest.mark.icarus)
    for form in ("inner_product", "add_symmetric", "leaky_relu")
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "form"), [*(("verilator", form) for form in FORMS), *ON_ICARUS]
)
@pytest.mark.usual("simulator", count=3)
def test_a_form_equals_golden(simulator: Simulator, form: str) -> None:
    preset, seed, size = {
        "verilator": ("small", 0, COUNTS[form]),
        "icarus": ("nano", 1, (1, 2)),
    }[simulator]
    cases = random_cases(form, TWINS[preset], seed, *size)
    (run,) = simulate_network(
        cases.network.graph,
        cases.network.compile(),
        [cases.inputs],
        simulator=simulator,
        stall=(0.0, 0.1, 0.4)[(seed + len(form)) % 3],
        seed=seed,
    )
    for tensor, expected in cases.results.items():
        np.testing.assert_array_equal(run.tensors[tensor], expected, err_msg=f"tensor {tensor}")
