"""What campaigns have shown, as the tables of ``docs/evidence.md`` and its figures.

``python -m lab.documents.evidence DIR...`` adds the campaigns of folders to
``docs/evidence.json``, each in place of an earlier one of the same command, and writes the tables
of the pages; without folders it writes the tables again.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from eightfold.campaign.folder import Folder, asked_commands, commits
from eightfold.campaign.report.verdict import coverage
from eightfold.campaign.store import Results
from eightfold.campaign.suite import suites
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import markdown
from eightfold.common.program import one_line_errors
from lab.documents.part import Part, number, table_part

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The cases of one suite in one column of a campaign.

    - ``column``: what computed: the backend, its configuration, and the reference unless it is
      LiteRT.
    - ``command``: what asks for the campaign again.
    - ``date``: when its last unit ended, ``YYYY-MM-DD``.
    - ``commit``: of the checkout that began it, and of those at which failed cases ran again.
    - ``cases``: how many ended how, by what they are about (an operator, a file of the hardware, a
      proof; empty where a suite has none of these). How: a verdict, or ``waiting``; of a mutant
      what `lab.mutants.judge.How` says.
    - ``kinds``: of cases that have passed or were refused, what their messages begin with, up to a
      colon.
    - ``bins``: of functional coverage by operator: bins that were hit, and bins that can be.
    - ``seconds``: that the units took together, by processors' clocks on the wall.
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
        return sum(map(Counter, self.cases.values()), Counter())

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Entry":
        """Return the entry of what `asdict` has made of it, or of that from JSON."""
        bins = {name: (hit, asked) for name, (hit, asked) in facts["bins"].items()}
        return cls(**{**facts, "bins": bins})


def campaign_entries(path: Path) -> list[Entry]:
    """Return what a campaign has shown, an entry for each suite in each column."""
    folder = Folder(path)
    facts = folder.facts()
    if "merged" in facts["asked"]:
        raise InputError(f"{path}: is several campaigns in one; name their own folders")
    (command,) = asked_commands(facts["asked"], None)
    with folder.store() as results, results.snapshot():
        counted, bins = _counted(results), _bins(results)
    return [
        Entry(
            suite=suite,
            column=column,
            command=command,
            date=f"{datetime.fromtimestamp(each.ended, UTC):%Y-%m-%d}",
            commit=commits(facts),
            cases={name: dict(sorted(ended.items())) for name, ended in sorted(each.cases.items())},
            kinds=dict(sorted(each.kinds.items())),
            bins=bins if each.covered else {},
            seconds=round(each.seconds, 1),
        )
        for (suite, column), each in counted.items()
        if each.ended
    ]


@dataclass
class _Counted:
    """What an `Entry` is made of; ``ended``: when its last unit did, 0 if none has."""

    cases: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    ended: float = 0.0
    covered: bool = False


def _counted(results: Results) -> dict[tuple[str, str], _Counted]:
    """Return what became of units and cases by suite and column."""
    found: dict[tuple[str, str], _Counted] = defaultdict(_Counted)
    of = {}
    for planned in results.units():
        unit = planned.unit
        column = unit.column if unit.reference == "litert" else f"{unit.column} {unit.reference}"
        of[planned.number] = counted = found[unit.suite, column]
        counted.seconds += planned.seconds or 0.0
        counted.ended = max(counted.ended, planned.ended or 0.0)
        counted.covered |= unit.coverage
        if planned.state == "waiting":
            counted.cases[unit.operator]["waiting"] += unit.count
    for row in results.rows():
        suite, counted = suites()[row.suite], of[row.unit]
        counted.cases[row.operator][suite.how(row)] += 1
        if kind := suite.kind(row):
            counted.kinds[kind] += 1
    return found


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
    """Return the entries of a file, none if it is not there."""
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
    listed = ",\n".join(_entry_text(asdict(each)) for each in latest.values())
    return f'{{"schema_version": {SCHEMA_VERSION}, "entries": [\n{listed}\n]}}\n'


def _entry_text(facts: Mapping[str, Any]) -> str:
    fields = (f" {json.dumps(name)}: {_value_text(value)}" for name, value in facts.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def _value_text(value: Any) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    items = (f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
    return "{\n" + ",\n".join(items) + "\n }"


RECORD = Path("docs/evidence.json")

RIGHT = ("passed", "caught")
NOTHING = ("refused", "accepted", "equivalent", "invalid")
WRONG = ("failed", "error", "lost", "survived")
"""How cases end, and mutants: as they should, with nothing to compare, otherwise."""


def campaigns_table(entries: Sequence[Entry]) -> str:
    """Return a row for each suite in each column."""
    rows = [
        (
            f"`{entry.suite}`",
            entry.column,
            number(entry.counts.total()),
            *(number(_count(entry.counts, n)) for n in (RIGHT, NOTHING, WRONG, ("waiting",))),
            entry.date,
        )
        for entry in entries
    ]
    titles = ("suite", "on", "cases", "right", "nothing to compare", "wrong", "not run", "date")
    return markdown(titles, rows, text=2)


def commands_table(entries: Sequence[Entry]) -> str:
    """Return what asks for each campaign again, and the commit that ran it."""
    campaigns: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        campaigns.setdefault((entry.command, entry.commit), []).append(entry.suite)
    rows = [
        (", ".join(f"`{suite}`" for suite in dict.fromkeys(suites)), f"`{command}`", f"`{commit}`")
        for (command, commit), suites in campaigns.items()
    ]
    return markdown(("suites", "command", "commit"), rows, text=3)


def operators_table(entries: Sequence[Entry]) -> str:
    """Return for each operator how many models were compared in each column, and its bins."""
    shown = [entry for entry in entries if entry.suite == "operators"]
    columns = {
        column: _by_name(entry for entry in shown if entry.column == column)
        for column in dict.fromkeys(entry.column for entry in shown)
    }
    rows = []
    for name in sorted(_by_name(shown)):
        counted = [_compared(cases[name]) for cases in columns.values()]
        # Of one campaign: bins that two of them have hit cannot be told from bins of one.
        hit, asked = max(
            (entry.bins[name] for entry in shown if name in entry.bins), default=(0, 0)
        )
        rows.append((name, *counted, f"{number(hit)} of {number(asked)}" if asked else "–"))
    return markdown(("operator", *columns, "bins"), rows, text=1)


def hardware_table(entries: Sequence[Entry]) -> str:
    """Return for each file of the hardware its proofs, and its mutants."""
    mutants, proofs = (
        _by_name(entry for entry in entries if entry.suite == suite)
        for suite in ("mutants", "proofs")
    )
    rows = [
        (f"`{name}`", _proved(proofs[name]), *_mutants(mutants[name]))
        for name in sorted({*mutants, *proofs})
    ]
    tried, judged = (sum(counts.values(), Counter()) for counts in (proofs, mutants))
    rows.append(("all", _proved(tried), *_mutants(judged)))
    titles = ("file", "proved", "valid", "caught", "accepted", "survived", "equivalent", "invalid")
    return markdown(titles, rows, text=1)


def _by_name(entries: Iterable[Entry]) -> defaultdict[str, Counter[str]]:
    """Return what became of the cases of some entries, by what they are about."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        for name, ended in entry.cases.items():
            counts[name].update(ended)
    return counts


