"""Golden equals LiteRT's reference kernels on random models of every operator.

``eightfold campaign run operators --cases N --seed S`` asks for more, and for others.
"""

import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.operators import OPERATORS
from eightfold.operators import SUPPORTED
from tests.support.campaign.units import expect_passed, unit_parameters


@pytest.mark.parametrize("unit", unit_parameters("operators", cases=20))
def test_equals_litert(unit: Unit) -> None:
    expect_passed(unit)


def test_every_supported_operator_is_compared() -> None:
    assert set(OPERATORS) == SUPPORTED
