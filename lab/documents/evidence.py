"""What campaigns have shown, as the tables of ``docs/evidence.md`` and its figures.

``python -m lab.documents.evidence DIR...`` adds the campaigns of folders to
``docs/evidence.json``, each in place of an earlier one of the same command, and writes the tables
of the pages; without folders it writes the tables again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.program import one_line_errors
from lab.documents.part import Part, markdown, number, table_part
from lab.documents.record import Entry, campaign_entries, read_record, record_text

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
            *(_sum(entry.counts, names) for names in (RIGHT, NOTHING, WRONG, ("waiting",))),
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
    columns: dict[str, dict[str, Counter[str]]] = {}
    for entry in shown:
        _add(columns.setdefault(entry.column, {}), entry.cases)
    rows = []
    for name in sorted({name for entry in shown for name in entry.cases}):
        counted = [_compared(cases.get(name, Counter())) for cases in columns.values()]
        # Of one campaign: bins that two of them have hit cannot be told from bins of one.
        hit, asked = max(
            (entry.bins[name] for entry in shown if name in entry.bins), default=(0, 0)
        )
        rows.append((name, *counted, f"{number(hit)} of {number(asked)}" if asked else "–"))
    return markdown(("operator", *columns, "bins"), rows, text=1)


def hardware_table(entries: Sequence[Entry]) -> str:
    """Return for each file of the hardware its proofs, and its mutants."""
    mutants, proofs = _by_name(entries, "mutants"), _by_name(entries, "proofs")
    rows = [
        (f"`{name}`", _proved(proofs.get(name, {})), *_mutants(mutants.get(name, {})))
        for name in sorted({*mutants, *proofs})
    ]
    rows.append(("all", _proved(_total(proofs)), *_mutants(_total(mutants))))
    titles = ("file", "proved", "valid", "caught", "accepted", "survived", "equivalent", "invalid")
    return markdown(titles, rows, text=1)


def _by_name(entries: Sequence[Entry], suite: str) -> dict[str, Counter[str]]:
    """Return what became of the cases of a suite, by what they are about."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        if entry.suite == suite:
            _add(counts, entry.cases)
    return counts


def _total(counts: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter())


def _proved(ended: Mapping[str, int]) -> str:
    """Return how many proofs there are; of those that were tried, if some have failed."""
    proved, tried = _count(ended, ("passed",)), sum(ended.values())
    return f"{number(proved)} of {number(tried)}" if proved < tried else number(tried)


def _add(total: dict[str, Counter[str]], cases: Mapping[str, Mapping[str, int]]) -> None:
    for name, ended in cases.items():
        total.setdefault(name, Counter()).update(ended)


def _mutants(ended: Mapping[str, int]) -> tuple[str, ...]:
    hows = ("caught", "accepted", "survived", "equivalent", "invalid")
    valid = sum(ended.get(how, 0) for how in hows[:3])
    return number(valid), *(number(ended.get(how, 0)) for how in hows)


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


def _sum(ended: Mapping[str, int], names: Iterable[str]) -> str:
    return number(_count(ended, names))


def _count(ended: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(ended.get(name, 0) for name in names)


def write(folders: Iterable[Path], root: Path = IMPORT_ROOT) -> None:
    """Add campaigns to the record below a root, and write the pages.

    Raises
    ------
    InputError
        If a folder has no campaign of its own, or the record is not one.
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
