"""An operator's record says when it computes stacks; where it says so, a stack is each in turn."""

import numpy as np
import pytest

from eightfold.cases.operators import case_rng, random_case
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import OPERATORS, load_model, run_graph, run_graphs
from eightfold.operators.graphs import stackable
from eightfold.operators.stacks import Stacks

SEEDS = 300
WANTED = 4
STACKING = [name for name, row in OPERATORS.items() if isinstance(row.stacks, Stacks)]
Inputs = dict[int, np.ndarray]


def stacked_models(operator: str) -> list[tuple[Graph, Inputs]]:
    """Return the first random models that the operator's rule takes, `WANTED` at most."""
    found = []
    for seed in range(SEEDS):
        model, inputs = random_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        if stackable(graph):
            found.append((graph, inputs))
            if len(found) == WANTED:
                break
    return found


@pytest.mark.slow
@pytest.mark.parametrize("operator", STACKING)
def test_a_stack_is_each_inference_in_turn(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    models = stacked_models(operator)
    assert models, f"the rule of {operator} holds for none of {SEEDS} random models"
    for graph, inputs in models:
        batch = [
            {i: np.roll(a, shift) if a.dtype == np.int8 else a for i, a in inputs.items()}
            for shift in (0, 1, 7)
        ]
        expected = [run_graph(graph, one) for one in batch]
        with monkeypatch.context() as patch:
            patch.setattr("eightfold.operators.graphs.run_graph", None)  # a stack, or nothing
            results = run_graphs(graph, batch)
        for got, one in zip(results, expected, strict=True):
            assert got.keys() == one.keys()
            for index, array in one.items():
                np.testing.assert_array_equal(got[index], array, strict=True)


@pytest.mark.parametrize("operator", sorted(OPERATORS.keys() - STACKING))
def test_operators_without_a_rule_run_one_at_a_time(operator: str) -> None:
    model, _ = random_case(operator, case_rng(operator, 0))
    assert not stackable(load_model(model))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("inferences", [1, 3])
def test_scales_along_an_axis_stay_with_their_slices(axis: int, inferences: int) -> None:
    """Neither a table of codes nor a stack of inferences knows an element's place."""
    builder = ModelBuilder()
    x = builder.input((2, 2), scale=[0.5, 2], zero_point=[0, 0], axis=axis)
    y = builder.tensor((2, 2), dtype=np.float32)
    builder.operator("DEQUANTIZE", [x], [y])
    builder.output(y)
    graph, codes = load_model(builder.build()), np.array([[1, 2], [3, 4]], np.int8)
    expected = [[0.5, 4], [1.5, 8]] if axis else [[0.5, 1], [6, 8]]
    for _ in range(3):
        for values in run_graphs(graph, [{x: codes}] * inferences):
            np.testing.assert_array_equal(values[y], np.array(expected, np.float32))
