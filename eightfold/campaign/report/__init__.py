"""The report of a campaign: a page, JUnit XML and JSON, of a campaign that ended, stopped or runs.

`verdict` says in a sentence what has been shown; `facts` gathers what the `page` shows, which stays
small however many cases there are; `junit` and `as_json` write every case, unit by unit.

Imports model, run.report, and the folder and database of `eightfold.campaign`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from eightfold.campaign.folder import Folder
from eightfold.campaign.report.as_json import write_json
from eightfold.campaign.report.junit import write_junit
from eightfold.campaign.report.page import campaign_page
from eightfold.campaign.report.verdict import Source, standing
from eightfold.common.files import Content, write_files


def write_report(
    folder: Folder, *, html: Path | None, junit: Path | None, json: Path | None
) -> None:
    """Write a report in the forms whose files are named: all of them, or none.

    Raises `InputError` if there is no campaign, a file cannot be written, or what a page needs is
    not installed.
    """
    with _read(folder) as source:
        contents: dict[Path, Content] = {}
        if html is not None:
            contents[html] = campaign_page(source)
        if junit is not None:
            contents[junit] = partial(write_junit, source=source)
        if json is not None:
            contents[json] = partial(write_json, source=source)
        write_files(contents)


def summary(folder: Folder) -> str:
    """Return the verdict in one line, as ``failed: ...``."""
    with _read(folder) as source:
        verdict = source.standing.verdict
        return f"{verdict.state}: {verdict.sentence}"


def holds(folder: Folder) -> bool:
    """Return whether the campaign has passed.

    That is: every case has run, none failed, ended by an error or was lost, some were compared, and
    functional coverage holds its floor where it was asked for.
    """
    with _read(folder) as source:
        return source.standing.holds


@contextmanager
def _read(folder: Folder) -> Iterator[Source]:
    """Open a campaign as it is now."""
    facts = folder.facts()
    with folder.store() as results, results.snapshot():
        yield Source(folder, results, standing(results), facts)
