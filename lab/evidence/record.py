"""All entries in one file, which is kept with the documents."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eightfold.campaign.suites import SUITES
from eightfold.common.errors import InputError
from lab.evidence.entry import Entry

SCHEMA_VERSION = 1


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
    """Return the content of a record: of entries of one key the last one, in the suites' order.

    What an entry's cases are about has a line each, so that a change can be read.
    """
    latest = {entry.key: entry for entry in entries}
    order = {name: number for number, name in enumerate(SUITES)}
    chosen = sorted(latest.values(), key=lambda each: (order.get(each.suite, 99), *each.key))
    listed = ",\n".join(_entry_text(each.as_dict()) for each in chosen)
    return f'{{"schema_version": {SCHEMA_VERSION}, "entries": [\n{listed}\n]}}\n'


def _entry_text(facts: Mapping[str, Any]) -> str:
    fields = (f" {json.dumps(name)}: {_value_text(value)}" for name, value in facts.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def _value_text(value: Any) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    items = (f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
    return "{\n" + ",\n".join(items) + "\n }"
