"""A statement with every standing, for tests of reports."""

from eightfold.conformance.profile import OPERATORS, Limits, Profile
from eightfold.conformance.verdict import FailedCase, Finding, Outcome, Statement

NASTY = "<script>alert(1)</script> & \x00\x1b[31m 'é' `x >>> 1`"
"""What a runtime may say."""


def statement(subject: str = "my core") -> Statement:
    """Return a statement: claims that are right, deviate, are incomplete in every way, were not
    asked, and are not claimed."""
    profile = Profile(
        name="mine",
        claims=("requantizer", "dot", "tables", *OPERATORS[:12]),
        limits=Limits(shift=(-20, 0), zero_points=(0,)),
    )
    requantizer = Finding(
        claim="requantizer",
        counts={Outcome.EXACT: 2526, Outcome.OFF_BY_ONE: 116},
        extra=2,
        mistakes=("second_half_up",),
        diagnosis=("second_half_up: It adds half and shifts, `(y + half) >>> e`.",),
        failed=tuple(
            FailedCase(name=str(n), outcome=Outcome.OFF_BY_ONE, message="127 instead of 126")
            for n in range(116)
        ),
        smallest=("case 7: acc 1", "  SRDHM(1, multiplier 5) = 1", "  theirs: 10, expected 11"),
        power=("1 of 61 mistakes cannot be seen in these cases: left_missing.",),
        known=61,
        unseen=1,
    )
    add = Finding(
        claim="ADD",
        counts={Outcome.EXACT: 3, Outcome.TIMEOUT: 1, Outcome.ACCEPTED: 1, Outcome.WRONG: 1},
        diagnosis=("No mistake with a name explains all.",),
        failed=(
            FailedCase(name="ADD/0001", outcome=Outcome.TIMEOUT, message=NASTY),
            FailedCase(name="ADD/0004", outcome=Outcome.ACCEPTED),
            FailedCase(name="ADD/0005", outcome=Outcome.WRONG, message="a" * 400),
        ),
    )
    findings = (
        requantizer,
        Finding(claim="dot", counts={Outcome.EXACT: 1600}),
        add,
        Finding(claim="CONV_2D", counts={Outcome.EXACT: 6}, known=73, unseen=35),
        Finding(claim="LOGISTIC", counts={}, waiting=6),
        Finding(claim="MAX_POOL_2D", counts={Outcome.EXACT: 2}, waiting=4),
        Finding(claim="MUL", counts={}, diagnosis=("Its limits leave no model of MUL.",)),
        Finding(claim="networks", counts={Outcome.EXACT: 4}),
    )
    return Statement(subject=subject, profile=profile, level="smoke", seed=5, findings=findings)


CASES = {
    "ADD": [f"ADD/{n:04}" for n in range(6)],
    "CONV_2D": [f"CONV_2D/{n:04}" for n in range(6)],
    "MAX_POOL_2D": ["MAX_POOL_2D/0001", "MAX_POOL_2D/0004"],
}
"""Names of the cases of models that were answered."""
