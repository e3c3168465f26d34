"""Golden raises where LiteRT stops or C++ is undefined, and nowhere else."""

import numpy as np
import pytest

from eightfold.errors import InputError
from eightfold.execute import run_operator
from eightfold.model import Graph, load_model
from eightfold.oracle import Oracle, OracleAborted, OracleRejected
from golden.errors import AbortedError, RejectedError, UndefinedError
from tests.golden.refusals import REFUSALS, UNDEFINED
from tests.golden.tolerated import TOLERATED

Inputs = dict[int, np.ndarray]


def prepare(model: bytes) -> tuple[Graph, Inputs]:
    graph = load_model(model)
    rng = np.random.default_rng(0)
    shapes = {index: graph.tensors[index].shape for index in graph.inputs}
    return graph, {i: rng.integers(-128, 128, s).astype(np.int8) for i, s in shapes.items()}


def run(graph: Graph, inputs: Inputs) -> np.ndarray:
    return run_operator(graph, graph.operators[0], inputs)[0]


@pytest.mark.parametrize("rule", REFUSALS)
def test_golden_raises_where_litert_stops(oracle: Oracle, rule: str) -> None:
    refusal = REFUSALS[rule]
    model = refusal.make()
    graph, inputs = prepare(model)
    if rule == "SOFTMAX of 512 equal logits":
        inputs[graph.inputs[0]][:] = 7
    with pytest.raises(refusal.outcome):
        oracle.run(model, inputs)
    with pytest.raises(InputError, match=refusal.message) as raised:
        run(graph, inputs)
    assert str(raised.value).startswith(f"{graph.operators[0]}: ")
    kind = {OracleRejected: RejectedError, OracleAborted: AbortedError}[refusal.outcome]
    assert isinstance(raised.value.__context__, kind)


@pytest.mark.parametrize("rule", UNDEFINED)
def test_golden_raises_where_no_number_follows(oracle: Oracle, rule: str) -> None:
    make, message = UNDEFINED[rule]
    model = make()
    graph, inputs = prepare(model)
    oracle.run(model, inputs)  # LiteRT says nothing
    with pytest.raises(InputError, match=message) as raised:
        run(graph, inputs)
    assert isinstance(raised.value.__context__, UndefinedError)


@pytest.mark.parametrize("rule", TOLERATED)
def test_golden_equals_litert_on_what_it_tolerates(oracle: Oracle, rule: str) -> None:
    model = TOLERATED[rule]()
    graph, inputs = prepare(model)
    if "wraps" in rule or "equal logits" in rule:
        inputs[graph.inputs[0]][:] = 127
    expected = oracle.run(model, inputs)[graph.outputs[0]]
    np.testing.assert_array_equal(run(graph, inputs), expected, strict=True)
