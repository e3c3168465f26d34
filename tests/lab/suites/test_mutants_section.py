"""What reports say of mutants: figures by kind and by file, and the verdict."""

import json
from pathlib import Path

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Result, Unit
from eightfold.campaign.report import holds, summary, write_report
from eightfold.campaign.report.as_json import MutantsJson
from lab.mutants.judge import How, Judgement
from lab.suites.mutants import case_of
from tests.support.documented import check_fields

FOUND: list[tuple[str, str, How]] = [
    ("hw/a.py", "mux", "caught"),
    ("hw/a.py", "mux", "caught"),
    ("hw/a.py", "reset", "equivalent"),
    ("hw/b.py", "reset", "accepted"),
    ("hw/b.py", "slice", "invalid"),
    ("hw/b.py", "mux", "survived"),
]


def campaign(path: Path, found: list[tuple[str, str, How]]) -> Folder:
    units = [
        Unit(suite="mutants", operator=file, first=seed, count=1, backend="tests")
        for seed, (file, _, _) in enumerate(found)
    ]
    folder = Folder(path)
    folder.create({"suites": ["mutants"], "seed": 0}, lambda kept: kept.plan(units))
    with folder.store(writable=True) as kept:
        kept.begin_session(1)
        for number, unit in kept.waiting():
            _, kind, how = found[unit.first]
            case = case_of(unit.first, unit.operator, Judgement(kind, 7, how, "why", "-x\n+y"))
            if case.verdict == "failed":
                folder.keep_failure(unit, case)
            kept.keep(number, Result(cases=(case,), seconds=1.0), "here", "done")
    return folder


def test_a_survivor_fails_the_campaign(tmp_path):
    folder = campaign(tmp_path / "a", FOUND)
    assert not holds(folder)
    assert summary(folder) == (
        "failed: Of 6 cases in 1 column, 1 failed, 3 were refused (nothing to compare) and 2 "
        "passed; of 6 mutants 4 are valid, and tests caught 2 of those (50.0%)."
    )


def test_an_accepted_one_does_not(tmp_path):
    folder = campaign(tmp_path / "a", FOUND[:-1])
    assert holds(folder)
    assert summary(folder).endswith(
        "of 5 mutants 3 are valid, and tests caught 2 of those (66.6%)."
    )


def test_reports_count_by_kind_and_by_file(tmp_path):
    folder = campaign(tmp_path / "a", FOUND)
    html, path = tmp_path / "page.html", tmp_path / "report.json"
    write_report(folder, html=html, junit=None, json=path)
    report = json.loads(path.read_text("utf-8"))["mutants"]
    check_fields(report, MutantsJson)
    kinds = {
        each["kind"]: (each["drawn"], each["valid"], each["share"]) for each in report["kinds"]
    }
    assert kinds == {"mux": (3, 3, 2 / 3), "reset": (2, 1, 0.0), "slice": (1, 0, None)}
    files = {each["file"]: each["survived"] for each in report["files"]}
    assert list(files.items()) == [("hw/b.py", 1), ("hw/a.py", 0)]
    text = html.read_text("utf-8")
    assert "<td>mux</td>" in text
    assert "<td>hw/b.py</td>" in text
    assert "50.0%" in text
    assert "+y" in text  # the survivor's diff


@pytest.mark.parametrize("how", ["caught", "survived", "accepted", "equivalent", "invalid"])
def test_a_message_says_the_judgement(how: How):
    found = Judgement("mux", 7, how, "of: a\nreason")
    assert Judgement.from_message(found.message) == found


@pytest.mark.parametrize("text", ["", "mux in line 7: lost: x", "ValueError: in line 7: caught: x"])
def test_other_messages_are_no_judgements(text):
    assert Judgement.from_message(text) is None
