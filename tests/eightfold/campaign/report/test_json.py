"""The report as JSON: documented field by field, and every case in it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.report import write_report
from eightfold.campaign.report.as_json import CampaignJson
from tests.support.campaign.folders import Plan, make_campaign, mixed
from tests.support.documented import check_fields


def as_json(folder: Folder) -> dict[str, Any]:
    """Return the report of a campaign."""
    path = folder.path / "report.json"
    write_report(folder, html=None, junit=None, json=path)
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("ends", [1.0, 0.5])
def test_every_field_is_documented(tmp_path: Path, ends: float) -> None:
    folder = (
        mixed(tmp_path / "a")
        if ends == 1.0
        else make_campaign(tmp_path / "a", Plan(operators=("ADD",), ends=ends, coverage=0.5))
    )
    report = as_json(folder)
    check_fields(report, CampaignJson)
    assert report["sessions"] and report["units"] and report["cases"]
    assert report["coverage"]["bins"]


def test_every_case_is_there(tmp_path: Path) -> None:
    folder = mixed(tmp_path / "a")
    report = as_json(folder)
    with folder.store() as results:
        rows = list(results.rows())
    kept = [
        (r.suite, r.operator, r.seed, r.backend, r.config, r.verdict, r.message, r.unit)
        for r in rows
    ]
    fields = ("suite", "operator", "seed", "backend", "config", "verdict", "message", "unit")
    assert [tuple(case[name] for name in fields) for case in report["cases"]] == kept
    counts = Counter(case["verdict"] for case in report["cases"])
    assert {**dict.fromkeys(report["verdicts"], 0), **counts} == report["verdicts"]
    assert len(rows) == 900
    assert (report["state"], report["holds"]) == ("failed", False)


def test_a_failure_says_how_to_repeat_it(tmp_path: Path) -> None:
    folder = mixed(tmp_path / "a")
    cases = {case["name"]: case for case in as_json(folder)["cases"]}
    name = "operators-CONV_2D-3-verilator-base"
    assert cases[name]["repeat"] == (folder.failures / name / "repeat.txt").read_text().strip()
    assert cases["operators-CONV_2D-4-verilator-base"]["repeat"] is None


def test_what_waits_is_a_unit_and_no_case(tmp_path: Path) -> None:
    report = as_json(make_campaign(tmp_path / "a", Plan(operators=("ADD",), ends=0.5)))
    waiting = [unit for unit in report["units"] if unit["state"] == "waiting"]
    assert sum(unit["count"] for unit in waiting) == report["verdicts"]["waiting"] == 150
    assert not {unit["unit"] for unit in waiting} & {case["unit"] for case in report["cases"]}
    assert report["coverage"] is None
