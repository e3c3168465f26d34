"""The generated parts of the documents, written anew: ``make documents``.

What has a source in the tree is here. Measured cycles are not: `figures` needs networks,
``python -m lab.measure`` and ``eightfold synth`` hours.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.program import one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.isa.document import isa_document
from lab.documents import evidence, figures, kit, others, tables, throughput
from lab.documents.part import Part


def _parts() -> Iterator[Part]:
    yield Part("isa", Path("docs/isa.md"), lambda text: isa_document())
    yield from (*tables.TABLES, *kit.TABLES, *throughput.parts(), *evidence.parts(), *others.PARTS)
    yield figures.EFFICIENCY


PARTS = {part.name: part for part in _parts()}
"""By name: a document's, and where it has several parts that of the part."""


def stale(part: Part) -> str | None:
    """Return the text that a part's document should have; None if it has it.

    Raises ValueError if its markers are missing.
    """
    text = (IMPORT_ROOT / part.document).read_text(encoding="utf-8")
    new = part.rewrite(text)
    return None if new == text else new


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.argument("names", nargs=-1, type=click.Choice(list(PARTS)), metavar="[PART]...")
@click.option("--slow", is_flag=True, help="Also those that take from minutes to half an hour.")
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 if a part is not as new.")
def main(names: tuple[str, ...], slow: bool, check: bool) -> None:
    """Write the parts that are named, or all; say which documents were not as they should be."""
    chosen = [PARTS[name] for name in names] or [p for p in PARTS.values() if slow or not p.slow]
    changed = False
    for part in chosen:
        with terminal_progress(part.name):
            text = stale(part)
        if text is not None:
            changed = True
            click.echo(f"{part.document}: {part.name}")
            if not check:
                write_file(IMPORT_ROOT / part.document, text)
    sys.exit(1 if changed and check else 0)


if __name__ == "__main__":
    one_line_errors(main)
