"""The table of operators has every row, and its links lead somewhere."""

from eightfold.cases.models.operators import OPERATORS
from eightfold.common.files import IMPORT_ROOT
from eightfold.execute import SUPPORTED
from eightfold.spec import ROWS
from lab.documents import operator_table as table

_ROOT = IMPORT_ROOT


def test_table_has_a_row_for_each_operator() -> None:
    lines = table.operator_table().splitlines()[2:]
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert f" {row.name} " in line
        assert line.count(" | ") == 6
        assert line.endswith("not yet |") == (row.name not in SUPPORTED)


def test_linked_golden_modules_exist() -> None:
    assert table.golden_link("ADD") == "[`binary.add`](../golden/binary.py)"
    for name in SUPPORTED:
        path = table.golden_link(name).partition("](")[2].rstrip(")")
        assert (_ROOT / "docs" / path).is_file()


def test_every_row_has_a_test_against_litert() -> None:
    rows = [line for line in table.operator_table().splitlines() if line.startswith("| ")][1:]
    for line in rows:
        name = line.split("|")[2].split()[0]
        assert line.endswith(f"| `-k [{name}-` |")
        assert name in OPERATORS
