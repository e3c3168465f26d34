"""Variables as tensors of the graph: what is read before and after what, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model, with_shapes
from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import Table, pack, unpack
from eightfold.operators import load_model, run_graphs
from eightfold.run.reference.oracle import Oracle, OracleAborted, OracleRejected, with_state

SHAPE = (1, 4)
QUANTIZED = {"scale": 0.5, "zero_point": -7}
INITIAL = np.array([[1, -128, 127, 0]], np.int8)


def built(*steps: str, initial: np.ndarray = INITIAL) -> bytes:
    """Return a model that works on two variables: ``ra`` reads one, ``wb`` assigns the other.

    What is assigned is what was read last, or the input.
    """
    builder = ModelBuilder()
    value = builder.input(SHAPE, **QUANTIZED)
    handles = {name: builder.variable(initial, name=name, **QUANTIZED) for name in "ab"}
    for kind, name in steps:
        if kind == "r":
            value = builder.tensor(SHAPE, **QUANTIZED)
            builder.operator("READ_VARIABLE", [handles[name]], [value])
            builder.output(value)
        else:
            builder.operator("ASSIGN_VARIABLE", [handles[name], value], [])
    return builder.build()


def test_new_values_of_variables_have_no_shape_in_the_file() -> None:
    model = built("ra", "wb")
    assert with_shapes(model, read_model(model)).startswith(model)


ORDERS = [
    ("ra", "rb", "wa"),
    ("wa", "ra"),
    ("ra", "wb", "rb"),  # a is never assigned
    ("ra", "wb", "ra", "wb", "rb"),
    ("rb", "wa", "ra", "wb", "ra"),
]


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("steps", ORDERS, ids="-".join)
@pytest.mark.usual("steps")
def test_frames_equal_the_runtimes(steps: tuple[str, ...], reference: str) -> None:
    model = built(*steps)
    graph = load_model(model)
    rng = np.random.default_rng(len(steps))
    batch = [{0: rng.integers(-128, 128, SHAPE, dtype=np.int8)} for _ in range(4)]
    with Oracle(reference) as oracle:
        for frame, got in enumerate(run_graphs(graph, batch, reference)):
            tensors = oracle.run(model, batch[frame], next_frame=frame > 0)
            expected = with_state(graph, tensors)
            for operator in graph.operators:
                (index,) = operator.outputs
                np.testing.assert_array_equal(got[index], expected[index], str(operator))
        again = oracle.run(model, batch[0])
        first = run_graphs(graph, batch[:1], reference)[0]
        for index in graph.outputs:
            np.testing.assert_array_equal(again[index], first[index])


def test_the_next_frame_of_a_state_that_is_lost_is_refused(oracle: Oracle) -> None:
    oracle.run(built("ra"), {0: INITIAL})
    with pytest.raises(OracleAborted, match="lost"):
        oracle.run(built("ra", "wa"), {0: INITIAL}, next_frame=True)


def test_a_variable_tensor_is_given_and_its_new_value_a_result() -> None:
    builder = ModelBuilder()
    x = builder.input((1, 4), scale=0.5)
    state = builder.tensor((1, 8), dtype=np.int16, scale=0.5, variable=True)
    y = builder.tensor((1, 2), scale=0.5)
    builder.operator("SVDF", [x, x, x, -1, state], [y])
    builder.operator("SVDF", [x, x, x, -1, state], [y + 1])
    builder.tensor((1, 2), scale=0.5)
    graph = read_model(builder.build())
    (variable,) = graph.variables
    first, second = graph.operators
    assert (first.inputs[4], second.inputs[4]) == (state, first.outputs[1])
    assert (variable.before, variable.after) == (state, second.outputs[1])
    np.testing.assert_array_equal(variable.initial, np.zeros((1, 8), np.int16), strict=True)


def main(table: Table) -> dict:
    return table.fields["Subgraphs"][0].fields


def edited(edit: Callable[[Table], None], model: bytes | None = None) -> bytes:
    table = unpack(model or built("ra", "wa"))
    edit(table)
    return pack(table)


def _no_initial_value(table: Table) -> None:
    table.fields["Subgraphs"][1].fields["Operators"] = []


def _computed_initial_value(table: Table) -> None:
    table.fields["Subgraphs"][1].fields["Tensors"][1].fields["Buffer"] = 0


def _operator_beside(table: Table) -> None:
    operators = table.fields["Subgraphs"][1].fields["Operators"]
    operators.append(main(table)["Operators"][3])
    operators[-1].fields["Inputs"] = np.array([0], np.int32)


def _no_subgraph(table: Table) -> None:
    table.fields["Subgraphs"].pop()


def _late(table: Table) -> None:
    operators = main(table)["Operators"]
    operators.append(operators.pop(0))


def _handle_as_output(table: Table) -> None:
    main(table)["Outputs"] = np.array([1], np.int32)


def _handle_as_value(table: Table) -> None:
    main(table)["Operators"][-1].fields["Inputs"] = np.array([1, 2], np.int32)


def _no_handle(table: Table) -> None:
    main(table)["Operators"][-1].fields["Inputs"] = np.array([0, 0], np.int32)


def _other_shape(table: Table) -> None:
    main(table)["Tensors"][0].fields["Shape"] = np.array([4, 1], np.int32)
    main(table)["Operators"][-1].fields["Inputs"] = np.array([1, 0], np.int32)


def _operand_more(table: Table) -> None:
    main(table)["Operators"][-1].fields["Inputs"] = np.array([1, 0, 0], np.int32)


def _two_handles(table: Table) -> None:
    main(table)["Tensors"][1].fields["Shape"] = np.array([2], np.int32)


def _handle_without_zero_point(table: Table) -> None:
    scale = np.ones(1, np.float32)
    main(table)["Tensors"][1].fields["Quantization"] = Table("QuantizationParameters", Scale=scale)


def _variable_tensor_computed(table: Table) -> None:
    main(table)["Tensors"][3].fields["IsVariable"] = True
    main(table)["Outputs"] = np.array([0], np.int32)


REFUSED = {
    _no_initial_value: "operator 3 READ_VARIABLE reads tensor 1 'a', which nothing has assigned",
    _computed_initial_value: "subgraph 1: operator 1 .* assigns .* which is no constant",
    _no_subgraph: "operator 0 CALL_ONCE runs subgraph 1, and there is none",
    _late: "operator 4 CALL_ONCE comes after operator 3 ASSIGN_VARIABLE; put it before",
    _handle_as_output: "tensor 1 'a' keeps state between runs, and is an input or output",
    _handle_as_value: "operator 4 ASSIGN_VARIABLE works on tensor 2 'b', a handle",
    _no_handle: "operator 4 ASSIGN_VARIABLE: tensor 0 'tensor_0' is no handle",
    _other_shape: r"shape \[4, 1\] and type int8 to a variable of shape \[1, 4\] and type int8",
    _two_handles: r"operator 3 READ_VARIABLE: the handle tensor 1 'a' has shape \[2\]",
    _handle_without_zero_point: "tensor 1 'a' has 1 scales and 0 zero points",
    _operand_more: "operator 4 ASSIGN_VARIABLE has 3 inputs and 0 outputs, not 2 and 0",
    _operator_beside: "subgraph 1: operator 4 READ_VARIABLE: initial values are constants",
    _variable_tensor_computed: "operator 3 READ_VARIABLE computes tensor 3 .*keeps state",
}


@pytest.mark.parametrize(("edit", "words"), REFUSED.items())
def test_refuses_and_says_where(edit: Callable[[Table], None], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_model(edited(edit))


@pytest.mark.parametrize("edit", [_two_handles, _handle_without_zero_point])
def test_litert_refuses_these_handles_too(edit: Callable[[Table], None], oracle: Oracle) -> None:
    with pytest.raises(OracleRejected):
        oracle.run(edited(edit), {0: INITIAL})


def test_an_operator_of_variable_tensors_without_one_is_refused() -> None:
    builder = ModelBuilder()
    x = builder.input((1, 4), scale=0.5)
    y = builder.tensor((1, 2), scale=0.5)
    builder.operator("SVDF", [x, x, x, -1, x], [y])
    with pytest.raises(InputError, match="operator 0 SVDF: input 4 is no variable tensor"):
        read_model(builder.build())


def test_variables_of_one_name_are_one() -> None:
    def graph(names: str) -> Graph:
        builder = ModelBuilder()
        for name in names:
            builder.variable(INITIAL, name=name)
        return read_model(builder.build())

    assert [v.name for v in graph("aa").variables] == ["a"]
    assert [v.name for v in graph("ab").variables] == ["a", "b"]
