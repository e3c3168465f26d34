"""The accelerator in RTL equals golden on every tensor of random networks, with random stalls.

``eightfold campaign run --suite networks --backend verilator`` asks for more, and for others.
"""

import pytest

from eightfold.campaign.records import Unit
from eightfold.target.config import PRESETS
from tests.support.campaign.units import expect_passed, request, units
from tests.support.hardware.small_program import CONFIG as TIGHT
from tests.support.hardware.twins import TWINS

SMALL = request("verilator", TWINS["small"], "small", networks=100)
LITTLE_FITS = request("verilator", TIGHT, "tight", networks=10)
ON_ICARUS = request("icarus", PRESETS["nano"], "nano", networks=2)


@pytest.mark.slow
@pytest.mark.parametrize("unit", units("networks", SMALL) + units("networks", LITTLE_FITS))
def test_equals_golden(unit: Unit) -> None:
    expect_passed(unit)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("unit", units("networks", ON_ICARUS))
def test_equals_golden_on_icarus(unit: Unit) -> None:
    expect_passed(unit)
