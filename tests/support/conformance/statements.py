"""A statement with every standing, for tests of reports."""

from eightfold.conformance.profile import OPERATORS, Profile, ProfileLimits
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding, FailedCase, Statement

NASTY = "<script>alert(1)</script> & \x00\x1b[31m 'é' `x >>> 1`"
"""What a runtime may say."""


def statement(subject: str = "my core") -> Statement:
    """Return a statement: claims that are right, deviate, are incomplete in every way, were not
    asked, and are not claimed."""
    profile = Profile(
        name="mine",
        claims=("requantizer", "dot", "tables", *OPERATORS[:12]),
        limits=ProfileLimits(shift=(-20, 0), zero_points=(0,)),
    )
    requantizer = ClaimFinding(
        claim="requantizer",
        counts={CaseOutcome.EXACT: 2526, CaseOutcome.OFF_BY_ONE: 116},
        extra=2,
        mistakes=("second_half_up",),
        diagnosis=("second_half_up: It adds half and shifts, `(y + half) >>> e`.",),
        failed=tuple(
            FailedCase(name=str(n), outcome=CaseOutcome.OFF_BY_ONE, message="127 instead of 126")
            for n in range(116)
        ),
        smallest=("case 7: acc 1", "  SRDHM(1, multiplier 5) = 1", "  theirs: 10, expected 11"),
        power=("1 of 61 mistakes cannot be seen in these cases: left_missing.",),
        known=61,
        unseen=1,
    )
    add = ClaimFinding(
        claim="ADD",
        counts={
            CaseOutcome.EXACT: 3,
            CaseOutcome.TIMEOUT: 1,
            CaseOutcome.ACCEPTED: 1,
            CaseOutcome.WRONG: 1,
        },
        diagnosis=("No mistake with a name explains all.",),
        failed=(
            FailedCase(name="ADD/0001", outcome=CaseOutcome.TIMEOUT, message=NASTY),
            FailedCase(name="ADD/0004", outcome=CaseOutcome.ACCEPTED),
            FailedCase(name="ADD/0005", outcome=CaseOutcome.WRONG, message="a" * 400),
        ),
    )
    findings = (
        requantizer,
        ClaimFinding(claim="dot", counts={CaseOutcome.EXACT: 1600}),
        add,
        ClaimFinding(claim="CONV_2D", counts={CaseOutcome.EXACT: 6}, known=73, unseen=35),
        ClaimFinding(claim="LOGISTIC", counts={}, waiting=6),
        ClaimFinding(claim="MAX_POOL_2D", counts={CaseOutcome.EXACT: 2}, waiting=4),
        ClaimFinding(claim="MUL", counts={}, diagnosis=("Its limits leave no model of MUL.",)),
        ClaimFinding(claim="networks", counts={CaseOutcome.EXACT: 4}),
    )
    return Statement(subject=subject, profile=profile, level="smoke", seed=5, findings=findings)


CASES = {
    "ADD": [f"ADD/{n:04}" for n in range(6)],
    "CONV_2D": [f"CONV_2D/{n:04}" for n in range(6)],
    "MAX_POOL_2D": ["MAX_POOL_2D/0001", "MAX_POOL_2D/0004"],
}
"""Names of the cases of models that were answered."""
