"""What judging says: how each case ended, what was found of each claim, and of all together.

A statement is a ledger: each claim that was asked has an entry, whatever has become of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, get_args

from eightfold.conformance.profile import ASPECTS, EVERY_UNIT, NETWORKS, OPERATORS, Profile, parted
from eightfold.conformance.units.unit import Level
from eightfold.operators.spec import rule

KIT = "2.0"
"""Version of the conformance kit: another one may draw other cases from the same seed."""

BESIDE = {ASPECTS[0]: "Beyond the spec", ASPECTS[1]: "Strictness towards illegal models"}
"""What an aspect is, in words."""

Layer = Literal["unit", "operator", "network"]
"""What a claim is about."""

Standing = Literal["deviates", "incomplete", "no deviation found", "conforms"]
"""What was found of a claim that was asked, the worst first. ``incomplete``: not all of its cases
were answered, or it has none. A claim conforms at a level of `CONFORMANCE_LEVELS` alone."""

Grade = Literal["exact", "within T", "deviates"]
"""How near results are. Exact alone conforms; within the row's tolerance `ClaimFinding.tolerance`
are those of which each is there and none is a wrong integer, boolean or float."""

STANDINGS: tuple[Standing, ...] = get_args(Standing)

CONFORMANCE_LEVELS: tuple[Level, ...] = ("standard", "full")
"""Levels that have cases enough for the word *conforms*."""


class CaseOutcome(IntEnum):
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
        accepted = self is self.ACCEPTED
        return "accepted though illegal" if accepted else self.name.lower().replace("_", " ")


def outcomes_text(counts: Mapping[CaseOutcome, int], *, but: CaseOutcome | None = None) -> str:
    """Return in words how many cases ended how, without one of the outcomes if it is named."""
    found = ((each, counts.get(each)) for each in CaseOutcome if each is not but)
    return ", ".join(f"{count} {each.text}" for each, count in found if count)


@dataclass(frozen=True, kw_only=True)
class FailedCase:
    """A case that is not exact."""

    name: str
    """Its number, or its folder among the vectors."""
    outcome: CaseOutcome
    message: str = ""
    """In one line: what is wrong first, or what a runtime said."""


LISTED = 1000
"""Failed cases of a claim that are listed one by one."""


@dataclass(frozen=True, kw_only=True)
class ClaimFinding:
    """What was found of one claim."""

    claim: str
    """A unit, an operator, or `NETWORKS`; a unit or operator with an aspect of `ASPECTS`, such as
    ``CONV_2D.strictness``, which is no part of conformance."""
    counts: Mapping[CaseOutcome, int]
    """Cases by outcome; outcomes that are absent are 0."""
    waiting: int = 0
    """Cases that were asked for and have not been answered; of models to refuse, of which an
    operator may have fewer, as many as were planned."""
    extra: int = 0
    """Results that came without being asked for."""
    mistakes: tuple[str, ...] = ()
    """Names of the mistakes that explain every known result, if some do."""
    rules: tuple[str, ...] = ()
    """Identities of the rules of the spec that it breaks, as `eightfold.conformance.citation` has
    them; none of what is right, or of another spec."""
    diagnosis: tuple[str, ...] = ()
    """What is wrong, in sentences."""
    failed: tuple[FailedCase, ...] = ()
    """The cases that are not exact, `LISTED` of them at most."""
    smallest: tuple[str, ...] = ()
    """The smallest failing case: the reference's arithmetic line by line, theirs beside it."""
    contract: tuple[str, ...] = ()
    """How far the contract is from the spec, in lines; none where the spec is kept."""
    power: tuple[str, ...] = ()
    """Sentences on the mistakes that these cases could not have told apart."""
    known: int = 0
    unseen: int = 0
    """How many mistakes with a name there are of it, and how many of them these cases could not
    have told from the reference."""
    farthest: int | None = None
    """The largest difference of a code, of models; None if a result is missing, or another one than
    a code is wrong, and where it was not asked for."""
    tolerance: int | None = None
    """T of an operator, see `eightfold.conformance.judge.models.tolerances`; None of what has
    none."""

    @property
    def grade(self) -> Grade | None:
        """How near the results are; None if all that are there are exact, and some are not."""
        if self.right:
            return "exact"
        if self.exact == self.cases and not self.extra:
            return None
        if self.farthest is None or self.tolerance is None or self.extra or self.waiting:
            return "deviates"
        return "within T" if self.farthest <= self.tolerance else "deviates"

    @property
    def layer(self) -> Layer:
        if self.claim == NETWORKS:
            return "network"
        return "unit" if parted(self.claim)[0] in EVERY_UNIT else "operator"

    @property
    def aspect(self) -> str:
        """The aspect of the claim; ``""`` of what conformance is about."""
        return parted(self.claim)[1]

    @property
    def cases(self) -> int:
        return sum(self.counts.values())

    @property
    def exact(self) -> int:
        return self.counts.get(CaseOutcome.EXACT, 0)

    @property
    def asked(self) -> int:
        return self.cases + self.waiting

    @property
    def right(self) -> bool:
        """Whether there are cases, all are answered and exact, and nothing came unasked."""
        return not self.extra and 0 < self.exact == self.asked

    def outcomes(self, *, but: CaseOutcome | None = None) -> str:
        """Return in words how many cases ended how, without one of the outcomes if it is named."""
        return outcomes_text(self.counts, but=but)

    def standing(self, level: Level) -> Standing:
        """Return what was found by cases of a level; what is known to be wrong weighs most."""
        if self.extra or self.exact < self.cases:
            return "deviates"
        if not self.right:
            return "incomplete"
        return "conforms" if level in CONFORMANCE_LEVELS else "no deviation found"

    def headline(self, level: Level) -> str:
        match self.standing(level):
            case "deviates":
                found = self._deviation()
            case "incomplete" if not self.asked:
                found = "incomplete, it has no cases"
            case "incomplete":
                exact = ", all of them exact" if self.cases else ""
                found = f"incomplete, {self._progress}{exact}"
            case "no deviation found":
                found = no_deviation_text(self.cases, self.known, self.unseen)
            case "conforms":
                found = f"conforms, all {self.cases} cases are exact"
        return f"{self.claim}: {found}."

    @property
    def _progress(self) -> str:
        return f"{self.cases} of {self.asked} cases were answered"

    def _deviation(self) -> str:
        wrong = self.outcomes(but=CaseOutcome.EXACT)
        parts = [f"deviates, {wrong} of {self.cases} cases" if wrong else "deviates"]
        parts += [f"{self.extra} more results came than were asked for"] if self.extra else []
        parts += [self._progress] if self.waiting else []
        if self.grade == "within T":
            parts += [f"within T = {self.tolerance}, never further than {self.farthest}"]
        return "; ".join(parts)

    def broken(self) -> list[str]:
        """Return the rules that it breaks in sentences."""
        return [f"It breaks {identity}: {rule(identity).text}" for identity in self.rules]

    def lines(self, level: Level) -> list[str]:
        """Return the finding in sentences, without the power of the cases."""
        found = [self.headline(level), *self.diagnosis, *self.broken()]
        return [*found, "The smallest failing case:", *self.smallest] if self.smallest else found


