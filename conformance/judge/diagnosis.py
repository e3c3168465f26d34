"""The verdict on a unit's results: it conforms, or it deviates, and why.

`examine` compares results with the reference's, looks for a mistake with a name that explains all
of them, then for two at once, and says of what is left what it has in common.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.judge.contracts import check_cases, requantizer
from eightfold.conformance.judge.explain import (
    Explained,
    Explanation,
    Indices,
    Observations,
    explain,
    explained_sentences,
)
from eightfold.conformance.judge.forms import Cases, form_of
from eightfold.conformance.judge.power import Power, power
from eightfold.conformance.judge.rules import Clause, Mask, clauses_of, common_text, spread
from eightfold.conformance.judge.subject import (
    PART,
    Mistake,
    Steps,
    Subject,
    agree,
    pairs,
    rows,
    width,
)
from eightfold.conformance.verdict import LISTED, CaseOutcome, FailedCase, outcomes_text
from eightfold.golden.fixed_point import Integers

FAR = 2**62
"""Results beyond it are as wrong as this."""

PROBED, LEAST_PROBED = 256, 16
"""Exact cases with so many results, and deviating ones, but so many cases at least, are asked
before the others whether a mistake explains them."""

COMPARED = 100_000
"""Results by which the closest mistake is chosen."""


@dataclass(frozen=True)
class SmallestFailure:
    """A case that is not exact, with the reference's arithmetic."""

    index: int
    case: Mapping[str, Any]
    outcome: CaseOutcome
    steps: Steps
    """The reference's; the last value is the expected result."""
    result: Any | None
    """Theirs; None if it is missing or unknown."""

    def lines(self) -> list[str]:
        """Return the case, the reference's steps, and their result beside the expected one."""
        fields = ", ".join(f"{name} {value}" for name, value in self.case.items())
        expected = self.steps[-1][1]
        result = self.outcome.text if self.result is None else self.result
        theirs = f"theirs: {result}, expected {expected}"
        if isinstance(self.result, int):
            theirs += f", difference {self.result - expected:+d}"
        steps = [f"  {formula} = {value}" for formula, value in self.steps]
        return [f"case {self.index}: {fields}", *steps, f"  {theirs}"]


@dataclass(frozen=True)
class UnitVerdict:
    """What results say of the unit that gave them."""

    name: str
    counts: Mapping[CaseOutcome, int]
    explanations: tuple[Explanation[Mistake], ...]
    """Those that explain every known result; none if these are exact."""
    closest: Explanation[Mistake] | None
    """The one mistake that explains most results, if none explains all, but more than golden.

    None where a simple rule says exactly which results are wrong.
    """
    remainder: tuple[Clause, ...]
    """What the results have in common that neither golden nor ``closest`` explains."""
    unexplained: int
    """How many results these are."""
    differences: str
    """How far they lie from ``closest``, or from golden."""
    silent: tuple[Clause, ...]
    """What cases without a known result have in common."""
    failure: SmallestFailure | None
    failed: tuple[FailedCase, ...]
    """The cases that are not exact, the first `LISTED` of them."""
    power: Power

    @property
    def cases(self) -> int:
        return sum(self.counts.values())

    @property
    def known(self) -> int:
        """How many cases have results all of whose bits are known."""
        return sum(self.counts[outcome] for outcome in CaseOutcome if outcome <= CaseOutcome.WRONG)

    @property
    def conforms(self) -> bool:
        """Whether there are cases, and every result is exact."""
        return 0 < self.counts[CaseOutcome.EXACT] == self.cases

    def lines(self) -> list[str]:
        """Return the verdict in sentences, without the power of the cases."""
        if not self.cases:
            return [f"{self.name}: nothing was judged, there are no cases."]
        if self.conforms:
            return [f"{self.name}: conforms, all {self.cases} results are exact."]
        failed = outcomes_text(self.counts, but=CaseOutcome.EXACT)
        found = [f"{self.name}: deviates in {failed} of {self.cases} results."]
        found += self.diagnosis()
        if self.failure:
            found += ["The smallest failing case:", *self.failure.lines()]
        return found

    def diagnosis(self) -> list[str]:
        """Return what is wrong, in sentences; none if all is exact."""
        found = self._mistakes()
        if silent := self.cases - self.known:
            found.append(common_text(silent, "cases without a known result", self.silent))
        return found

    def _mistakes(self) -> list[str]:
        if self.counts[CaseOutcome.EXACT] == self.known:
            said = self.known and not self.conforms
            return ["Every result that is known is exact."] if said else []
        found = explained_sentences(self.explanations, self.closest, self.known, pairs=True)
        if self.explanations:
            return found
        left = "results that it does not explain" if self.closest else "results that are not exact"
        common = common_text(self.unexplained, left, self.remainder)
        return [*found, f"{common} {self.differences}".rstrip()]


