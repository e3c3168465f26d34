"""The fields of the JSON reports, as the tables of their pages: what their schemas declare."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints, is_typeddict

from eightfold.campaign.report import schema as campaign
from eightfold.conformance.report import schema as statement
from eightfold.run.report import schema as run
from lab.documents.part import Part, markdown, table_part

SCHEMAS = {"run": run, "conform": statement, "campaign": campaign}
"""By the name of the page: modules whose last class is the whole report."""

WORDS = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def field_tables(schema: ModuleType) -> str:
    """Return a section for each class of a schema, the whole report first."""
    classes = [each for each in vars(schema).values() if is_typeddict(each)]
    return "\n".join(map(_section, reversed(classes)))


def _section(declared: type) -> str:
    hints = get_type_hints(declared, include_extras=True)
    rows = [(f"`{name}`", *_type_and_meaning(hint)) for name, hint in hints.items()]
    table = markdown(("field", "type", "what it is"), rows)
    return f"### {_title(declared)}\n\n{declared.__doc__}\n\n{table}"


def _type_and_meaning(hint: Any) -> tuple[str, str]:
    assert get_origin(hint) is Annotated
    kind, meaning = get_args(hint)
    return _words(kind), meaning


def _title(declared: type) -> str:
    return declared.__name__.removesuffix("Json")


def _words(kind: Any) -> str:
    """Return a type in words, a class as a link to its section."""
    if kind in WORDS:
        return WORDS[kind]
    if is_typeddict(kind):
        return f"[{_title(kind)}](#{_title(kind).lower()})"
    parts = [_words(each) for each in get_args(kind)]
    if get_origin(kind) is list:
        return f"list of {parts[0]}s" if parts[0].isalpha() else f"list of {parts[0]}"
    return "object" if get_origin(kind) is dict else " or ".join(parts)


def parts() -> Iterator[Part]:
    """Yield the generated part of each page."""
    for name, schema in SCHEMAS.items():
        yield table_part("fields", Path(f"docs/{name}-json.md"), partial(field_tables, schema))
