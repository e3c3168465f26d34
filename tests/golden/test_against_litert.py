"""Golden equals LiteRT's reference kernels on random models of every operator.

``eightfold campaign run operators --cases N --seed S`` asks for more, and for others.
"""

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.operators import OPERATORS
from eightfold.model.builder import ModelBuilder
from eightfold.operators import SUPPORTED, load_model, run_graph
from eightfold.run.reference.oracle import Oracle
from tests.support.campaign.units import expect_passed, unit_parameters


@pytest.mark.parametrize("unit", unit_parameters("operators", cases=20))
def test_equals_litert(unit: Unit) -> None:
    expect_passed(unit)


def test_every_supported_operator_is_compared() -> None:
    assert set(OPERATORS) == SUPPORTED


@pytest.mark.parametrize("scale", [[3e38], [1.0, 3e38]])
def test_dequantize_beyond_float32_is_infinite(oracle: Oracle, scale: list[float]) -> None:
    builder = ModelBuilder()
    x = builder.input((2, 2), scale=scale, zero_point=[0] * len(scale), axis=1)
    y = builder.tensor((2, 2), dtype=np.float32)
    builder.operator("DEQUANTIZE", [x], [y])
    builder.output(y)
    model, inputs = builder.build(), {x: np.array([[1, 2], [-3, -128]], np.int8)}
    got = run_graph(load_model(model), inputs)[y]
    np.testing.assert_array_equal(got, oracle.run(model, inputs)[y])
    assert np.isinf(got[:, 1]).all()
