"""What a model costs is known, and limited, before anything is allocated."""

import tracemalloc
from math import prod

import pytest

from eightfold import Session
from eightfold.common.errors import InputError
from eightfold.operators import Limits, load_model, run_operator
from eightfold.operators.load import cost_of, machine_memory
from lab.measure.models import SIZES
from lab.measure.series import SERIES
from tests.support.models.single import one_operator


def relu(*shape: int) -> bytes:
    return one_operator("RELU", [shape], shape)


def test_bytes_are_those_of_the_tensors_and_of_the_largest_operator() -> None:
    graph = load_model(relu(100, 10))
    cost = cost_of(graph)
    assert cost.tensors == 2000
    assert cost.intermediate == 48 * 2000
    assert cost.operator is graph.operators[0]


def test_a_model_beyond_a_limit_is_refused_with_figures() -> None:
    model = relu(100, 10)
    load_model(model, Limits(max_memory=98_000, max_elements=1000))
    with pytest.raises(InputError, match=r"tensor 0 .* has 1000 elements; the limit is 999;"):
        load_model(model, Limits(max_elements=999))
    with pytest.raises(InputError, match=r"0\.1 MB within operator 0 RELU; the limit is 0\.1"):
        load_model(model, Limits(max_memory=97_999))


def test_a_quarter_of_the_machine_is_the_limit_if_none_is_given() -> None:
    assert Limits().memory() == machine_memory() // 4
    assert machine_memory() > 1 << 28


def test_a_session_has_limits() -> None:
    with (
        Session(max_elements=999) as session,
        pytest.raises(InputError, match="higher --max-elements"),
    ):
        session.run(relu(100, 10))
    with Session(max_memory=1) as session, pytest.raises(InputError, match="higher --max-memory"):
        session.run(relu(100, 10))


def test_nothing_is_allocated_before_a_model_is_refused() -> None:
    model = relu(1, (1 << 31) - 1)
    tracemalloc.start()
    with pytest.raises(InputError):
        load_model(model)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
def test_no_operator_needs_more_than_estimated(name: str) -> None:
    case = SERIES[name][0].case(SIZES[-1], inside=False)
    inputs = case.inputs()
    needed = [case.graph.tensors[i] for i in case.operator.outputs]
    run_operator(case.graph, case.operator, inputs)  # what is remembered between runs
    tracemalloc.start()
    run_operator(case.graph, case.operator, inputs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    results = sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in needed)
    assert peak <= cost_of(case.graph).intermediate + results
