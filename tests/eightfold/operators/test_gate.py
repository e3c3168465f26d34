"""The gate: what passes, what does not, what is filled in, and what a model costs beforehand."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
import pytest

from eightfold import Session
from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model
from eightfold.model.builder import ModelBuilder
from eightfold.operators import (
    OPERATORS,
    Limits,
    Node,
    check_prepared,
    load_model,
    prepare,
    run_operator,
)
from eightfold.operators.load import cost_of, machine_memory
from lab.measure.models import SIZES
from lab.measure.series import SERIES
from tests.support.models.single import moved, one_operator

NAMES = sorted(OPERATORS)


def case(name: str, seed: int = 0) -> Graph:
    """Return a random model of an operator, not yet behind the gate."""
    return read_model(random_case(name, case_rng(name, seed))[0])


def decided(name: str) -> Graph:
    """Return a random model whose shapes no computed operand decides."""
    for graph in (case(name, seed) for seed in range(40)):
        (shape, *_) = OPERATORS[name].shapes(Node(graph.tensors, graph.operators[0]))
        if shape is not None and None not in shape:
            return graph
    raise AssertionError(f"every model of {name} has a computed operand")


def with_result(graph: Graph, **fields) -> Graph:
    """Return a graph whose first result is declared otherwise."""
    index = graph.operators[0].outputs[0]
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **fields)
    return replace(graph, tensors=tuple(tensors))


def with_operator(graph: Graph, **fields) -> Graph:
    return replace(graph, operators=(replace(graph.operators[0], **fields),))


def refusals(graph: Graph) -> list[str]:
    return [str(refusal) for refusal in prepare(graph)[1]]


SHAPES: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "one more": lambda shape: (*shape[:-1], (shape or (0,))[-1] + 1),
    "rank 0": lambda shape: () if shape else (1,),
    "rank 3": lambda shape: (1, 1, 1) if shape != (1, 1, 1) else (1, 1, 2),
    "rank 5": lambda shape: (1,) * 5 if shape != (1,) * 5 else (2,) * 5,
    "one dimension more": lambda shape: (1, *shape),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_another_declared_shape_does_not_pass(name: str, how: str) -> None:
    graph = decided(name)
    result = graph.tensors[graph.operators[0].outputs[0]]
    wrong = SHAPES[how](result.shape)
    (words,) = refusals(with_result(graph, shape=wrong))
    operator = graph.operators[0]
    assert words == (
        f"{operator}: {result}: declared shape {list(wrong)}, computed {list(result.shape)}"
    )


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"CAST", "QUANTIZE"}))
def test_another_declared_element_type_does_not_pass(name: str) -> None:
    graph = case(name)
    dtype = graph.tensors[graph.operators[0].outputs[0]].dtype
    (words,) = refusals(with_result(graph, dtype=np.dtype(np.int16)))
    assert words.endswith(f": declared int16, computed {dtype}")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"CONCATENATION"}))
def test_another_number_of_operands_does_not_pass(name: str) -> None:
    graph = case(name)
    operator = graph.operators[0]
    most = len(OPERATORS[name].operands)
    inputs = (*operator.inputs, *[operator.inputs[0]] * (most + 1 - len(operator.inputs)))
    if name == "PACK":  # says in an option how many it has
        inputs = operator.inputs * 2
    (words,) = refusals(with_operator(graph, inputs=inputs))
    assert words.startswith(f"{operator}: has {len(inputs)} inputs, ")
    (words,) = refusals(with_operator(graph, inputs=()))
    assert words.startswith(f"{operator}: has 0 inputs, ")
    (words,) = refusals(with_operator(graph, inputs=(-1, *operator.inputs[1:])))
    assert words == f"{operator}: input 0 is absent"


@pytest.mark.parametrize("name", NAMES)
def test_another_number_of_results_does_not_pass(name: str) -> None:
    graph = case(name)
    outputs = graph.operators[0].outputs
    (words,) = refusals(with_operator(graph, outputs=(*outputs, outputs[0])))
    assert words.startswith(f"{graph.operators[0]}: has {len(outputs) + 1} outputs, ")


def open_shapes(last: tuple[int, ...] | None = None) -> bytes:
    builder = ModelBuilder()
    x = builder.input((1, 4, 6, 2), scale=0.5)
    middle = builder.tensor(None, scale=0.5)
    y = builder.tensor(last, scale=0.5)
    window = {"padding": "VALID", "stride_h": 2, "stride_w": 2}
    options = window | {"filter_height": 2, "filter_width": 2}
    builder.operator("MAX_POOL_2D", [x], [middle], options)
    builder.operator("RELU", [middle], [y])
    builder.output(y)
    return builder.build()


def test_shapes_that_the_file_leaves_open_are_filled_in_and_noted() -> None:
    graph = load_model(open_shapes())
    assert [tensor.shape for tensor in graph.tensors[1:]] == [(1, 2, 3, 2)] * 2
    assert graph.notes() == [
        "the file states no shape, so it is computed: tensor 1 [1, 2, 3, 2], 2 [1, 2, 3, 2]"
    ]
    _, findings = check_prepared(read_model(open_shapes()))
    assert [(f.severity, f.tensor) for f in findings] == [("note", 1), ("note", 2)]
    with pytest.raises(InputError, match=r"RELU: tensor 2 'tensor_2': declared shape \[\], comp"):
        load_model(open_shapes(()))


def test_a_scalar_without_rank_is_as_it_was() -> None:
    graph = load_model(one_operator("RESHAPE", [(1,)], None, options={"new_shape": [0]}))
    assert graph.tensors[1].shape == ()
    assert graph.notes() == []


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16])
def test_element_types_that_are_not_run_have_shapes_too(dtype: type) -> None:
    model = partial(one_operator, "RELU", [(2, 3)], dtype=dtype, source_dtype=dtype)
    load_model(model((2, 3)))
    with pytest.raises(InputError, match=r"declared shape \[2, 2\], computed \[2, 3\]"):
        load_model(model((2, 2)))


def test_operators_without_a_row_are_passed_over() -> None:
    graph = load_model(one_operator("FLOOR", [(2, 3)], (5,)))
    assert graph.tensors[1].shape == (5,)


def test_sizes_that_a_computed_operand_decides_stand_as_declared() -> None:
    resize = partial(one_operator, "RESIZE_BILINEAR", [(1, 2, 2, 3)], computed=[(2,)])
    load_model(resize((1, 7, 9, 3)))
    with pytest.raises(InputError, match=r"declared shape \[1, 7, 9, 2\], computed \[1, \?, \?, 3"):
        load_model(resize((1, 7, 9, 2)))


def test_all_refusals_are_counted_and_the_first_is_named() -> None:
    builder = ModelBuilder()
    x = builder.input((2,), scale=0.5)
    for _ in range(3):
        y = builder.tensor((3,), scale=0.5)
        builder.operator("RELU", [x], [y])
        builder.output(y)
    with pytest.raises(InputError, match=r"^model: operator 0 RELU: .* \(and 2 more, see "):
        load_model(builder.build())


LONG = [0] * 50


@pytest.mark.parametrize(
    "make",
    [
        partial(moved, "RESHAPE", (2, 3), (2, 3), [-1] * 50),
        partial(moved, "TRANSPOSE", (2, 3), (2, 3), LONG),
        partial(moved, "MEAN", (2, 3), (3,), [9] * 50, options={"keep_dims": False}),
        partial(moved, "RESIZE_BILINEAR", (1, 2, 2, 1), (1, 2, 2, 1), LONG),
        partial(one_operator, "CONCATENATION", [(2, 3 + i % 2) for i in range(50)], (2, 3),
                scales=(0.5,) * 50, zero_points=(0,) * 50, options={"axis": 0}),
    ],
    ids=["RESHAPE", "TRANSPOSE", "MEAN", "RESIZE_BILINEAR", "CONCATENATION"],
)  # fmt: skip
def test_long_operands_are_not_repeated(make: Callable[[], bytes]) -> None:
    with pytest.raises(InputError, match=r", \.\.\. 30 more\]"):
        load_model(make())


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
