"""What reports say of mutated models: how many ended how, and findings that were shrunk."""

import json
import re
from pathlib import Path

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Result, Unit
from eightfold.campaign.report import summary, write_report
from eightfold.campaign.report.as_json import HostileJson
from eightfold.common.files import IMPORT_ROOT
from lab.hostile.mutant import random_mutant
from lab.hostile.trial import Verdict
from lab.suites import hostile as suite
from lab.suites.shrink import Budget
from tests.support.browser import Browser
from tests.support.documented import check_fields

ENDS = [
    Verdict("refused", "load", "operator 0 ADD: 1 operands; it takes 2"),
    Verdict("refused", "load", "operator 0 SUB: 1 operands; it takes 2"),
    Verdict("equal", "stream+golden", ""),
    Verdict("tolerated", "golden", "Did not get tensors in subgraph 0"),
    Verdict("different", "stream", "tensor 2: 1 of 4 differ, 3, not 2 (golden)"),
]
SEVERAL = next(seed for seed in range(1000) if len(random_mutant(seed).mutations) == 3)


def campaign(path: Path, ends: list[Verdict], monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(suite, "_judged", lambda mutant: ends[-1])
    unit = Unit(suite="hostile", operator="", first=SEVERAL, count=len(ends), backend="golden")
    folder = Folder(path)
    folder.create({"suites": ["hostile"], "seed": SEVERAL}, lambda kept: kept.plan([unit]))
    cases = [
        suite.case_of(random_mutant(seed), end, Budget())
        for seed, end in zip(unit.seeds, ends, strict=True)
    ]
    with folder.store(writable=True) as kept:
        kept.begin_session(1)
        for case in cases:
            if case.verdict == "failed":
                folder.keep_failure(unit, case)
        kept.keep(1, Result(cases=tuple(cases), seconds=1.0), "here", "done")
    return folder


def test_the_sentence_counts_what_they_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert summary(campaign(tmp_path / "a", ENDS, monkeypatch)) == (
        "failed: Of 5 cases in 1 column, 1 failed, 1 was refused (nothing to compare) and 3 "
        "passed; of 5 mutated models 2 refused, 1 equal, 1 tolerated, 1 wrong."
    )
    assert summary(campaign(tmp_path / "b", ENDS[:3], monkeypatch)) == (
        "passed: All 3 cases in 1 column passed; of 3 mutated models 2 refused, 1 equal."
    )


@pytest.mark.slow
def test_reports_count_by_kind_and_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = campaign(tmp_path / "a", ENDS, monkeypatch)
    html, path = tmp_path / "page.html", tmp_path / "report.json"
    write_report(folder, html=html, junit=None, json=path)
    report = json.loads(path.read_text("utf-8"))["hostile"]
    check_fields(report, HostileJson)
    assert [(end["kind"], end["step"], end["files"]) for end in report["ends"]] == [
        ("different", "stream", 1),
        ("refused", "load", 2),
        ("equal", "stream+golden", 1),
        ("tolerated", "golden", 1),
    ]


@pytest.mark.slow
def test_a_finding_that_was_shrunk_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = campaign(tmp_path / "a", ENDS, monkeypatch)
    html = tmp_path / "page.html"
    write_report(folder, html=html, junit=None, json=None)
    browser = Browser.find(tmp_path / "browser")
    text = browser.dom(html) if browser else html.read_text("utf-8")
    if browser:
        assert browser.console(html) == []
    assert f"shrunk to 0 of {len(random_mutant(SEVERAL + 4).mutations)} mutations" in text
    assert "whole.tflite" in text
    assert f"eightfold campaign repeat {folder.path} hostile-{SEVERAL + 4}-golden" in text
    assert "stream and golden" in text


def test_every_kind_has_a_meaning() -> None:
    source = (IMPORT_ROOT / "lab" / "hostile" / "trial.py").read_text("utf-8")
    kinds = source.partition("    kind: str\n")[2].partition("    step: str")[0]
    assert set(re.findall(r"``(\w+)``", kinds)) - {"check"} == set(suite.MEANINGS)
