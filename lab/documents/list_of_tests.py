"""The list of all tests: what each file of `tests/` shows, in the words of its docstring."""

import ast
from itertools import groupby
from pathlib import Path

from eightfold.common.files import IMPORT_ROOT
from lab.documents.part import markdown, table_part


def list_of_tests(root: Path = IMPORT_ROOT) -> str:
    """Return a section for each folder below ``tests/``, with a row for each file of tests."""
    files = sorted((root / "tests").rglob("test_*.py"), key=lambda path: path.parts[:-1])
    sections = []
    for folder, paths in groupby(files, key=lambda path: path.parent):
        rows = [(f"`{path.name}`", first_paragraph(path)) for path in sorted(paths)]
        title = folder.relative_to(root).as_posix()
        sections.append(f"## {title}\n\n{markdown(('file', 'what its tests show'), rows)}")
    return "\n".join(sections)


def first_paragraph(path: Path) -> str:
    """Return the first paragraph of a module's docstring in one line, as a cell of a table.

    Raises
    ------
    ValueError
        If the module has none.
    """
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{path} has no docstring; it is the test plan's word on its tests")
    words = " ".join(docstring.partition("\n\n")[0].split())
    return words.replace("``", "`").replace("|", "\\|")


TABLE = table_part("tests", Path("docs/figures/tests.md"), list_of_tests)
