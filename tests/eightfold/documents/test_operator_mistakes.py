"""The table of operators' mistakes in docs/mistakes.md."""

from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.profile import OPERATORS
from eightfold.documents.operator_mistakes import TABLE, operator_table


def rows(table: str) -> dict[str, list[int]]:
    """Return the numbers of each operator."""
    cells = [line.strip("| \n").split("|") for line in table.splitlines()]
    return {
        first.strip(): [int(number) for number in numbers]
        for first, *numbers in cells
        if first.strip() in OPERATORS
    }


def test_the_document_counts_the_mistakes_of_every_operator() -> None:
    text = (IMPORT_ROOT / TABLE.document).read_text(encoding="utf-8")
    begin, end = (f"<!-- operators: {word} -->" for word in ("begin", "end"))
    table = rows(text.partition(begin)[2].partition(end)[0])
    assert list(table) == list(OPERATORS)
    for operator, (count, *parts) in table.items():
        assert count == len(operator_mistakes(operator)) == sum(parts), operator


def test_the_command_makes_such_rows() -> None:
    (numbers,) = rows(operator_table("smoke", ["MAXIMUM"])).values()
    assert numbers[0] == sum(numbers[1:])
