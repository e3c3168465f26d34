"""Entries of a campaign's folder."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

from eightfold.campaign.folder import Folder, commits
from eightfold.campaign.report.asked import asked_commands
from eightfold.campaign.report.verdict import bins_by_operator, coverage
from eightfold.campaign.results import Results, Row
from eightfold.common.errors import InputError
from lab.evidence.entry import Entry
from lab.mutants.judgement import Judgement

Place = tuple[str, str]


def entries(path: Path) -> list[Entry]:
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
            cases={name: dict(sorted(counts.items())) for name, counts in sorted(found.items())},
            kinds=dict(sorted(kinds[suite, column].items())),
            bins=bins if (suite, column) in covered else {},
            seconds=round(spent[suite, column], 1),
        )
        for (suite, column), found in cases.items()
        if (suite, column) in last
    ]


def _column(column: str, reference: str) -> str:
    return column if reference == "litert" else f"{column} {reference}"


def _spent(results: Results) -> tuple[dict[Place, float], dict[Place, float]]:
    """Return the seconds of all units, and when the last one ended."""
    seconds: dict[Place, float] = defaultdict(float)
    last: dict[Place, float] = {}
    for each in results.spent():
        place = (each.unit.suite, _column(each.unit.column, each.unit.reference))
        seconds[place] += each.seconds
        last[place] = max(each.ended, last.get(place, 0.0))
    return seconds, last


def _counted(
    results: Results,
) -> tuple[dict[Place, dict[str, Counter[str]]], dict[Place, Counter[str]]]:
    """Return cases by what they are about and how they ended, and kinds of what is fine."""
    cases: dict[Place, dict[str, Counter[str]]] = {}
    kinds: dict[Place, Counter[str]] = defaultdict(Counter)
    places = {}
    for planned in results.units():
        unit = planned.unit
        place = places[planned.number] = (unit.suite, _column(unit.column, unit.reference))
        found = cases.setdefault(place, {})
        if planned.state == "waiting":
            found.setdefault(unit.operator, Counter())["waiting"] += unit.count
    for row in results.rows():
        place = places[row.unit]
        cases[place].setdefault(row.operator, Counter())[_how(row)] += 1
        if kind := _kind(row):
            kinds[place][kind] += 1
    return cases, kinds


def _how(row: Row) -> str:
    judged = Judgement.from_message(row.message) if row.suite == "mutants" else None
    return judged.how if judged else row.verdict


def _kind(row: Row) -> str:
    """Return the first words of what is said of a case that is fine."""
    if row.suite == "mutants" or row.verdict not in ("passed", "refused"):
        return ""
    return row.message.partition(":")[0]


def _bins(results: Results) -> dict[str, tuple[int, int]]:
    """Return bins that were hit, and that can be, by operator."""
    report = coverage(results)
    if report is None:
        return {}
    missing = set(report.missing)
    found = {}
    for operator, bins in bins_by_operator(report).items():
        asked = [b for b in bins if b not in report.excluded]
        found[operator] = (sum(b not in missing for b in asked), len(asked))
    return found
