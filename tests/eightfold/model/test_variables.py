"""Variables as tensors of the graph: what is read before and after what, and what is refused."""

from functools import partial

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model, with_shapes
from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import Table, pack, unpack
from eightfold.operators import load_model, run_graphs
from eightfold.run.reference.oracle import Oracle, OracleAborted, OracleRejected, with_state
from tests.support.models.edited import Edit, each, ints, put

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


_main = partial(put, "Subgraphs", 0)
_initial = partial(put, "Subgraphs", 1)
_last = partial(_main, "Operators", -1)
_SCALE_ALONE = Table("QuantizationParameters", Scale=np.ones(1, np.float32))


def edited(edit: Edit) -> bytes:
    table = unpack(built("ra", "wa"))
    edit(table)
    return pack(table)


def _late(table: Table) -> None:
    operators = table.fields["Subgraphs"][0].fields["Operators"]
    operators.append(operators.pop(0))


def _operator_beside(table: Table) -> None:
    main, initial = (part.fields["Operators"] for part in table.fields["Subgraphs"])
    initial.append(main[3])
    main[3].fields["Inputs"] = ints(0)


REFUSED: dict[str, tuple[Edit, str]] = {
    "no initial value": (
        _initial(Operators=[]),
        "operator 3 READ_VARIABLE reads tensor 1 'a', which nothing has assigned",
    ),
    "computed initial value": (
        _initial("Tensors", 1, Buffer=0),
        "subgraph 1: operator 1 .* assigns .* which is no constant",
    ),
    "no subgraph": (
        lambda table: table.fields["Subgraphs"].pop(),
        "operator 0 CALL_ONCE runs subgraph 1, and there is none",
    ),
    "late": (_late, "operator 4 CALL_ONCE comes after operator 3 ASSIGN_VARIABLE; put it before"),
    "handle as output": (
        _main(Outputs=ints(1)),
        "tensor 1 'a' keeps state between runs, and is an input or output",
    ),
    "handle as value": (
        _last(Inputs=ints(1, 2)),
        "operator 4 ASSIGN_VARIABLE works on tensor 2 'b', a handle",
    ),
    "no handle": (
        _last(Inputs=ints(0, 0)),
        "operator 4 ASSIGN_VARIABLE: tensor 0 'tensor_0' is no handle",
    ),
    "other shape": (
        each(_main("Tensors", 0, Shape=ints(4, 1)), _last(Inputs=ints(1, 0))),
        r"shape \[4, 1\] and type int8 to a variable of shape \[1, 4\] and type int8",
    ),
    "two handles": (
        _main("Tensors", 1, Shape=ints(2)),
        r"operator 3 READ_VARIABLE: the handle tensor 1 'a' has shape \[2\]",
    ),
    "no zero point": (
        _main("Tensors", 1, Quantization=_SCALE_ALONE),
        "tensor 1 'a' has 1 scales and 0 zero points",
    ),
    "operand more": (
        _last(Inputs=ints(1, 0, 0)),
        "operator 4 ASSIGN_VARIABLE has 3 inputs and 0 outputs, not 2 and 0",
    ),
    "operator beside": (
        _operator_beside,
        "subgraph 1: operator 4 READ_VARIABLE: initial values are constants",
    ),
    "variable computed": (
        each(_main("Tensors", 3, IsVariable=True), _main(Outputs=ints(0))),
        "operator 3 READ_VARIABLE computes tensor 3 .*keeps state",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_and_says_where(name: str) -> None:
    edit, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        read_model(edited(edit))


@pytest.mark.parametrize("name", ["two handles", "no zero point"])
def test_litert_refuses_these_handles_too(name: str, oracle: Oracle) -> None:
    with pytest.raises(OracleRejected):
        oracle.run(edited(REFUSED[name][0]), {0: INITIAL})


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
