"""Prepared operators, stacks and other batches give what the operators' own functions give."""

import numpy as np
import pytest

from eightfold.cases.draws import Case
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model
from eightfold.model.builder import ModelBuilder
from eightfold.model.inputs import random_inputs
from eightfold.operators import OPERATORS as ROWS
from eightfold.operators import load_model, run_graph, run_graphs, run_operator
from eightfold.operators.run import PreparedGraph, stackable
from eightfold.operators.stacks import Stacks
from eightfold.run.session import Session
from examples.digits.network import MODEL_FILE as DIGITS
from tests.support.models.networks import computed_shape
from tests.support.models.single import one_operator

CASES = 20
"""Models per operator."""

Inputs = dict[int, np.ndarray]

BYTEWISE_AND_WEIGHTED = [
    "ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D",
    "MUL", "RELU",
]  # fmt: skip


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
        prepared += sum(step.prepared is not None for step in runs.steps.values())
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
    assert runs.steps[0].prepared is not None


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


def _flattening(*, constant: bool = False, open_batch: bool = True) -> bytes:
    """Return a network that pools and flattens, to a shape that is computed from SHAPE."""
    b = ModelBuilder()
    x = b.input((1, 4, 4, 2), scale=0.5, zero_point=-3, open_batch=open_batch)
    y = b.tensor((1, 2, 2, 2), scale=0.5, zero_point=-3)
    window = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}
    b.operator("MAX_POOL_2D", [x], [y], window)
    fixed = np.array([1, 8], np.int32)
    shape = b.constant(fixed) if constant else computed_shape(b, y, 4, 0, 8)
    flat = b.tensor((1, 8), scale=0.5, zero_point=-3)
    b.operator("RESHAPE", [y, shape], [flat])
    b.output(flat)
    return b.build()


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.usual("reference")
def test_a_batch_changes_all_shapes_behind_it(batch: int, reference: str) -> None:
    with Session(reference=reference, batch=batch) as session:
        result = session.run(_flattening(), compare=True)
    assert result.mismatches == 0
    assert {tensor.shape for tensor in result.outputs.values()} == {(batch, 8)}


def test_a_report_says_what_an_open_batch_is_taken_as() -> None:
    note = "the file leaves the batch open, taken as 1 without --batch: tensor 0"
    assert load_model(_flattening()).notes() == [note]
    assert load_model(_flattening(), batch=1).notes() == []
    assert load_model(_flattening(open_batch=False)).notes() == []


def test_a_variable_keeps_its_shape_whatever_the_batch() -> None:
    builder = ModelBuilder("state")
    x = builder.input((1, 4), scale=0.5, open_batch=True)
    state = builder.variable(np.zeros((1, 4), np.int8), name="v", scale=0.5)
    before, total = builder.tensor((1, 4), scale=0.5), builder.tensor((1, 4), scale=0.5)
    builder.operator("READ_VARIABLE", [state], [before])
    builder.operator("ADD", [before, x], [total], {})
    builder.operator("ASSIGN_VARIABLE", [state, total], [])
    builder.output(total)
    load_model(builder.build(), batch=1)
    with pytest.raises(InputError, match=r"batch 3: variable v of shape \(1, 4\) is assigned"):
        load_model(builder.build(), batch=3)


def test_what_has_no_other_batch_says_so() -> None:
    with pytest.raises(InputError, match=r"model: no input leaves its batch open.*None"):
        load_model(_flattening(open_batch=False), batch=2)
    with pytest.raises(InputError, match=r"model: batch 2: operator 1 RESHAPE.*batch of the file"):
        load_model(_flattening(constant=True), batch=2)


def test_shapes_of_the_file_do_not_change() -> None:
    graph = load_model(_flattening(), batch=3)
    assert read_model(_flattening()).tensors[0].shape == (1, 4, 4, 2)
    assert graph.tensors[graph.inputs[0]].shape == (3, 4, 4, 2)


SEEDS = 300
WANTED = 4
STACKING = [name for name, row in ROWS.items() if isinstance(row.stacks, Stacks)]


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
            patch.setattr("eightfold.operators.run.run_graph", None)  # a stack, or nothing
            results = run_graphs(graph, batch)
        for got, one in zip(results, expected, strict=True):
            assert_same(got, one, operator)


@pytest.mark.parametrize("operator", sorted(ROWS.keys() - STACKING))
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
