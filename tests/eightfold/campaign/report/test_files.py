"""JSON and JUnit XML: documented field by field, every case in them, nothing shown as a pass."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.report import write_report
from eightfold.campaign.report.as_json import CampaignJson
from eightfold.campaign.store import Row
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
    cases = [
        case | {"column": f"{case['backend']} {case['config']}".rstrip()}
        for case in report["cases"]
    ]
    assert [Row(*(case[name] for name in Row._fields)) for case in cases] == rows
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


COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit(folder: Folder) -> ElementTree.Element:
    """Return the report of a campaign."""
    path = folder.path / "junit.xml"
    write_report(folder, html=None, junit=path, json=None)
    return ElementTree.parse(path).getroot()


def check_counts(element: ElementTree.Element) -> None:
    """Check that an element's attributes say what is in it."""
    cases = list(element.iter("testcase"))
    assert int(element.attrib["tests"]) == len(cases)
    for attribute, tag in COUNTED.items():
        found = sum(case.find(tag) is not None for case in cases)
        assert int(element.attrib[attribute]) == found, attribute
    assert float(element.attrib["time"]) >= 0


def test_every_case_has_an_entry(tmp_path: Path) -> None:
    folder = mixed(tmp_path / "a")
    root = junit(folder)
    check_counts(root)
    for suite in root.iter("testsuite"):
        check_counts(suite)
        assert suite.attrib["timestamp"] == "2026-09-21T14:13:20"
    names = [suite.attrib["name"] for suite in root.iter("testsuite")]
    assert names[:3] == ["operators golden", "operators icarus nano", "operators verilator base"]
    with folder.store() as results:
        expected = Counter(
            (r.operator, r.column.replace(" ", "-"), r.verdict) for r in results.rows()
        )
    tags = {"failure": "failed", "skipped": "refused", None: "passed"}
    found = Counter()
    for case in root.iter("testcase"):
        if case.attrib["classname"] != "campaign":
            suite, column, operator = case.attrib["classname"].split(".")
            assert suite == "operators"
            held = next(iter(case), None)
            tag = None if held is None else held.tag
            verdict = held.attrib["type"] if held is not None and tag == "error" else tags[tag]
            found[operator, column, verdict] += 1
    assert found == expected


def test_entries_are_told_apart_and_say_how_to_repeat_them(tmp_path: Path) -> None:
    folder = mixed(tmp_path / "a")
    root = junit(folder)
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    (failure,) = [
        case.find("failure")
        for case in root.iter("testcase")
        if case.attrib["name"] == "operators-ADD-17-golden"
    ]
    assert failure is not None
    assert "1 of 2 differ" in failure.attrib["message"]
    repeat = f"eightfold campaign repeat {folder.path} operators-ADD-17-golden"
    assert repeat in (failure.text or "")


def test_what_xml_forbids_is_replaced(tmp_path: Path) -> None:
    (error,) = [
        case.find("error")
        for case in junit(mixed(tmp_path / "a")).iter("testcase")
        if case.attrib["name"] == "operators-ADD-9-verilator-base"
    ]
    assert error is not None
    assert error.attrib["message"] == "<script>alert('&')</script>\ufffd[31m\ufffd ]]>"


def test_what_has_not_run_and_coverage_are_entries_of_the_campaign(tmp_path: Path) -> None:
    plan = Plan(operators=("ADD",), columns=(("verilator", "base"),), ends=0.5, coverage=0.5)
    root = junit(make_campaign(tmp_path / "a", plan))
    check_counts(root)
    campaign = root.findall("testsuite")[-1]
    check_counts(campaign)
    held = {case.attrib["name"]: next(iter(case)).tag for case in campaign.iter("testcase")}
    assert held == {"complete": "error", "coverage": "failure"}
    assert int(root.attrib["tests"]) == 50 + 1 + 2


def test_a_unit_that_has_not_run_is_an_error_by_its_name(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "a", Plan(operators=("ADD", "SUB"), ends=0.25))
    root = junit(folder)
    for suite in [root, *root.iter("testsuite")]:
        check_counts(suite)
    with folder.store() as results:
        waiting = {each.unit.name for each in results.units() if each.state == "waiting"}
    found = {
        case.attrib["name"]: error
        for case in root.iter("testcase")
        if (error := case.find("error[@type='waiting']")) is not None
    }
    assert found.keys() == waiting and len(waiting) == 9
    assert {error.attrib["message"] for error in found.values()} == {"50 cases have not run"}
    assert f"eightfold campaign resume {folder.path}" in (next(iter(found.values())).text or "")


def test_a_pass_has_the_entries_of_its_cases_alone(tmp_path: Path) -> None:
    root = junit(make_campaign(tmp_path / "a", Plan(operators=("ADD",))))
    assert [root.attrib[name] for name in ("tests", *COUNTED)] == ["300", "0", "0", "0"]
    assert "campaign" not in [suite.attrib["name"] for suite in root.iter("testsuite")]
