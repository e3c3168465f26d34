"""Documents hold the tables that commands generate."""

import sys
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import begin, end
from eightfold.documents import mistake_table, operator_table, preset_table, reason_table
from eightfold.documents.generated_table import GeneratedTable

TABLES = {
    module.__name__: module.TABLE
    for module in (mistake_table, operator_table, preset_table, reason_table)
}


@pytest.mark.parametrize("module", TABLES)
def test_the_document_holds_the_table(module: str) -> None:
    table = TABLES[module]
    text = (IMPORT_ROOT / table.document).read_text(encoding="utf-8")
    assert text == table.written_into(text), f"run python -m {module} --write"


def test_write_replaces_only_what_is_between_the_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = GeneratedTable("sizes", Path("docs/sizes.md"), lambda: "new\n")
    document = tmp_path / "sizes.md"
    document.write_text(f"before\n{begin('sizes')}\nold\n{end('sizes')}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["table", "--write", str(document)])
    table.main()
    expected = f"before\n{begin('sizes')}\nnew\n{end('sizes')}\nafter\n"
    assert document.read_text(encoding="utf-8") == expected
    monkeypatch.setattr(sys, "argv", ["table"])
    table.main()
    assert capsys.readouterr().out == "new\n"


def test_a_document_without_markers_is_refused() -> None:
    table = GeneratedTable("sizes", Path("docs/sizes.md"), lambda: "new\n")
    with pytest.raises(ValueError, match="sizes: begin"):
        table.written_into("nothing here")