def no_deviation_text(cases: int, known: int, unseen: int) -> str:
    """Return in words that cases show no deviation, and what they could not have shown. ``known``
    and ``unseen`` as a `ClaimFinding` has them."""
    found = f"no deviation found in {cases} cases"
    if unseen:
        return f"{found}, which could not have told {unseen} of {known} mistakes"
    return f"{found}, which would have told all {known} mistakes" if known else found


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What was found of an implementation: an entry for each claim that was asked."""

    subject: str
    """What was judged: an adapter's name, or a folder of results."""
    profile: Profile
    level: Level
    seed: int
    """What the cases were drawn by."""
    findings: tuple[ClaimFinding, ...]
    kit: str = KIT
    vectors: str = ""
    """Which frozen set of cases was asked, with its digest; empty of cases that were drawn."""

    @property
    def claimed(self) -> tuple[ClaimFinding, ...]:
        """What conformance is about: findings without an aspect."""
        return tuple(each for each in self.findings if not each.aspect)

    def beside(self) -> list[str]:
        """Return a sentence for each aspect that was asked: it is no part of the statement."""
        return [
            f"{text}, which is no part of the statement: {self._beside(aspect)}."
            for aspect, text in BESIDE.items()
            if any(each.aspect == aspect for each in self.findings)
        ]

    def _beside(self, aspect: str) -> str:
        found = [each for each in self.findings if each.aspect == aspect and each.asked]
        alike = sum(each.right for each in found)
        others = [parted(each.claim)[0] for each in found if not each.right]
        text = f"as the reference in {alike} of {len(found)} claims that have cases"
        return f"{text}; not in {', '.join(others)}" if others else text

    @property
    def standing(self) -> Standing:
        """The worst of all claims that were asked; incomplete without any."""
        found = {each.standing(self.level) for each in self.claimed} or {"incomplete"}
        return next(each for each in STANDINGS if each in found)

    @property
    def holds(self) -> bool:
        """Whether all that was asked is answered and right: nothing less is a pass."""
        return self.standing in ("no deviation found", "conforms")

    @property
    def conforms(self) -> bool:
        """Whether all that was asked conforms, which the level has to be able to show."""
        return self.standing == "conforms"

    def of(self, claim: str) -> ClaimFinding | None:
        """Return what was found of a claim; None if it was not asked."""
        return next((each for each in self.findings if each.claim == claim), None)

    def line(self) -> str:
        """Return the conformance statement: version, spec, limits, and how each claim stands."""
        spec = "TFLite int8" if self.profile.spec == "tflite" else "TPU-MLIR int8"
        reference = f" ({self.profile.reference})" if self.profile.spec == "tflite" else ""
        limits = self.profile.limits_text
        contract = self.profile.contract_text
        layers = {each.layer for each in self.claimed}
        highest = next((each for each in ("network", "operator") if each in layers), "unit")
        parts = [
            f"Eightfold conformance {self.kit}, {spec}{reference}",
            *([f"contract ({contract})"] if contract else []),
            f"limits ({limits})" if limits else "no limits",
            *self._conforming(),
            f"{highest} level",
            self.level,
            *([self.vectors] if self.vectors else []),
        ]
        return "; ".join([", ".join(parts), *self._others()])

    def _conforming(self) -> Iterator[str]:
        """Yield what conforms: how many rows, and which units."""
        if self.level not in CONFORMANCE_LEVELS:
            return
        good = [each for each in self.claimed if each.right]
        if any(each.layer == "operator" for each in self.claimed):
            rows = sum(each.layer == "operator" for each in good)
            yield f"{rows} of {len(OPERATORS)} rows"
        yield from (each.claim for each in good if each.layer == "unit")

    def _others(self) -> Iterator[str]:
        """Yield what does not conform, or has not been shown to."""
        for standing in ("no deviation found", "deviates", "incomplete"):
            found = [each for each in self.claimed if each.standing(self.level) == standing]
            claims = claims_text(each.claim for each in found)
            cases = sum(f.cases for f in found)
            if found and standing == "no deviation found":
                known, unseen = sum(f.known for f in found), sum(f.unseen for f in found)
                yield f"{claims}: {no_deviation_text(cases, known, unseen)}"
            elif found and standing == "deviates":
                graded = (
                    f"{each.claim} (within T = {each.tolerance})" * (each.grade == "within T")
                    or each.claim
                    for each in found
                )
                yield f"deviates: {', '.join(graded)}"
            elif found:
                asked = sum(each.asked for each in found)
                yield f"incomplete: {claims}, {cases} of {asked} cases were answered"


@dataclass(frozen=True)
class Judged:
    """A statement, and the names of all cases of the claims whose cases have names."""

    statement: Statement
    names: Mapping[str, Sequence[str]]


NAMED = 5
"""Operators that a sentence names; of more it says how many."""


def claims_text(claims: Iterable[str]) -> str:
    """Return claims in words: units and networks by name, operators too if they are few."""
    others, operators = [], []
    for claim in claims:
        (operators if claim in OPERATORS else others).append(claim)
    return ", ".join(
        [*others, *(operators if len(operators) <= NAMED else [f"{len(operators)} operators"])]
    )
