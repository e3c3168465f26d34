"""The pages of the conformance kit's mistakes: the example, and the tables."""

import doctest

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.profile import OPERATORS
from lab.documents.kit import MISTAKES_PAGE, liar_table, naming_table


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
