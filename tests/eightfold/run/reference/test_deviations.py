"""LiteRT asked operator by operator: the same as for the whole model, but for its broken SUM."""

from pathlib import Path

import numpy as np
import pytest

from eightfold import Session
from eightfold.model.builder import ModelBuilder
from eightfold.operators import SUPPORTED, load_model, run_operator
from eightfold.run.reference.oracle import DEVIATIONS, Oracle, deviates, litert_outputs
from eightfold.run.report import verdict
from tests.support.models.single import moved


def small_network() -> bytes:
    """Return ADD of a tensor to itself, FULLY_CONNECTED without bias, and SPLIT."""
    b = ModelBuilder()
    x = b.input((2, 4), scale=0.5, zero_point=-3)
    doubled = b.tensor((2, 4), scale=0.25, zero_point=4)
    weights = b.constant(np.arange(-8, 8, dtype=np.int8).reshape(4, 4), scale=[0.5, 0.25, 1, 2])
    dense = b.tensor((2, 4), scale=4.0)
    halves = [b.tensor((2, 2), scale=4.0) for _ in range(2)]
    b.operator("ADD", [x, x], [doubled])
    b.operator("FULLY_CONNECTED", [doubled, weights, -1], [dense])
    b.operator("SPLIT", [b.constant(np.int32(1)), dense], halves, {"num_splits": 2})
    for half in halves:
        b.output(half)
    return b.build()


TOTAL = moved("SUM", (1, 2), (1,), [1], scales=(1.0, 1.0))
"""The SUM of two codes: tensor 0 to tensor 2."""


def test_one_operator_at_a_time_is_the_whole_model() -> None:
    model = small_network()
    graph = load_model(model)
    values = {0: np.arange(-4, 4, dtype=np.int8).reshape(2, 4) * 7}
    with Oracle() as oracle:
        whole = oracle.run(model, values)
        for operator in graph.operators:
            outputs = litert_outputs(oracle, graph, operator, values)
            values.update(zip(operator.outputs, outputs, strict=True))
            for index in operator.outputs:
                np.testing.assert_array_equal(values[index], whole[index], strict=True)
    assert not deviates(graph)


@pytest.mark.slow
@pytest.mark.parametrize(("codes", "wrong"), [((-1, -1), -1), ((-100, 50), -50), ((3, 4), 7)])
def test_sum_is_the_intended_one(codes: tuple[int, int], wrong: int) -> None:
    """LiteRT adds the bytes as unsigned: -1 is 255, and two of them are clamped to 255, -1."""
    graph = load_model(TOTAL)
    values = {0: np.array([codes], np.int8)}
    with Oracle() as oracle:
        assert oracle.run(TOTAL, values)[2].tolist() == [wrong]
        (right,) = litert_outputs(oracle, graph, graph.operators[0], values)
    assert right.tolist() == [sum(codes)]
    np.testing.assert_array_equal(run_operator(graph, graph.operators[0], values)[0], right)


def test_deviations_name_operators_of_golden() -> None:
    assert DEVIATIONS.keys() <= SUPPORTED
    assert deviates(load_model(TOTAL))


def test_the_verdict_names_a_deviation_of_the_model_and_no_other(tmp_path: Path) -> None:
    equal = "every tensor equals LiteRT's reference kernels bit for bit"
    endings = {"total": f"{equal}, SUM as intended: {DEVIATIONS['SUM']}", "network": equal}
    for name, model in (("total", TOTAL), ("network", small_network())):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(model)
        with Session() as session:
            assert verdict(session.run(path, compare=True)).endswith(f"; {endings[name]}")
