"""docs/architecture.md says of the presets what `eightfold.config` says."""

import dataclasses
import sys
from pathlib import Path

import pytest

from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.documents import preset_table as table
from eightfold.files import IMPORT_ROOT
from eightfold.markers import begin, end


def test_document_holds_the_table_of_the_presets() -> None:
    text = (IMPORT_ROOT / table.DOCUMENT).read_text(encoding="utf-8")
    assert text == table.document_with_table(text), (
        "run python -m eightfold.documents.preset_table --write"
    )


def test_every_field_has_a_row_and_every_preset_a_column() -> None:
    lines = table.preset_table().splitlines()
    assert lines[0] == f"|  | {' | '.join(f'`{name}`' for name in PRESETS)} |"
    for field in dataclasses.fields(AcceleratorConfig):
        assert sum(f"(`{field.name}`)" in line for line in lines) == 1, field.name


def test_cells_follow_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "base", AcceleratorConfig(lanes=12, width=10, scratchpad=4096))
    lines = table.preset_table().splitlines()[2:]
    cells = {line.split(" | ")[0]: line.strip(" |").split(" | ")[3] for line in lines}
    assert cells["| lanes (`lanes`)"] == "12"
    assert cells["| MACs per cycle"] == "120"
    assert cells["| scratchpad (`scratchpad`)"] == "4 KiB"
    assert cells["| bytes of a scratchpad access"] == "16"
    assert cells["| depthwise window, rows x columns"] == "3 x 3"


def test_write_replaces_only_what_is_between_the_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "architecture.md"
    document.write_text(
        f"before\n{begin(table.PART)}\nold\n{end(table.PART)}\nafter\n", encoding="utf-8"
    )
    monkeypatch.setattr(sys, "argv", ["table", "--write", str(document)])
    table.main()
    expected = f"before\n{begin(table.PART)}\n{table.preset_table()}{end(table.PART)}\nafter\n"
    assert document.read_text(encoding="utf-8") == expected
    monkeypatch.setattr(sys, "argv", ["table"])
    table.main()
    assert capsys.readouterr().out == table.preset_table()
