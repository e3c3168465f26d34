"""Evidence: cases of campaigns are counted and kept, and the tables say what the record says."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Case, Unit
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.documents import evidence
from lab.documents.evidence import Entry, campaign_entries, read_record, record_text
from tests.support.campaign.folders import ended_campaign


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
    pages = sorted({part.document for part in evidence.parts()})
    for page in pages:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text((IMPORT_ROOT / page).read_text("utf-8"), encoding="utf-8")
    (tmp_path / evidence.RECORD).write_text(record_text(FOUND), encoding="utf-8")
    evidence.write([], tmp_path)
    first = [(tmp_path / page).read_text(encoding="utf-8") for page in pages]
    assert any("1, 2 wrong" in text for text in first)
    evidence.write([], tmp_path)
    assert [(tmp_path / page).read_text(encoding="utf-8") for page in pages] == first
    assert read_record(tmp_path / evidence.RECORD) == FOUND
    with pytest.raises(InputError, match="no campaign"):
        evidence.write([tmp_path], tmp_path)


ASKED = {"suites": ["operators"], "models": 3, "seed": 7}


def unit(suite: str, operator: str, first: int, **fields: object) -> Unit:
    facts = {"suite": suite, "operator": operator, "first": first, "count": 3, "backend": "golden"}
    return Unit(**{**facts, **fields})  # pyright: ignore[reportArgumentType]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a campaign in which an operator has run, another waits, and a mutant was caught."""
    mutant = unit("mutants", "hw/blocks/skid.py", 5, count=1, backend="tests")
    cases = (
        Case(seed=0, verdict="passed", operator="ADD"),
        Case(seed=1, verdict="refused", operator="ADD", message="too large: 7"),
        Case(seed=2, verdict="failed", operator="ADD", message="differs"),
    )
    caught = Case(
        seed=5, verdict="passed", operator=mutant.operator, message="slice in line 3: caught: t"
    )
    ended = [
        (unit("operators", "ADD", 0), cases),
        (unit("operators", "ADD", 0, reference="tflm"), cases),
        (mutant, [caught]),
    ]
    waiting = [unit("operators", "SUB", 0)]
    return ended_campaign(tmp_path / "campaign", ASKED, ended, waiting).path


def test_cases_are_counted_by_suite_and_column(folder: Path) -> None:
    found = {(entry.suite, entry.column): entry for entry in campaign_entries(folder)}
    columns = [("operators", "golden"), ("operators", "golden tflm"), ("mutants", "tests")]
    assert list(found) == columns
    golden = found["operators", "golden"]
    assert golden.cases == {"ADD": {"failed": 1, "passed": 1, "refused": 1}, "SUB": {"waiting": 3}}
    assert golden.kinds == {"too large": 1}
    assert golden.seconds == 1.0
    assert golden.command == "eightfold campaign run --suite operators --models 3 --seed 7"
    assert found["mutants", "tests"].cases == {"hw/blocks/skid.py": {"caught": 1}}


def test_a_record_gives_back_what_was_written_and_keeps_the_last_of_a_command(
    folder: Path, tmp_path: Path
) -> None:
    found = campaign_entries(folder)
    later = Entry.from_dict({**asdict(found[0]), "date": "2999-01-01", "bins": {"ADD": [1, 2]}})
    file = tmp_path / "record.json"
    other = Entry.from_dict({**asdict(found[0]), "command": "eightfold campaign run --seed 9"})
    file.write_text(record_text([*found, other, later]), encoding="utf-8")
    assert read_record(file) == [later, *found[1:], other]
    assert json.loads(file.read_text(encoding="utf-8"))["schema_version"] == 1


def test_merged_campaigns_and_other_files_are_refused(folder: Path, tmp_path: Path) -> None:
    facts = Folder(folder).facts()
    Folder(folder).facts_file.write_text(
        json.dumps({**facts, "asked": {"merged": [ASKED, ASKED]}}), encoding="utf-8"
    )
    with pytest.raises(InputError, match="several campaigns in one"):
        campaign_entries(folder)
    for text in ("", "[]", '{"schema_version": 2, "entries": []}'):
        (tmp_path / "other.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="no record of evidence"):
            read_record(tmp_path / "other.json")
    assert read_record(tmp_path / "none.json") == []
