"""The page of a campaign: what its template shows, from the facts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from eightfold.campaign.coverage import AT_LEAST, Report
from eightfold.campaign.folder import Folder, asked_commands, commits, repeat_command, seeds
from eightfold.campaign.report import facts
from eightfold.campaign.report.verdict import Source
from eightfold.campaign.store import Results, Row
from eightfold.campaign.suite import suites
from eightfold.run.report.page import SERIES, render

SLOWEST = 12
"""Units that the page lists."""

MANY_LINES = 24
"""Operators from which on the grid has two halves side by side, where there is room."""

SIGNS = {"passed": "✓", "failed": "✗", "error": "!", "lost": "?", "waiting": "…", "refused": "–"}
"""The sign of each verdict, for who sees no colour."""

STATES = {
    "passed": "passed",
    "failed": "failed",
    "error": "failed",
    "lost": "incomplete",
    "waiting": "incomplete",
    "refused": "",
}
"""Whose colour a verdict has: see `eightfold.run.report.page.Verdict`."""


class Shown(NamedTuple):
    """A case that the page shows in full."""

    id: str
    row: Row
    name: str
    command: str
    failure: facts.Failure


class Line(NamedTuple):
    """An operator of a suite, with a cell for each column of the campaign, or None."""

    operator: str
    cells: Sequence[facts.Cell | None]

    @property
    def seconds(self) -> float:
        """What its units took."""
        return sum(cell.seconds for cell in self.cells if cell)


class Covered(NamedTuple):
    """Functional coverage of an operator.

    ``holes`` and ``points`` have names of bins by point; those of ``points`` with how many models
    hit them.
    """

    operator: str
    asked: int
    hit: int
    fewest: int
    holes: Mapping[str, Sequence[str]]
    points: Mapping[str, Sequence[tuple[str, str]]]


def campaign_page(source: Source) -> str:
    """Return the page.

    Raises `InputError` if jinja2 or matplotlib is not installed.
    """
    folder, results, standing, campaign = source
    grid = facts.cells(results)
    facts.add_bad(grid, results)
    bad = facts.kinds(results, "failed", "error")
    shown = _shown(folder, results, bad)
    others = {verdict: facts.kinds(results, verdict) for verdict in ("lost", "refused")}
    coverage = standing.coverage
    return render(
        "campaign.html.j2",
        title=f"Campaign {folder.path.resolve().name}",
        verdict=standing.verdict,
        facts=_facts(folder, campaign),
        signs=SIGNS,
        states=STATES,
        verdicts=facts.WORST_FIRST,
        most_kinds=facts.KINDS_LISTED,
        many_lines=MANY_LINES,
        folder=str(folder.path),
        duration=duration,
        moment=moment,
        listed=facts.listed,
        bin_name=bin_name,
        standing=standing,
        bad=bad,
        shown=shown,
        links={_place(each.row): each.id for each in shown},
        place=_place,
        others=others,
        suites=_suites(grid),
        subjects={suite: suites()[suite].subject for suite, _, _ in grid},
        coverage=coverage,
        covered=_covered(coverage) if coverage else {},
        timing=_timing(results),
    )


def duration(seconds: float | None) -> str:
    """Return seconds as a text of two units at most, ``1 h 12 min``."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" + f" {rest} s" * (minutes < 10)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"


def moment(seconds: float | None) -> str:
    """Return a moment in seconds since 1970 as a text."""
    return "–" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def bin_name(name: str) -> str:
    """Return a bin's name; that of a cross, ``('RELU', 'below')``, without its signs."""
    return name.strip("()").replace("'", "") if name.startswith("('") else name


def _place(row: Row) -> tuple[int, str, int]:
    return row.unit, row.operator, row.seed


def _shown(folder: Folder, results: Results, found: Sequence[facts.Kind]) -> list[Shown]:
    shown = []
    for row in facts.shown_in_full(found):
        unit = results.unit(row.unit)
        name = unit.case_name(row.seed)
        command = repeat_command(folder.path, name, unit)
        failure = facts.read_failure(folder.failures / name, row.message)
        shown.append(Shown(facts.case_id(unit, row), row, name, command, failure))
    return shown


def _suites(grid: Mapping[facts.Place, facts.Cell]) -> dict[str, tuple[list[str], list[Line]]]:
    """Return for each suite its columns and its operators."""
    found = {}
    for suite in dict.fromkeys(suite for suite, _, _ in grid):
        places = [place for place in grid if place[0] == suite]
        columns = sorted({column for _, _, column in places})
        operators = sorted({operator for _, operator, _ in places})
        lines = [Line(o, [grid.get((suite, o, column)) for column in columns]) for o in operators]
        found[suite] = columns, lines
    return found


def _covered(report: Report) -> dict[str, Covered]:
    """Return coverage by operator, those with most holes first."""
    missing = set(report.missing)
    found = []
    for operator, bins in report.by_operator.items():
        counted = [report.hits[b] for b in bins if b not in report.excluded]
        holes: dict[str, list[str]] = {}
        points: dict[str, list[tuple[str, str]]] = {}
        for b in bins:
            if b in missing:
                holes.setdefault(b.point, []).append(b.name)
            hits = "excluded" if b in report.excluded else f"{report.hits[b]:,}"
            points.setdefault(b.point, []).append((b.name, hits))
        found.append(
            Covered(
                operator=operator,
                asked=len(counted),
                hit=sum(count >= AT_LEAST for count in counted),
                fewest=min(counted, default=0),
                holes=holes,
                points=points,
            )
        )
    found.sort(key=lambda each: each.hit - each.asked)
    return {each.operator: each for each in found}


def _timing(results: Results) -> dict[str, Any]:
    spent = results.spent()
    ran = facts.intervals(results)
    columns = facts.by_column(spent)
    seconds = facts.worked(ran)
    return {
        "worked": seconds,
        "rate": sum(each.unit.count for each in spent) / seconds if seconds else None,
        "rate_chart": facts.rate_chart(columns, ran) if seconds else "",
        "seconds_chart": facts.seconds_chart(columns) if spent else "",
        "colours": [
            (f"var(--series-{number % len(SERIES) + 1})", column)
            for number, column in enumerate(columns)
        ],
        "slowest": sorted(spent, key=lambda each: -each.seconds)[:SLOWEST],
        "sessions": results.sessions(),
        "resumed": len(ran) > 1,
    }


def _facts(folder: Folder, campaign: Mapping[str, Any]) -> list[tuple[str, str]]:
    asked = campaign["asked"]
    return [
        ("Asked by", "\n".join(asked_commands(asked, folder.path))),
        ("Begun", campaign["created"]),
        ("Commit", commits(campaign)),
        ("First seed", ", ".join(map(str, seeds(asked))) or "–"),
        *((name.capitalize(), str(value)) for name, value in campaign["machine"].items()),
        *campaign["versions"].items(),
    ]