def outcomes(expected: Integers, results: Integers) -> Integers:
    """Return the `CaseOutcome` of each case, shape (n,), by the worst of its results."""
    missing, unknown = results == MISSING, results == UNKNOWN
    difference = np.abs(np.where(missing | unknown, expected, _bounded(results)) - expected)
    if results.ndim == 2:
        missing, unknown = missing.any(axis=1), unknown.any(axis=1)
        difference = difference.max(axis=1, initial=0)
    return np.select(
        [missing, unknown, difference == 0, difference == 1],
        [CaseOutcome.MISSING, CaseOutcome.UNKNOWN_BITS, CaseOutcome.EXACT, CaseOutcome.OFF_BY_ONE],
        CaseOutcome.WRONG,
    ).astype(np.int64)


def judge(form: str, cases: Cases, results: Integers) -> UnitVerdict:
    """Return the verdict on a requantizer's results.

    ``cases``: see `eightfold.conformance.judge.forms.Cases`; n may be 0. ``results``: theirs, int64
    of shape (n,): any integer, `MISSING` or `UNKNOWN`.

    Raises ValueError if there is no such form, a field is missing, or shapes or types are others.
    """
    kind = form_of(form)
    check_cases(cases, results)
    return examine(requantizer(form, "bias" in cases), cases, kind.results(cases), results)


def examine(
    subject: Subject,
    cases: Cases,
    expected: Integers,
    results: Integers,
    *,
    numbers: NDArray[np.int64] | None = None,
    crashed: bool = False,
) -> UnitVerdict:
    """Return the verdict on the results of a unit.

    ``expected`` and ``results``: the reference's and theirs, int64 of shape (n,), or (n, length); n
    may be 0, and theirs any integer, `MISSING` or `UNKNOWN`. ``numbers``: of the cases, by which
    the failing ones are called; by default their places. ``crashed``: whether results are missing
    because what should have answered has ended with an error.
    """
    named = np.arange(len(expected)) if numbers is None else numbers
    found = outcomes(expected, results)
    if crashed:
        found[found == CaseOutcome.MISSING] = CaseOutcome.CRASHED
    return _Examined(subject, cases, expected, results, found, named).verdict()


