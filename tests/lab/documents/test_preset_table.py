"""The table of presets says what `eightfold.target.config` says."""

import dataclasses

import pytest

from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.documents import preset_table as table


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
