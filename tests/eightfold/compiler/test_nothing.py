"""Lists of no axes, moves of no elements, and scales of no matter: they work as in LiteRT."""

from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.passes import prepare
from eightfold.model.builder import ModelBuilder
from eightfold.model.inputs import random_inputs
from eightfold.operators import check_model, check_prepared, has_violation, load_model, run_graph
from eightfold.run.reference.oracle import Oracle
from eightfold.run.session import Session
from eightfold.target.config import AcceleratorConfig
from lab.hostile.subject import run_prepared
from tests.support.models.single import one_operator

Case = tuple[str, tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...], float]

_CASES: dict[str, Case] = {
    "RESHAPE to a scalar": ("RESHAPE", (1, 1), ((0,),), (), 0.5),
    "RESHAPE of a scalar": ("RESHAPE", (), ((0,),), (), 0.5),
    "MEAN": ("MEAN", (2, 3, 4), ((0,),), (2, 3, 4), 0.5),
    "MEAN, rescaled": ("MEAN", (1, 5, 3, 4), ((0,),), (1, 5, 3, 4), 0.375),
    "MEAN, no rows of axes": ("MEAN", (2, 3), ((0, 2),), (2, 3), 0.5),
    "MEAN of a scalar": ("MEAN", (), ((0,),), (), 0.25),
    "SUM": ("SUM", (2, 3), ((0,),), (2, 3), 0.5),
    "REDUCE_MAX": ("REDUCE_MAX", (2, 3), ((0,),), (2, 3), 0.5),
    "REDUCE_MIN": ("REDUCE_MIN", (1, 7), ((0,),), (1, 7), 0.5),
    "BROADCAST_TO": ("BROADCAST_TO", (), ((0,),), (), 0.5),
    "MIRROR_PAD": ("MIRROR_PAD", (), ((0, 2),), (), 0.5),
    "PAD": ("PAD", (), ((0, 2),), (), 0.5),
    "SLICE": ("SLICE", (), ((0,), (0,)), (), 0.5),
    "STRIDED_SLICE": ("STRIDED_SLICE", (2, 3), ((0,), (0,), (0,)), (2, 3), 0.5),
    "TILE": ("TILE", (), ((0,),), (), 0.5),
}
"""Operator, shape of the input, shapes of the lists, shape and scale of the result."""


def _model(case: Case, *, data: bool = True) -> bytes:
    operator, shape, lists, result, scale = case
    b = ModelBuilder()
    inputs = [b.input(shape, scale=0.5, zero_point=3)]
    for each in lists:
        if data:
            inputs.append(b.constant(np.zeros(each, np.int32)))
        else:
            inputs.append(b.tensor(each, dtype=np.int32))  # nothing, so no data is lacking
    output = b.tensor(result, scale=scale, zero_point=3)
    b.operator(operator, inputs, [output])
    b.output(output)
    return b.build()


def _given(case: Case) -> dict[int, np.ndarray]:
    return {0: np.random.default_rng(7).integers(-128, 128, case[1], np.int8)}


@pytest.mark.parametrize("data", [True, False], ids=["with data", "without"])
@pytest.mark.parametrize("case", _CASES.values(), ids=_CASES)
def test_golden_and_the_accelerators_model_compute_the_same(case: Case, data: bool) -> None:
    graph, given = load_model(_model(case, data=data)), _given(case)
    checked, findings = check_prepared(graph)
    assert not has_violation(findings + check_model(checked))
    (output,) = graph.outputs
    expected = run_graph(graph, given)[output]
    if case[4] == 0.5:
        np.testing.assert_array_equal(expected, given[0].reshape(case[3]))
    prepared = prepare(graph, AcceleratorConfig.load("nano"))
    if not prepared.network.segments:
        return  # the result is the input
    values = run_prepared(prepared, given)
    np.testing.assert_array_equal(values[prepared.rewritten.graph.outputs[0]], expected)


_REFUSED: dict[str, tuple[Case, str]] = {
    "RESHAPE": (("RESHAPE", (1, 2), ((0,),), (), 0.5), "RESHAPE"),
    "TRANSPOSE": (("TRANSPOSE", (), ((0,),), (), 0.5), "has rank 0, not 1 to 32"),
    "EXPAND_DIMS": (("EXPAND_DIMS", (2,), ((0,),), (1, 2), 0.5), "must be one integer, not 0"),
    "REVERSE_V2": (("REVERSE_V2", (2, 3), ((0,),), (2, 3), 0.5), "needs an axis"),
    "PAD": (("PAD", (2, 3), ((0, 2),), (2, 3), 0.5), "paddings must be 2 pairs"),
}


