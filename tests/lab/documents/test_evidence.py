"""The page of evidence: what the record says, and nothing else."""

from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.documents import evidence
from lab.evidence.entry import Entry
from lab.evidence.record import read_record, record_text


def entry(suite: str, column: str, cases: dict[str, dict[str, int]], **more: object) -> Entry:
    facts = {"command": f"run {suite}", "date": "2026-01-02", "commit": "abc"}
    return Entry(suite=suite, column=column, cases=cases, **{**facts, **more})  # pyright: ignore[reportArgumentType]


FOUND = [
    entry("operators", "golden", {"ADD": {"passed": 2000}, "SUB": {"passed": 1, "failed": 2}}),
    entry("operators", "verilator small", {"ADD": {"passed": 5}}, bins={"ADD": (3, 4)}),
    entry("mutants", "tests", {"hw/a.py": {"caught": 9, "survived": 1, "equivalent": 2}}),
    entry("proofs", "", {"hw/a.py": {"passed": 3}, "hw/b.py": {"passed": 1, "failed": 1}}),
]


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_page_is_what_the_record_says() -> None:
    text = (IMPORT_ROOT / evidence.PAGE).read_text(encoding="utf-8")
    found = read_record(IMPORT_ROOT / evidence.RECORD)
    assert text == evidence.page_text(text, found), "run python -m lab.documents.evidence"


def test_cases_are_summed() -> None:
    assert rows(evidence.campaigns_table(FOUND))[2:] == [
        ["`operators`", "golden", "2,003", "2,001", "0", "2", "0", "2026-01-02"],
        ["`operators`", "verilator small", "5", "5", "0", "0", "0", "2026-01-02"],
        ["`mutants`", "tests", "12", "9", "2", "1", "0", "2026-01-02"],
        ["`proofs`", "", "5", "4", "0", "1", "0", "2026-01-02"],
    ]
    more = entry("operators", "golden", {"ADD": {"passed": 5}}, command="another seed")
    assert rows(evidence.operators_table([*FOUND, more]))[2][:2] == ["ADD", "2,005"]
    assert rows(evidence.operators_table(FOUND)) == [
        ["operator", "golden", "verilator small", "bins"],
        ["---", "--:", "--:", "--:"],
        ["ADD", "2,000", "5", "3 of 4"],
        ["SUB", "1, 2 wrong", "–", "–"],
    ]
    assert rows(evidence.hardware_table(FOUND))[2:] == [
        ["`hw/a.py`", "3", "10", "9", "0", "1", "2", "0"],
        ["`hw/b.py`", "1 of 2", "0", "0", "0", "0", "0", "0"],
        ["all", "4 of 5", "10", "9", "0", "1", "2", "0"],
    ]


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = (IMPORT_ROOT / evidence.PAGE).read_text(encoding="utf-8")
    (tmp_path / evidence.PAGE).write_text(page, encoding="utf-8")
    (tmp_path / evidence.RECORD).write_text(record_text(FOUND), encoding="utf-8")
    evidence.write([], tmp_path)
    first = (tmp_path / evidence.PAGE).read_text(encoding="utf-8")
    assert "1, 2 wrong" in first
    evidence.write([], tmp_path)
    assert (tmp_path / evidence.PAGE).read_text(encoding="utf-8") == first
    assert read_record(tmp_path / evidence.RECORD) == FOUND


def test_a_folder_without_a_campaign_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eightfold.common.errors import InputError

    with pytest.raises(InputError, match="no campaign"):
        evidence.write([tmp_path], tmp_path)
