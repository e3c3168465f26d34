"""What campaigns have shown, counted from their folders and kept in one file."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eightfold.campaign.folder import Folder, commits
from eightfold.campaign.report.asked import asked_commands
from eightfold.campaign.report.verdict import coverage
from eightfold.campaign.store import Results
from eightfold.campaign.suite import suites
from eightfold.common.errors import InputError

SCHEMA_VERSION = 1

SuiteColumn = tuple[str, str]
"""A suite, and the column that it ran in."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The cases of one suite in one column of a campaign.

    Attributes
    ----------
    suite
        The suite's name.
    column
        What computed: the backend, its configuration, and the reference unless it is LiteRT.
    command
        What asks for the campaign again.
    date
        When its last unit ended, ``YYYY-MM-DD``.
    commit
        Of the checkout that began it, and of those at which failed cases ran again.
    cases
        How many ended how, by what they are about (an operator, a file of the hardware, a proof;
        empty where a suite has none of these). How: a verdict, or ``waiting``; of a mutant what
        `lab.mutants.judge.How` says.
    kinds
        Of cases that have passed or were refused, what their messages begin with, up to a colon.
    bins
        Of functional coverage by operator: bins that were hit, and bins that can be.
    seconds
        That the units took together, by processors' clocks on the wall.
    """

    suite: str
    column: str
    command: str
    date: str
    commit: str
    cases: Mapping[str, Mapping[str, int]]
    kinds: Mapping[str, int] = field(default_factory=dict)
    bins: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """What the entry is of: a later one of the same replaces it, others are counted beside."""
        return self.suite, self.column, self.command

    @property
    def counts(self) -> Counter[str]:
        """How many cases ended how."""
        total: Counter[str] = Counter()
        for counts in self.cases.values():
            total.update(counts)
        return total

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Entry":
        """Return the entry of a `as_dict`."""
        bins = {name: (hit, asked) for name, (hit, asked) in facts["bins"].items()}
        return cls(**{**facts, "bins": bins})


def campaign_entries(path: Path) -> list[Entry]:
    """Return what a campaign has shown, an entry for each suite in each column.

    Raises
    ------
    InputError
        If the folder has no campaign, or one that others were merged into: its cases have several
        commands.
    """
    folder = Folder(path)
    facts = folder.facts()
    if "merged" in facts["asked"]:
        raise InputError(f"{path}: is several campaigns in one; name their own folders")
    (command,) = asked_commands(facts["asked"], None)
    with folder.store() as results, results.snapshot():
        spent, last = _spent(results)
        cases, kinds = _counted(results)
        bins = _bins(results)
        covered = {
            (each.unit.suite, _column(each.unit.column, each.unit.reference))
            for each in results.units()
            if each.unit.coverage
        }
    return [
        Entry(
            suite=suite,
            column=column,
            command=command,
            date=f"{datetime.fromtimestamp(last[suite, column], UTC):%Y-%m-%d}",
            commit=commits(facts),
            cases={name: dict(sorted(counts.items())) for name, counts in sorted(by_name.items())},
            kinds=dict(sorted(kinds[suite, column].items())),
            bins=bins if (suite, column) in covered else {},
            seconds=round(spent[suite, column], 1),
        )
        for (suite, column), by_name in cases.items()
        if (suite, column) in last
    ]


def _column(column: str, reference: str) -> str:
    return column if reference == "litert" else f"{column} {reference}"


def _spent(results: Results) -> tuple[dict[SuiteColumn, float], dict[SuiteColumn, float]]:
    """Return the seconds of all units, and when the last one ended."""
    seconds: dict[SuiteColumn, float] = defaultdict(float)
    last: dict[SuiteColumn, float] = {}
    for each in results.spent():
        key = (each.unit.suite, _column(each.unit.column, each.unit.reference))
        seconds[key] += each.seconds
        last[key] = max(each.ended, last.get(key, 0.0))
    return seconds, last


def _counted(
    results: Results,
) -> tuple[dict[SuiteColumn, dict[str, Counter[str]]], dict[SuiteColumn, Counter[str]]]:
    """Return cases by what they are about and how they ended, and kinds of what is fine."""
    cases: dict[SuiteColumn, dict[str, Counter[str]]] = {}
    kinds: dict[SuiteColumn, Counter[str]] = defaultdict(Counter)
    keys = {}
    for planned in results.units():
        unit = planned.unit
        key = keys[planned.number] = (unit.suite, _column(unit.column, unit.reference))
        by_name = cases.setdefault(key, {})
        if planned.state == "waiting":
            by_name.setdefault(unit.operator, Counter())["waiting"] += unit.count
    for row in results.rows():
        key = keys[row.unit]
        cases[key].setdefault(row.operator, Counter())[suites()[row.suite].how(row)] += 1
        if kind := suites()[row.suite].kind(row):
            kinds[key][kind] += 1
    return cases, kinds


def _bins(results: Results) -> dict[str, tuple[int, int]]:
    """Return bins that were hit, and that can be, by operator."""
    report = coverage(results)
    if report is None:
        return {}
    missing = set(report.missing)
    counts = {}
    for operator, bins in report.by_operator.items():
        asked = [b for b in bins if b not in report.excluded]
        counts[operator] = (sum(b not in missing for b in asked), len(asked))
    return counts


def read_record(path: Path) -> list[Entry]:
    """Return the entries of a file, none if it is not there.

    Raises
    ------
    InputError
        If it is no such file, or of another version.
    """
    if not path.exists():
        return []
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema_version"] != SCHEMA_VERSION:
            raise ValueError
        return [Entry.from_dict(each) for each in document["entries"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: is no record of evidence of this version") from None


def record_text(entries: Iterable[Entry]) -> str:
    """Return the content of a record: of entries of one key the last one, in the first one's place.

    What an entry's cases are about has a line each, so that a change can be read.
    """
    latest = {entry.key: entry for entry in entries}
    listed = ",\n".join(_entry_text(each.as_dict()) for each in latest.values())
    return f'{{"schema_version": {SCHEMA_VERSION}, "entries": [\n{listed}\n]}}\n'


def _entry_text(facts: Mapping[str, Any]) -> str:
    fields = (f" {json.dumps(name)}: {_value_text(value)}" for name, value in facts.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def _value_text(value: Any) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    items = (f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
    return "{\n" + ",\n".join(items) + "\n }"