@pytest.mark.parametrize(("case", "message"), _REFUSED.values(), ids=_REFUSED)
def test_refuses_what_a_list_of_nothing_is_too_little_for(case: Case, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_model(_model(case))


Move = tuple[str, list[tuple[int, ...]], list[tuple[int, ...]], dict[str, Any], list[Any]]

_MOVES: list[Move] = [
    ("RESHAPE", [(0, 4)], [(2, 0)], {"new_shape": [2, 0]}, []),
    ("RESHAPE", [(0, 4)], [(0, 2)], {"new_shape": [-1, 2]}, []),
    ("TRANSPOSE", [(0, 4)], [(4, 0)], {}, [[1, 0]]),
    ("SQUEEZE", [(0, 1, 4)], [(0, 4)], {"squeeze_dims": [1]}, []),
    ("EXPAND_DIMS", [(0, 4)], [(1, 0, 4)], {}, [0]),
    ("SLICE", [(3, 4)], [(0, 4)], {}, [[1, 0], [0, 4]]),
    ("STRIDED_SLICE", [(3, 4)], [(0, 4)], {}, [[2, 0], [2, 4], [1, 1]]),
    ("CONCATENATION", [(0, 4), (3, 4)], [(3, 4)], {"axis": 0}, []),
    ("CONCATENATION", [(0, 4), (0, 4)], [(0, 4)], {"axis": 0}, []),
    ("PACK", [(0, 4), (0, 4)], [(2, 0, 4)], {"axis": 0, "values_count": 2}, []),
    ("PAD", [(0, 4)], [(1, 4)], {}, [[[1, 0], [0, 0]]]),
    ("PAD", [(0, 4)], [(0, 5)], {}, [[[0, 0], [0, 1]]]),
    ("GATHER", [(3, 0)], [(2, 0)], {"axis": 0}, [[0, 1]]),
    ("GATHER", [(3, 4)], [(0, 4)], {"axis": 0}, [np.zeros(0)]),
    ("DYNAMIC_UPDATE_SLICE", [(3, 4), (0, 4)], [(3, 4)], {}, [[1, 0]]),
    ("GATHER_ND", [(3, 4)], [(0, 4)], {}, [np.zeros((0, 1))]),
    ("MIRROR_PAD", [(0, 4)], [(0, 5)], {"mode": "SYMMETRIC"}, [[[0, 0], [0, 1]]]),
    ("SPLIT_V", [(3, 4)], [(3, 4), (3, 0)], {"num_splits": 2}, [[4, -1], 1]),
    ("TILE", [(3, 4)], [(0, 4)], {}, [[0, 1]]),
    ("SPACE_TO_DEPTH", [(0, 4, 4, 2)], [(0, 2, 2, 8)], {"block_size": 2}, []),
    ("SPACE_TO_BATCH_ND", [(0, 4, 2)], [(0, 2, 2)], {}, [[2], [[0, 0]]]),
]
"""Operator, shapes of inputs and results, options, lists behind the inputs."""


@pytest.mark.slow
@pytest.mark.parametrize("move", _MOVES, ids=[f"{move[0]}-{move[2][0]}" for move in _MOVES])
@pytest.mark.usual(count=10)
def test_moves_of_nothing_are_as_in_litert(move: Move) -> None:
    operator, shapes, results, options, lists = move
    b = ModelBuilder()
    inputs = [b.input(shape, scale=0.5, zero_point=3) for shape in shapes]
    inputs += [b.constant(np.asarray(each, np.int32)) for each in lists]
    outputs = [b.tensor(shape, scale=0.5, zero_point=3) for shape in results]
    b.operator(operator, inputs, outputs, options)
    for output in outputs:
        b.output(output)
    with Session() as golden:
        expected = golden.run(b.build(), compare=True)
    assert expected.mismatches == 0
    graph = load_model(b.build())
    given = random_inputs(graph, 0)
    for rules in ((), ("all",)):
        prepared = prepare(graph, AcceleratorConfig.load("nano"), no_rewrite=rules)
        values = run_prepared(prepared, given)
        for tensor, own in zip(graph.outputs, prepared.rewritten.graph.outputs, strict=True):
            np.testing.assert_array_equal(values[own], expected.outputs[tensor])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_that_is_no_number_is_refused_where_it_is_computed_with(scale: float) -> None:
    def model(operator: str, **options: Any) -> bytes:
        points = {"scales": (scale, scale), "zero_points": (3, 3)}
        return one_operator(operator, [(2, 3)], (3, 2), options=options, **points)

    with Session() as golden:
        assert golden.run(model("RESHAPE", new_shape=[3, 2]), compare=True).mismatches == 0
    with pytest.raises(InputError, match=r"tensor 0 .* has the scale .*computed with"):
        load_model(model("LOGISTIC"))


def test_nothing_is_no_value_to_compute_with() -> None:
    with pytest.raises(InputError, match="tensor 0 .*has no elements"):
        load_model(one_operator("RELU", [(0, 4)], (0, 4)))


@pytest.mark.slow
@pytest.mark.long
def test_litert_and_rtl_compute_the_same() -> None:
    with Oracle() as litert, Session("golden") as golden, Session("verilator", "nano") as rtl:
        for name, case in _CASES.items():
            model, given = _model(case), _given(case)
            (expected,) = golden.run(model, given).outputs.values()
            (computed,) = rtl.run(model, given).outputs.values()
            np.testing.assert_array_equal(computed, expected, err_msg=name)
            if name != "SUM":  # LiteRT's int8 kernel is not followed
                (output,) = load_model(model).outputs
                np.testing.assert_array_equal(litert.run(model, given)[output], expected, name)
