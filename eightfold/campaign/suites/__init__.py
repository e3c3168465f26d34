"""What campaigns run: each suite says which units a request becomes, and runs one of them."""

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

__all__ = ["SUITES", "Request", "Suite"]
