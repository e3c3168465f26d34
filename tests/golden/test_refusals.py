"""Golden raises where LiteRT stops or C++ is undefined, and nowhere else."""

import doctest
import re

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.golden.errors import AbortedError, RejectedError, SpecError
from eightfold.model import Graph, read_model
from eightfold.operators import run_operator
from eightfold.run.reference.oracle import Oracle, OracleAborted, OracleRejected
from tests.support.models.refusals import REFUSALS, UNDEFINED, load_any_shape
from tests.support.models.tolerated import TOLERATED

Inputs = dict[int, np.ndarray]


def prepare(model: bytes, fill: float | None = None) -> tuple[Graph, Inputs]:
    graph = load_any_shape(model)
    return graph, inputs_of(graph, fill)


def inputs_of(graph: Graph, fill: float | None = None) -> Inputs:
    rng = np.random.default_rng(0)
    inputs = {}
    for tensor in (graph.tensors[index] for index in graph.inputs):
        random = rng.integers(-128, 128, tensor.shape) if fill is None else fill
        inputs[tensor.index] = np.full(tensor.shape, random, tensor.dtype)
    return inputs


def run(graph: Graph, inputs: Inputs) -> list[np.ndarray]:
    return run_operator(graph, graph.operators[0], inputs)


@pytest.mark.slow
@pytest.mark.parametrize("rule", REFUSALS)
def test_golden_raises_where_litert_stops(oracle: Oracle, rule: str) -> None:
    refusal = REFUSALS[rule]
    assert refusal.outcome is not None
    model = refusal.make()
    with pytest.raises(refusal.outcome):
        oracle.run(model, inputs_of(read_model(model), refusal.fill))
    with pytest.raises(InputError, match=refusal.message) as raised:
        run(*prepare(model, refusal.fill))
    assert str(raised.value).startswith(f"operator 0 {rule.split()[0]}: ")
    kind = {OracleRejected: RejectedError, OracleAborted: AbortedError}[refusal.outcome]
    assert isinstance(raised.value.__context__ or raised.value.__cause__, kind)


@pytest.mark.parametrize("rule", UNDEFINED)
def test_golden_raises_where_no_number_follows(oracle: Oracle, rule: str) -> None:
    refusal = UNDEFINED[rule]
    model = refusal.make()
    oracle.run(model, inputs_of(read_model(model), refusal.fill))  # LiteRT says nothing
    with pytest.raises(InputError, match=refusal.message) as raised:
        run(*prepare(model, refusal.fill))
    assert isinstance(raised.value.__context__ or raised.value.__cause__, SpecError)


@pytest.mark.parametrize("rule", TOLERATED)
def test_golden_equals_litert_on_what_it_tolerates(oracle: Oracle, rule: str) -> None:
    model = TOLERATED[rule]()
    graph, inputs = prepare(model, 127 if "wraps" in rule or "equal logits" in rule else None)
    expected = oracle.run(model, inputs)
    for index, got in zip(graph.outputs, run(graph, inputs), strict=True):
        np.testing.assert_array_equal(got, expected[index], strict=True)


@pytest.mark.parametrize(("name", "least"), [("numerics", 30), ("other-specs", 20)])
def test_worked_examples(name: str, least: int) -> None:
    page = IMPORT_ROOT / "docs" / f"{name}.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    failed, attempted = doctest.DocTestRunner().run(test)
    assert (failed, attempted > least) == (0, True)
