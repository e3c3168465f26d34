"""Operators that no output comes from may refuse a model: LiteRT prepares and runs them."""

from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.passes import prepare
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.oracle import Oracle, OracleRejected
from eightfold.target.config import AcceleratorConfig
from lab.hostile.subject import run_prepared

_CODES = np.array([[-7, 3, 65, 115]], np.int8)


def _model(**changed: Any) -> bytes:
    """Return a model of a RELU, and of a FULLY_CONNECTED beside it that nothing reads."""
    scales = {"x": 0.5, "w": 0.25, "b": 0.125, "y": 0.5} | changed
    b = ModelBuilder()
    x = b.input((1, 4), scale=scales["x"], zero_point=3)
    w = b.constant(np.ones((2, 4), np.int8), scale=scales["w"])
    bias = b.constant(np.array([1, 2], np.int32), scale=scales["b"])
    unread = b.tensor((1, 2), scale=scales["y"])
    y = b.tensor((1, 4), scale=scales["x"], zero_point=3)
    later = b.tensor((1, 2), scale=scales["y"])
    b.operator("FULLY_CONNECTED", [x, w, bias], [unread])
    b.operator("RELU", [x], [y])
    b.operator("RELU", [unread], [later])
    b.output(y)
    return b.build()


_REFUSED = {
    "bias scale": ({"b": 1.0}, "the bias scale 1.0 is not the product"),
    "no filter scale": ({"w": None}, "tensor 1 .* has no scale"),
    "no result scale": ({"y": None}, "has no scale"),
}
_UNDEFINED = {"x": 1e3, "w": 1e3, "b": np.float32(1e6), "y": 1e-3}
"""Scales with which the scaled sums leave int32."""


def _compiled(graph: Graph) -> np.ndarray:
    prepared = prepare(graph, AcceleratorConfig.load("nano"))
    assert prepared.rewritten.gone() == {0, 2}
    values = run_prepared(prepared, {0: _CODES})
    return values[prepared.rewritten.graph.outputs[0]]


@pytest.mark.parametrize(("changed", "message"), _REFUSED.values(), ids=_REFUSED)
def test_what_is_refused_for_its_scales_is_refused_by_all(
    changed: dict[str, Any], message: str
) -> None:
    graph = load_model(_model(**changed))
    with pytest.raises(InputError, match=message):
        run_graph(graph, {0: _CODES})
    with pytest.raises(InputError, match="operator 0 FULLY_CONNECTED: "):
        prepare(graph, AcceleratorConfig.load("nano"))


def test_what_is_undefined_is_left_out() -> None:
    graph = load_model(_model(**_UNDEFINED))
    values = run_graph(graph, {0: _CODES})
    (output,) = graph.outputs
    assert set(values) == {0, output}
    np.testing.assert_array_equal(_compiled(graph), values[output])


def test_what_is_defined_is_computed() -> None:
    graph = load_model(_model())
    values = run_graph(graph, {0: _CODES})
    assert len(values) == 4
    np.testing.assert_array_equal(_compiled(graph), values[graph.outputs[0]])


@pytest.mark.slow
def test_litert_says_the_same() -> None:
    with Oracle() as litert:
        for changed, _ in _REFUSED.values():
            with pytest.raises(OracleRejected):
                litert.run(_model(**changed), {0: _CODES})
        for changed in ({}, _UNDEFINED):
            model = _model(**changed)
            graph = load_model(model)
            output = graph.outputs[0]
            expected = litert.run(model, {0: _CODES})[output]
            np.testing.assert_array_equal(run_graph(graph, {0: _CODES})[output], expected)
