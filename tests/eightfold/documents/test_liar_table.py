"""The table of liars in docs/mistakes.md."""

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.documents.liar_table import TABLE, liar_table


def rows(table: str) -> dict[str, list[str]]:
    """Return the cells of each row, by its mistake."""
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {first.strip("`"): others for first, *others in cells}


def test_the_document_has_each_mistake_and_no_false_alarm() -> None:
    text = (IMPORT_ROOT / TABLE.document).read_text(encoding="utf-8")
    table = rows(text.partition("<!-- liars: begin -->")[2].partition("<!-- liars: end -->")[0])
    assert list(table) == ["none", *MISTAKES]
    assert table["none"] == ["conforms"] * 4
    assert not any("deviates" in cell for cells in table.values() for cell in cells)


@pytest.mark.long
def test_the_document_is_what_verilator_says() -> None:
    text = (IMPORT_ROOT / TABLE.document).read_text(encoding="utf-8")
    stated = rows(text.partition("<!-- liars: begin -->")[2].partition("<!-- liars: end -->")[0])
    assert rows(liar_table(simulators=("verilator",))) == stated