def _proved(ended: Counter[str]) -> str:
    """Return how many proofs there are; of those that were tried, if some have failed."""
    proved, tried = ended["passed"], ended.total()
    return f"{number(proved)} of {number(tried)}" if proved < tried else number(tried)


def _mutants(ended: Counter[str]) -> tuple[str, ...]:
    hows = ("caught", "accepted", "survived", "equivalent", "invalid")
    return number(_count(ended, hows[:3])), *(number(ended[how]) for how in hows)


def kinds_table(entries: Sequence[Entry]) -> str:
    """Return how cases of suites that tell more than that a case is right have ended."""
    rows = [
        (f"`{entry.suite}`", entry.column, kind, number(count))
        for entry in entries
        if entry.suite not in ("operators", "networks")
        for kind, count in sorted(entry.kinds.items(), key=lambda item: -item[1])
    ]
    return markdown(("suite", "on", "ended", "cases"), rows, text=3)


def parts(root: Path = IMPORT_ROOT) -> Iterator[Part]:
    """Yield the parts of the documents that follow from the record below a root."""
    counts = Path("docs/figures/evidence.md")
    for marker, page, table in (
        ("evidence campaigns", Path("docs/evidence.md"), campaigns_table),
        ("evidence operators", counts, operators_table),
        ("evidence hardware", counts, hardware_table),
        ("evidence kinds", counts, kinds_table),
        ("evidence commands", counts, commands_table),
    ):
        yield table_part(marker, page, lambda table=table: table(read_record(root / RECORD)))


def _compared(ended: Counter[str]) -> str:
    right, wrong = _count(ended, RIGHT), _count(ended, WRONG)
    if not ended.total():
        return "–"
    return f"{number(right)}, {number(wrong)} wrong" if wrong else number(right)


def _count(ended: Counter[str], names: Iterable[str]) -> int:
    return sum(ended[name] for name in names)


def write(folders: Iterable[Path], root: Path = IMPORT_ROOT) -> None:
    """Add campaigns to the record below a root, and write the pages.

    Raises InputError if a folder has no campaign of its own, or the record is not one.
    """
    kept = read_record(root / RECORD)
    new = [entry for folder in folders for entry in campaign_entries(folder)]
    write_file(root / RECORD, record_text([*kept, *new]))
    for part in parts(root):
        page = root / part.document
        write_file(page, part.rewrite(page.read_text(encoding="utf-8")))


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="DIR...")
def main(folders: tuple[Path, ...]) -> None:
    """Run from the command line."""
    write(folders)


if __name__ == "__main__":
    one_line_errors(main)
