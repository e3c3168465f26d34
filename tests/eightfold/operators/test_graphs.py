"""Prepared operators and stacked inferences give what the operators' own functions give."""

import numpy as np
import pytest

from eightfold.cases.draws import Case
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.common.files import IMPORT_ROOT
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.model.inputs import random_inputs
from eightfold.operators import load_model, run_graph, run_graphs, run_operator
from eightfold.operators.graphs import PreparedGraph, stackable
from tests.support.models.single import one_operator

CASES = 20
"""Models per operator."""

DIGITS = IMPORT_ROOT / "examples" / "digits" / "digits.tflite"
Inputs = dict[int, np.ndarray]

BYTEWISE_AND_WEIGHTED = [
    "ADD",
    "AVERAGE_POOL_2D",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "MAX_POOL_2D",
    "MUL",
    "RELU",
]


def unprepared(graph: Graph, inputs: Inputs, reference: str = "litert") -> Inputs:
    values = graph.initial_state() | inputs
    for operator in graph.operators:
        outputs = run_operator(graph, operator, values, reference)
        values.update(zip(operator.outputs, outputs, strict=True))
    return values


def assert_same(got: Inputs, expected: Inputs, place: str) -> None:
    assert got.keys() == expected.keys(), place
    for index, array in expected.items():
        np.testing.assert_array_equal(got[index], array, err_msg=place, strict=True)


def again(inputs: Inputs, seed: int) -> Inputs:
    """Return other inputs: int8 codes drawn anew; anything else, such as indices, as it is."""
    rng = np.random.default_rng(seed)
    return {
        index: rng.choice(
            np.array([-128, -1, 0, 1, 127, *rng.integers(-128, 128, 11)]), a.shape
        ).astype(np.int8)
        if a.dtype == np.int8
        else a
        for index, a in inputs.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.usual("operator")
def test_prepared_operators_equal_their_functions(operator: str, reference: str) -> None:
    prepared = 0
    for seed in range(CASES):
        model, inputs = random_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        runs = PreparedGraph(graph, reference)
        for arrays in (inputs, inputs, again(inputs, seed), again(inputs, seed + 1)):
            try:
                expected = unprepared(graph, arrays, reference)
            except Exception as error:
                with pytest.raises(type(error)):
                    runs.run(graph, arrays)
                continue
            got = runs.run(graph, arrays)
            assert_same(got, expected, f"{operator}, seed {seed}")
        prepared += runs.prepared
    if operator in BYTEWISE_AND_WEIGHTED:
        assert prepared > CASES / 4


@pytest.mark.parametrize("operator", ["RELU", "ADD"])
def test_a_prepared_result_without_dimensions_is_an_array(operator: str) -> None:
    b = ModelBuilder()
    x, y = b.input((), scale=0.5), b.tensor((), scale=0.25)
    b.operator(operator, [x, x][: 1 + (operator == "ADD")], [y])
    b.output(y)
    graph = load_model(b.build())
    runs = PreparedGraph(graph, "litert")
    for _ in range(3):
        assert isinstance(runs.run(graph, {x: np.array(5, np.int8)})[y], np.ndarray)
    assert runs.prepared


def network(seed: int) -> Case:
    """Return a network; every other one is short, so that all its operators may work on stacks."""
    return random_network(network_rng(seed), lengths=(1, 4) if seed % 2 else (5, 25))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usual(count=10)
def test_networks_equal_their_operators(seed: int) -> None:
    model, inputs = network(seed)
    graph = load_model(model)
    batch = [inputs, *(again(inputs, i) for i in range(4))]
    expected: list[Inputs] = []
    for arrays in batch:
        state = graph.next_state(expected[-1]) if expected else {}
        expected.append(unprepared(graph, {**arrays, **state}))
    for _ in range(3):
        single = [run_graph(graph, arrays) for arrays in batch] if not graph.variables else expected
        for got in (run_graphs(graph, batch), single):
            for one, other in zip(got, expected, strict=True):
                assert_same(one, other, f"network {seed}")


def test_some_networks_are_stacked_and_some_are_not() -> None:
    stacked = [stackable(load_model(network(seed)[0])) for seed in range(40)]
    assert 5 <= sum(stacked) <= 20, stacked


@pytest.mark.parametrize("count", [2, 16, 19])
def test_a_stack_equals_single_inferences(count: int) -> None:
    graph = load_model(DIGITS)
    assert stackable(graph)
    batch = [random_inputs(graph, seed) for seed in range(count)]
    expected = [unprepared(graph, inputs) for inputs in batch]
    for _ in range(3):
        for got, one in zip(run_graphs(graph, batch), expected, strict=True):
            assert_same(got, one, "digits")


def test_other_shapes_and_dtypes_are_checked_again() -> None:
    model = one_operator("RELU", [(1, 8)], (1, 8), scales=(0.5, 0.25), zero_points=(-3, 0))
    graph, x = load_model(model), 0
    every = np.arange(-128, 128, dtype=np.int8)
    for array in [every[:8], every[:8], every[:8], every, every, every[::-3], every[::-3]]:
        assert_same(run_graph(graph, {x: array}), unprepared(graph, {x: array}), "RELU")
    with pytest.raises(Exception, match="is int8, its value int16"):
        run_graph(graph, {x: every.astype(np.int16)})