@dataclass(frozen=True)
class _Examined:
    """Results of a unit, and their outcomes; see `examine`."""

    subject: Subject
    cases: Cases
    expected: Integers
    results: Integers
    found: Integers
    numbers: NDArray[np.int64]

    def verdict(self) -> UnitVerdict:
        known = self.found <= CaseOutcome.WRONG
        wrong = known & (self.found != CaseOutcome.EXACT)
        explained = Explained[Mistake]((), None, wrong)
        if wrong.any():
            explained = explain(self._evidence(known, wrong))
            clauses = self._described(wrong) if explained.closest else ()
            if [(each.meant, each.others) for each in clauses] == [(wrong.sum(), 0)]:
                # What a simple rule says exactly needs no mistake that is nearly right.
                explained = Explained((), None, wrong)
        return UnitVerdict(
            name=self.subject.name,
            counts={outcome: int((self.found == outcome).sum()) for outcome in CaseOutcome},
            explanations=explained.full,
            closest=explained.closest,
            remainder=self._described(explained.remainder),
            unexplained=int(explained.remainder.sum()),
            differences=self._differences(explained),
            silent=self._described(~known),
            failure=self._smallest(),
            failed=tuple(self._failed()),
            power=power(self.subject, self.cases, self.expected),
        )

    def _described(self, meant: Mask) -> tuple[Clause, ...]:
        return clauses_of(self.subject.features(self.cases, meant), meant) if meant.any() else ()

    def _evidence(self, known: Mask, wrong: Mask) -> Observations[Mistake]:
        among, wide = np.flatnonzero(known), width(self.results)
        count = max(LEAST_PROBED, PROBED // wide)
        probed = [spread(np.flatnonzero(mask), count) for mask in (wrong, known & ~wrong)]

        def gives(mistakes: tuple[Mistake, ...], some: Indices) -> Mask:
            return agree(self.subject.compute(rows(self.cases, some), mistakes), self.results[some])

        return Observations(
            mistakes=self.subject.mistakes,
            gives=gives,
            known=among,
            wrong=wrong,
            probed=np.concatenate(probed),
            compared=spread(among, max(LEAST_PROBED, COMPARED // wide)),
            at_once=max(1, PART // wide),
            pairs=lambda: pairs(self.subject.mistakes),
        )

    def _differences(self, explained: Explained[Mistake]) -> str:
        """Return how far results lie from what is nearest to them, but does not give them."""
        rest, closest = explained.remainder, explained.closest
        if self.subject.value is not None or not rest.any():
            return ""
        base = self.expected[rest]
        if closest:
            base = self.subject.compute(rows(self.cases, rest), closest.mistakes)
        difference = _bounded(self.results[rest]) - base
        where = _places(self.subject, difference != 0) if difference.ndim == 2 else ""
        difference = difference[difference != 0]
        least, most = int(difference.min()), int(difference.max())
        if least == most:
            return f"All of them are off by {least:+d}{where}."
        return f"They are off by {least:+d} to {most:+d}{where}."

    def _smallest(self) -> SmallestFailure | None:
        """Return the failing case of fewest bits, the first; a known result before none."""
        failing = np.flatnonzero(self.found != CaseOutcome.EXACT)
        if not failing.size:
            return None
        sizes = self.subject.sizes(rows(self.cases, failing))
        order = np.lexsort((failing, sizes, self.found[failing] > CaseOutcome.WRONG))
        index = int(failing[order[0]])
        place = int(np.argmax(np.atleast_1d(self.results[index] != self.expected[index])))
        theirs = int(np.atleast_1d(self.results[index])[place])
        return SmallestFailure(
            index=int(self.numbers[index]),
            case=self.subject.shown(self.cases, index, place),
            outcome=CaseOutcome(int(self.found[index])),
            steps=tuple(self.subject.steps(self.cases, index, place)),
            result=None if theirs in (MISSING, UNKNOWN) else self._shown(theirs, place),
        )

    def _failed(self) -> Iterator[FailedCase]:
        """Yield the first cases that are not exact, with the first wrong result of each."""
        for index in np.flatnonzero(self.found != CaseOutcome.EXACT)[:LISTED].tolist():
            outcome = CaseOutcome(int(self.found[index]))
            message = self._message(index) if outcome <= CaseOutcome.WRONG else ""
            yield FailedCase(name=str(self.numbers[index]), outcome=outcome, message=message)

    def _message(self, index: int) -> str:
        got, asked = np.atleast_1d(self.results[index]), np.atleast_1d(self.expected[index])
        wrong = np.flatnonzero(got != asked)
        place = int(wrong[0])
        theirs, right = (self._shown(int(each[place]), place) for each in (got, asked))
        where = self.subject.places(place)
        first = f"{where}: " * bool(where) + f"{theirs} instead of {right}"
        return f"{first}; {len(wrong)} of {len(got)} results are wrong" if len(got) > 1 else first

    def _shown(self, result: int, place: int) -> Any:
        return result if self.subject.value is None else self.subject.value(result, place)


def _places(subject: Subject, wrong: Mask) -> str:
    """Return which of the cases' results are wrong."""
    places = np.flatnonzero(wrong.any(axis=0)).tolist()
    if len(places) == 1:
        return f", at {subject.places(places[0])} alone"
    ends = f"{subject.places(places[0])} to {subject.places(places[-1])}"
    return f", in {int(wrong.sum())} of {wrong.size} results, at {ends}"


def _bounded(results: Integers) -> Integers:
    return np.clip(results, -FAR, FAR)
