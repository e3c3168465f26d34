"""The tables of presets and of the spec's rows say what their sources say."""

import dataclasses

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.operators import SPEC_ROWS
from eightfold.operators.spec import RULES, rules_of
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.coverage import POINTS
from lab.documents import tables


def test_every_field_has_a_row_and_every_preset_a_column() -> None:
    lines = tables.preset_table().splitlines()
    assert lines[0] == f"|  | {' | '.join(f'`{name}`' for name in PRESETS)} |"
    for field in dataclasses.fields(AcceleratorConfig):
        assert sum(f"(`{field.name}`)" in line for line in lines) == 1, field.name


def test_cells_follow_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "base", AcceleratorConfig(lanes=12, width=10, scratchpad=4096))
    lines = tables.preset_table().splitlines()[2:]
    cells = {line.split(" | ")[0]: line.strip(" |").split(" | ")[4] for line in lines}
    assert cells["| lanes (`lanes`)"] == "12"
    assert cells["| MACs per cycle"] == "120"
    assert cells["| scratchpad (`scratchpad`)"] == "4 KiB"
    assert cells["| bytes of a scratchpad access"] == "16"
    assert cells["| depthwise window, rows x columns"] == "3 x 3"


def test_every_rule_of_the_spec_is_there_with_what_is_known_of_it() -> None:
    text = tables.rule_list()
    for rule in RULES.values():
        paragraph = text.partition(f"### {rule.identity}\n")[2].partition("\n##")[0]
        assert rule.text in paragraph
        assert all(f"`{words}`" in paragraph for words in rule.checks)


def test_every_point_of_coverage_is_about_a_rule() -> None:
    for operator in (row.name for row in SPEC_ROWS):
        found = [name for rule in rules_of(operator) for name in tables.points_of(rule)]
        assert {point.name for point in POINTS[operator]} <= {*found}, operator


def test_an_operator_leads_to_golden() -> None:
    assert (IMPORT_ROOT / "docs" / "../golden/binary.py").is_file()
    assert tables.golden_link("ADD") == "[ADD](../golden/binary.py)"
