"""The fields of the JSON reports, as the tables of their pages: what their schemas declare."""

import ast
import inspect
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

from eightfold.campaign.report import schema as campaign
from eightfold.conformance.report import schema as statement
from eightfold.run.report import schema as run
from lab.documents.part import Part, markdown, table_part

SCHEMAS = {"run": run, "conform": statement, "campaign": campaign}
"""By the name of the page: modules whose last class is the whole report."""

SUFFIX = "Json"
"""What the names of the classes end with, and the headings do not."""

WORDS = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "None": "null"}


def field_tables(schema: ModuleType) -> str:
    """Return a section for each class of a schema, the whole report first."""
    tree = ast.parse(inspect.getsource(schema))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return "\n".join(map(_section, reversed(classes)))


def _section(node: ast.ClassDef) -> str:
    table = markdown(("field", "type", "what it is"), _fields(node))
    title = node.name.removesuffix(SUFFIX)
    return f"### {title}\n\n{ast.get_docstring(node)}\n\n{table}"


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, type in words and meaning: the string behind each field."""
    for field, meaning in zip(node.body[1::2], node.body[2::2], strict=True):
        assert isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        assert isinstance(meaning, ast.Expr) and isinstance(meaning.value, ast.Constant)
        text = " ".join(str(meaning.value.value).split()).replace("``", "`")
        yield f"`{field.target.id}`", _words(field.annotation), text


def _words(annotation: ast.expr) -> str:
    """Return a type in words, a class as a link to its section."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            return f"{_words(left)} or {_words(right)}"
        case ast.Subscript(value=ast.Name(id="list"), slice=element):
            words = _words(element)
            return f"list of {words}s" if words.isalpha() else f"list of {words}"
        case ast.Name(id=name) if name.endswith(SUFFIX):
            title = name.removesuffix(SUFFIX)
            return f"[{title}](#{title.lower()})"
        case ast.Name(id=name):
            return WORDS[name]
        case ast.Constant():
            return "null"
        case _:
            return "object"


def parts() -> Iterator[Part]:
    """Yield the generated part of each page."""
    for name, schema in SCHEMAS.items():
        yield table_part("fields", Path(f"docs/{name}-json.md"), partial(field_tables, schema))
