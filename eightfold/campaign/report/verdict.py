"""What a campaign has shown, in one sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eightfold.campaign.coverage import Report
from eightfold.campaign.folder import Folder
from eightfold.campaign.store import Results
from eightfold.campaign.suite import Section, suites
from eightfold.run.report.page import Verdict


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How many cases ended how, and functional coverage.

    ``counts``: cases by verdict; those of units that have not ended are ``waiting``. ``operators``,
    ``columns``: how many different ones there are; ``uncompared``: operators, or suites without
    any, all of whose cases were refused; ``coverage``: None if none was asked for;
    ``sections``: what suites say of their cases, by the suites' names.
    """

    counts: Mapping[str, int]
    operators: int
    columns: int
    uncompared: Sequence[str]
    coverage: Report | None
    sections: Mapping[str, Section]

    @property
    def total(self) -> int:
        """Cases of the whole plan."""
        return sum(self.counts.values())

    @property
    def run(self) -> int:
        """Cases that have run to an end."""
        return self.total - self.counts["waiting"] - self.counts["lost"]

    @property
    def complete(self) -> bool:
        """Whether every case has run to an end, and something of all was compared."""
        return self.run == self.total > self.counts["refused"] and not self.uncompared

    @property
    def holds(self) -> bool:
        """Whether all that was asked for has been shown: nothing less is a pass."""
        return self.verdict.state == "passed"

    @property
    def verdict(self) -> Verdict:
        """Whether the campaign passed, in one sentence."""
        broken = bool(self.coverage and not self.coverage.holds)
        # What is not covered yet may be covered by what has not run yet.
        wrong = bool(self.coverage and (self.coverage.contradicted or self.coverage.unknown))
        if self.counts["failed"] or self.counts["error"] or wrong or (self.complete and broken):
            state = "failed"
        else:
            state = "passed" if self.complete else "incomplete"
        parts = [self._cases(), *self._coverage()]
        if self.uncompared and self.counts["refused"] < self.total:
            parts.append(f"nothing of {', '.join(self.uncompared)} was compared")
        parts += [each.sentence for each in self.sections.values()]
        return Verdict(state=state, sentence="; ".join(parts) + ".")

    def _cases(self) -> str:
        counts, total = self.counts, self.total
        operators = f" of {_many(self.operators, 'operator')}" if self.operators else ""
        plan = f"{_many(total, 'case')}{operators} in {_many(self.columns, 'column')}"
        if not total:
            return "Nothing was planned"
        if counts["passed"] == total:
            return f"All {plan} passed"
        found = [
            f"{counts[verdict]:,} {words}"
            for verdict, words in (
                ("failed", "failed"),
                ("error", "ended by an error"),
                ("refused", f"{_were(counts['refused'])} refused (nothing to compare)"),
                ("passed", "passed"),
            )
            if counts[verdict]
        ]
        listed = (
            "all of them passed"
            if 0 < self.run == counts["passed"]
            else " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))
        )
        if self.run == total:
            return f"Of {plan}, {listed}"
        # Rounded down: 100% is when the last has run.
        share = f"{self.run:,} of {plan} have run ({int(100 * self.run / total)}%)"
        lost = f"{counts['lost']:,} {_were(counts['lost'])} lost (tried three times without an end)"
        parts = (f"{share}: {listed}" if listed else share, lost if counts["lost"] else "")
        return "; ".join(filter(None, parts))

    def _coverage(self) -> list[str]:
        if self.coverage is None:
            return []
        asked = len(self.coverage.hits) - len(self.coverage.excluded)
        found = []
        if missing := len(self.coverage.missing):
            found.append(f"{missing:,} of {_many(asked, 'bin')} of functional coverage have no hit")
        if wrong := len(self.coverage.contradicted) + len(self.coverage.unknown):
            found.append(f"{_many(wrong, 'exclusion')} from functional coverage are wrong")
        return found or [f"all {_many(asked, 'bin')} of functional coverage are hit"]


class Source(NamedTuple):
    """What a report is made of; ``facts`` are those of `Folder.facts`."""

    folder: Folder
    results: Results
    standing: Standing
    facts: Mapping[str, Any]


def standing(results: Results) -> Standing:
    """Return how a campaign stands."""
    by_place = results.counts()
    counts: Counter[str] = Counter()
    for (_, _, _, verdict), count in by_place.items():
        counts[verdict] += count
    known = [suites()[name] for name in results.suites()]
    of_operators = {suite.name for suite in known if suite.subject == "operator"}
    planned = {suite.name for suite in known if suite.plan} & of_operators
    places = {place[:3] for place in by_place if place[0] in planned}
    compared = {place[:3] for place in by_place if place[3] != "refused"}
    found = {suite.name: suite.section(results) for suite in known if suite.section}
    return Standing(
        counts=counts,
        operators=len({n for suite, n, _, _ in by_place if n and suite in of_operators}),
        columns=len({column for _, _, column, _ in by_place}),
        uncompared=sorted({name or suite for suite, name, _ in places - compared}),
        coverage=coverage(results),
        sections={name: section for name, section in found.items() if section},
    )


def coverage(results: Results) -> Report | None:
    """Return the hits of the bins of the operators that coverage was asked of; None if of none."""
    asked = [planned.unit for planned in results.units() if planned.unit.coverage]
    bins = {b: why for name in {u.suite for u in asked} for b, why in suites()[name].bins().items()}
    if not bins:
        return None
    operators = {unit.operator for unit in asked}
    chosen = {b: why for b, why in bins.items() if b.operator in operators}
    hits = results.hits()
    return Report({b: hits[b] for b in chosen}, {b: why for b, why in chosen.items() if why})


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
