"""The accelerator in RTL equals golden on every tensor of random networks, with random stalls.

``eightfold campaign run networks --backend verilator`` asks for more, and for others.
"""

import pytest

from eightfold.campaign.records import Unit
from tests.support.campaign.units import expect_passed, unit_parameters
from tests.support.hardware.small_program import CONFIG as TIGHT
from tests.support.hardware.twins import TWINS

ON_RTL = [
    *unit_parameters("networks", TWINS["small"], "small", backend="verilator", cases=100),
    *unit_parameters("networks", TIGHT, "tight", backend="verilator", cases=10),
]
ON_ICARUS = unit_parameters("networks", backend="icarus", config="nano", cases=2)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ON_RTL)
@pytest.mark.usual
def test_equals_golden(unit: Unit) -> None:
    expect_passed(unit)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("unit", ON_ICARUS)
@pytest.mark.usual(names=["1..1"])
def test_equals_golden_on_icarus(unit: Unit) -> None:
    expect_passed(unit)
