"""The report on an implementation: a page, JUnit XML, JSON, and sentences on a terminal.

`claims` says of each row of the spec what was found of it, and makes sentences and JSON of an
`eightfold.conformance.verdict.Statement`; `page` and `junit` write it.

Imports report and spec, and of conformance what a statement consists of.
"""

import json as as_text
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from eightfold.common.files import Content, write_files
from eightfold.conformance.report.claims import print_statement, statement_as_json, statement_lines
from eightfold.conformance.report.junit import write_junit
from eightfold.conformance.report.page import conformance_page
from eightfold.conformance.verdict import Statement
from eightfold.run.report.page import require_page

__all__ = ["print_statement", "require_reports", "statement_lines", "write_reports"]


def require_reports(html: Path | None) -> None:
    """Raise InputError if a page is asked for, and what it needs is not installed."""
    if html is not None:
        require_page()


def write_reports(
    statement: Statement,
    cases: Mapping[str, Sequence[str]] | None = None,
    *,
    html: Path | None = None,
    junit: Path | None = None,
    json: Path | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report in the forms whose files are named: all of them, or none.

    ``cases``: names of all cases of a claim, those that are exact too, where cases have names:
    entries of JUnit XML. ``facts``: what else the page and JSON say of how the statement was made:
    pairs of a name and a value.

    Raises InputError if a file cannot be written, or what a page needs is not installed.
    """
    contents: dict[Path, Content] = {}
    if html is not None:
        contents[html] = conformance_page(statement, facts)
    if junit is not None:
        contents[junit] = partial(write_junit, statement=statement, cases=cases or {})
    if json is not None:
        contents[json] = as_text.dumps(statement_as_json(statement, facts), indent=1) + "\n"
    write_files(contents)
