"""The tables of presets and of the spec's rows say what their sources say."""

import dataclasses

import pytest

from eightfold.cases.operators import OPERATORS
from eightfold.common.files import IMPORT_ROOT
from eightfold.operators import SPEC_ROWS
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.documents import tables


def test_every_field_has_a_row_and_every_preset_a_column() -> None:
    lines = tables.preset_table().splitlines()
    assert lines[0] == f"|  | {' | '.join(f'`{name}`' for name in PRESETS)} |"
    for field in dataclasses.fields(AcceleratorConfig):
        assert sum(f"(`{field.name}`)" in line for line in lines) == 1, field.name


def test_cells_follow_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "base", AcceleratorConfig(lanes=12, width=10, scratchpad=4096))
    lines = tables.preset_table().splitlines()[2:]
    cells = {line.split(" | ")[0]: line.strip(" |").split(" | ")[3] for line in lines}
    assert cells["| lanes (`lanes`)"] == "12"
    assert cells["| MACs per cycle"] == "120"
    assert cells["| scratchpad (`scratchpad`)"] == "4 KiB"
    assert cells["| bytes of a scratchpad access"] == "16"
    assert cells["| depthwise window, rows x columns"] == "3 x 3"


def test_every_row_of_the_spec_is_there_with_a_link_to_golden_and_a_test_against_litert() -> None:
    lines = tables.operator_table().splitlines()[2:]
    for number, (row, line) in enumerate(zip(SPEC_ROWS, lines, strict=True), start=1):
        place, name, *others = (cell.strip() for cell in line.strip("|").split(" | "))
        assert place == str(number) and name.startswith(tables.golden_link(row.name))
        assert len(others) == 3
        assert row.name in OPERATORS
        path = tables.golden_link(row.name).partition("](")[2].rstrip(")")
        assert (IMPORT_ROOT / "docs" / path).is_file()
    assert tables.golden_link("ADD") == "[ADD](../golden/binary.py)"
