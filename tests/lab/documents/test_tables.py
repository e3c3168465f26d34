"""Documents hold what `make documents` generates, and the tables say what their sources say."""

import dataclasses
import doctest
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import begin, end
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.profile import OPERATORS
from eightfold.operators import SPEC_ROWS
from eightfold.operators.spec import RULES, rules_of
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.coverage import POINTS
from lab.documents import __main__ as documents
from lab.documents import tables
from lab.documents.kit import MISTAKES_PAGE, liar_table, naming_table
from lab.documents.part import table_part


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


QUICK = [name for name, part in documents.PARTS.items() if not part.slow]


@pytest.mark.parametrize("name", QUICK)
def test_the_document_holds_the_part(name: str) -> None:
    assert documents.stale(documents.PARTS[name]) is None, "run make documents"


def test_only_what_is_between_the_markers_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = replace(table_part("sizes", Path("sizes.md"), lambda: "new\n"), name="sizes")
    monkeypatch.setattr(documents, "PARTS", {"sizes": part})
    monkeypatch.setattr(documents, "IMPORT_ROOT", tmp_path)
    page = tmp_path / "sizes.md"
    page.write_text(f"before\n{begin('sizes')}\nold\n{end('sizes')}\nafter\n", encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    checked = CliRunner().invoke(documents.main, ["--check"])
    assert (checked.exit_code, checked.output) == (1, "sizes.md: sizes\n")
    assert page.read_text(encoding="utf-8") == before
    assert CliRunner().invoke(documents.main).exit_code == 0
    expected = f"before\n{begin('sizes')}\nnew\n{end('sizes')}\nafter\n"
    assert page.read_text(encoding="utf-8") == expected
    assert CliRunner().invoke(documents.main, ["--check"]).exit_code == 0


def test_a_document_without_markers_is_refused() -> None:
    part = table_part("sizes", Path("docs/sizes.md"), lambda: "new\n")
    with pytest.raises(ValueError, match="sizes: begin"):
        part.rewrite("nothing here")


def rows(table: str) -> dict[str, list[str]]:
    """Return the cells of each row, by its first."""
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {first.strip("`"): others for first, *others in cells}


def stated(name: str) -> dict[str, list[str]]:
    """Return the rows of a table of the page."""
    begin, end = (f"<!-- {name}: {word} -->" for word in ("begin", "end"))
    text = (IMPORT_ROOT / MISTAKES_PAGE).read_text(encoding="utf-8")
    return rows(text.partition(begin)[2].partition(end)[0])


def test_examples_give_what_the_page_says() -> None:
    page = str(IMPORT_ROOT / "docs" / "mistakes.md")
    failed, attempted = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert attempted > 0 and failed == 0


def test_the_document_has_each_mistake_and_no_false_alarm() -> None:
    table = stated("liars")
    assert list(table) == ["none", *MISTAKES]
    assert table["none"] == ["conforms"] * 4
    assert not any("deviates" in cell for cells in table.values() for cell in cells)


@pytest.mark.long
def test_the_document_is_what_verilator_says() -> None:
    assert rows(liar_table(simulators=("verilator",))) == stated("liars")


def test_the_document_counts_the_mistakes_of_every_operator() -> None:
    table = stated("operators")
    assert list(table) == list(OPERATORS)
    for operator, cells in table.items():
        count, *parts = map(int, cells)
        assert count == len(operator_mistakes(operator)) == sum(parts), operator


def test_the_command_makes_such_rows() -> None:
    (cells,) = rows(naming_table("smoke", ["MAXIMUM"])).values()
    count, *parts = map(int, cells)
    assert count == sum(parts)
