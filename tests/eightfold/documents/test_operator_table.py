"""docs/operators.md is what the rows say."""

import sys
from pathlib import Path

import pytest

from eightfold.documents import operator_table as table
from eightfold.execute import SUPPORTED
from eightfold.files import IMPORT_ROOT
from eightfold.markers import begin, end
from eightfold.spec import ROWS
from tests.support.models.operators import OPERATORS

_ROOT = IMPORT_ROOT


def test_document_holds_the_table_of_the_rows() -> None:
    text = (_ROOT / table.DOCUMENT).read_text(encoding="utf-8")
    assert text == table.document_with_table(text), (
        "run python -m eightfold.documents.operator_table --write"
    )


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


def test_write_replaces_only_what_is_between_the_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "operators.md"
    document.write_text(
        f"before\n{begin(table.PART)}\nold\n{end(table.PART)}\nafter\n", encoding="utf-8"
    )
    monkeypatch.setattr(sys, "argv", ["table", "--write", str(document)])
    table.main()
    expected = f"before\n{begin(table.PART)}\n{table.operator_table()}{end(table.PART)}\nafter\n"
    assert document.read_text(encoding="utf-8") == expected
    monkeypatch.setattr(sys, "argv", ["table"])
    table.main()
    assert capsys.readouterr().out == table.operator_table()


def test_a_document_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="operator table: begin"):
        table.document_with_table("nothing here")


def test_every_row_has_a_test_against_litert() -> None:
    rows = [line for line in table.operator_table().splitlines() if line.startswith("| ")][1:]
    for line in rows:
        name = line.split("|")[2].split()[0]
        assert line.endswith(f"| `-k [{name}-` |")
        assert name in OPERATORS
