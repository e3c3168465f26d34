"""What judging says: how each case ended, what was found of each claim, and of all together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from eightfold.conformance.profile import NETWORKS, OPERATORS, UNITS, Profile
from eightfold.conformance.units.unit import Level

KIT = "1.0"
"""Version of the conformance kit: another one may draw other cases from the same seed."""

Layer = Literal["unit", "operator", "network"]
"""What a claim is about."""


class Outcome(IntEnum):
    """What a case has shown."""

    EXACT = 0
    OFF_BY_ONE = 1
    """Every result is there, and none is further than 1 from the right one."""
    WRONG = 2
    SHAPE = 3
    """A result has another shape or type."""
    ACCEPTED = 4
    """A model that has to be refused was computed."""
    REFUSED = 5
    """A model that has to be computed was refused."""
    CRASHED = 6
    TIMEOUT = 7
    MISSING = 8
    """A result has not come."""
    UNKNOWN_BITS = 9
    """Some bits are neither 0 nor 1."""

    @property
    def text(self) -> str:
        """The outcome in words."""
        return (
            "accepted though illegal"
            if self is self.ACCEPTED
            else self.name.lower().replace("_", " ")
        )


@dataclass(frozen=True, kw_only=True)
class FailedCase:
    """A case that is not exact."""

    name: str
    """Its number, or its folder among the vectors."""
    outcome: Outcome
    message: str = ""
    """In one line: what is wrong first, or what a runtime said."""


LISTED = 1000
"""Failed cases of a claim that are listed one by one."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found of one claim.

    Attributes
    ----------
    claim
        A unit, an operator, or `NETWORKS`.
    counts
        Cases by outcome; outcomes that are absent are 0.
    extra
        Results that came without being asked for.
    mistakes
        Names of the mistakes that explain every known result, if some do.
    diagnosis
        What is wrong, in sentences; why a claim was not judged, if it has no cases.
    failed
        The cases that are not exact, `LISTED` of them at most.
    smallest
        The smallest failing case: the reference's arithmetic line by line, theirs beside it.
    power
        Sentences on the mistakes that these cases could not have told apart.
    """

    claim: str
    counts: Mapping[Outcome, int]
    extra: int = 0
    mistakes: tuple[str, ...] = ()
    diagnosis: tuple[str, ...] = ()
    failed: tuple[FailedCase, ...] = ()
    smallest: tuple[str, ...] = ()
    power: tuple[str, ...] = ()

    @property
    def layer(self) -> Layer:
        """What the claim is about."""
        if self.claim == NETWORKS:
            return "network"
        return "unit" if self.claim in UNITS else "operator"

    @property
    def cases(self) -> int:
        """How many cases were judged."""
        return sum(self.counts.values())

    @property
    def conforms(self) -> bool:
        """Whether there are cases, all are exact, and nothing came unasked."""
        return 0 < self.counts.get(Outcome.EXACT, 0) == self.cases and not self.extra

    @property
    def headline(self) -> str:
        """The finding in a sentence."""
        if not self.cases:
            return f"{self.claim}: nothing was judged."
        if self.conforms:
            return f"{self.claim}: conforms, all {self.cases} cases are exact."
        wrong = [
            f"{self.counts[outcome]} {outcome.text}"
            for outcome in Outcome
            if outcome != Outcome.EXACT and self.counts.get(outcome)
        ]
        found = f"deviates, {', '.join(wrong)} of {self.cases} cases" if wrong else "deviates"
        unasked = f"; {self.extra} more results came than were asked for" if self.extra else ""
        return f"{self.claim}: {found}{unasked}."

    def lines(self) -> list[str]:
        """Return the finding in sentences, without the power of the cases."""
        found = [self.headline, *self.diagnosis]
        return [*found, "The smallest failing case:", *self.smallest] if self.smallest else found


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What was found of an implementation: the claims of its profile, each judged or not.

    Attributes
    ----------
    subject
        What was judged: an adapter's name, or a folder of results.
    profile, level, seed
        What the cases were drawn by.
    findings
        In the order of the claims.
    """

    subject: str
    profile: Profile
    level: Level
    seed: int
    findings: tuple[Finding, ...]
    kit: str = field(default=KIT)

    @property
    def conforms(self) -> bool:
        """Whether all that was judged conforms."""
        return bool(self.findings) and all(finding.conforms for finding in self.findings)

    def of(self, claim: str) -> Finding | None:
        """Return what was found of a claim; None if it was not judged."""
        return next((each for each in self.findings if each.claim == claim), None)

    def line(self) -> str:
        """Return the conformance statement: version, spec, what conforms and what does not."""
        spec = "TFLite int8" if self.profile.spec == "tflite" else "TPU-MLIR int8"
        reference = f" ({self.profile.reference})" if self.profile.spec == "tflite" else ""
        good = [each for each in self.findings if each.conforms]
        bad = [each.claim for each in self.findings if not each.conforms]
        rows = sum(each.layer == "operator" for each in good)
        units = [each.claim for each in good if each.layer == "unit"]
        parts = [f"Eightfold conformance {self.kit}, {spec}{reference}"]
        if any(each.layer == "operator" for each in self.findings):
            parts.append(f"{rows} of {len(OPERATORS)} rows")
        layers = {each.layer for each in self.findings}
        highest = next(
            layer for layer in ("network", "operator", "unit") if layer in {*layers, "unit"}
        )
        text = ", ".join([*parts, *units, f"{highest} level", self.level])
        return f"{text}; deviates: {', '.join(bad)}" if bad else text
