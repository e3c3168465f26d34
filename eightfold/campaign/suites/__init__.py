"""What campaigns run: each suite says which units a request becomes, and runs one of them."""

from eightfold.campaign.records import Unit
from eightfold.campaign.suites import (
    conformance,
    faults,
    hostile,
    mutants,
    networks,
    operators,
    proofs,
    requantizer,
    streams,
)
from eightfold.campaign.suites.suite import Request, Suite
from eightfold.common.errors import InputError

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        operators.SUITE,
        networks.SUITE,
        requantizer.SUITE,
        faults.SUITE,
        streams.SUITE,
        hostile.SUITE,
        mutants.SUITE,
        proofs.SUITE,
        conformance.SUITE,
    )
}
"""By name, in the order in which a campaign runs them."""


def suite_of(unit: Unit) -> Suite:
    """Return the suite of a unit; raise `InputError` if there is none of that name."""
    if unit.suite not in SUITES:
        raise InputError(f"unit {unit.name}: there is no suite {unit.suite}")
    return SUITES[unit.suite]


__all__ = ["SUITES", "Request", "Suite", "suite_of"]
