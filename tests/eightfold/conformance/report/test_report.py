"""The report on an implementation: rows, sentences, JUnit XML, JSON, and its document."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.report import statement_lines, write_reports
from eightfold.conformance.report.as_json import SCHEMA_VERSION, statement_as_json
from eightfold.conformance.report.rows import claim_rows
from eightfold.conformance.verdict import Finding, Outcome, Statement
from eightfold.files import IMPORT_ROOT
from tests.support.conformance.statements import CASES, statement

DOCUMENT = IMPORT_ROOT / "docs/conform-json.md"


def test_every_claim_of_the_spec_has_a_row() -> None:
    rows = claim_rows(statement())
    operators = [row for row in rows if row.layer == "operator"]
    assert [row.claim for row in operators] == list(OPERATORS)
    assert [row.number for row in operators] == list(range(1, 39))
    standings = {row.claim: row.standing for row in rows}
    assert [claim for claim, how in standings.items() if how == "conforms"] == [
        "dot",
        "CONV_2D",
        "networks",
    ]
    assert [claim for claim, how in standings.items() if how == "deviates"] == [
        "requantizer",
        "ADD",
    ]
    assert standings["tables"] == standings["MUL"] == standings["SOFTMAX"].replace(
        "claimed", "judged"
    ) == "not judged"  # fmt: skip
    assert standings["fake_quantize"] == standings["QUANTIZE"] == "not claimed"


def test_tpu_mlir_has_units_alone() -> None:
    finding = Finding(claim="requantizer", counts={Outcome.EXACT: 1})
    of_tpu = Statement(
        subject="a", profile=PROFILES["tpu-mlir"], level="full", seed=0, findings=(finding,)
    )
    assert [row.claim for row in claim_rows(of_tpu)] == ["requantizer", "fake_quantize"]
    assert list(statement_lines(of_tpu))[-2:] == [
        "Claimed, but not judged: fake_quantize.",
        "Eightfold conformance 1.0, TPU-MLIR int8, requantizer, unit level, full",
    ]


def test_sentences_end_with_the_statement() -> None:
    lines = list(statement_lines(statement()))
    assert lines[0].startswith("requantizer: deviates, 116 off by one of 2642 cases; 2 more")
    assert "  0: off by one, 127 instead of 126" in lines
    assert "1 of 61 mistakes cannot be seen in these cases: left_missing." in lines
    assert lines[-2] == "Claimed, but not judged: tables, 10 operators."
    assert lines[-1] == (
        "Eightfold conformance 1.0, TFLite int8 (litert), 1 of 38 rows, dot, network level, smoke; "
        "deviates: requantizer, ADD, MUL"
    )


def junit(tmp_path: Path, of: Statement, cases: dict | None = None) -> ElementTree.Element:
    """Return the root of the XML."""
    write_reports(of, cases, junit=tmp_path / "a.xml")
    return ElementTree.parse(tmp_path / "a.xml").getroot()


def test_junit_has_a_suite_per_claim_and_an_entry_per_model(tmp_path: Path) -> None:
    root = junit(tmp_path, statement(), CASES)
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["requantizer", "dot", "ADD", "CONV_2D", "MUL", "networks"]
    counted = {
        name: tuple(int(suite.get(key, "")) for key in ("tests", "failures", "errors"))
        for name, suite in suites.items()
    }
    assert counted == {
        "requantizer": (1, 1, 0),
        "dot": (1, 0, 0),
        "ADD": (7, 3, 1),
        "CONV_2D": (6, 0, 0),
        "MUL": (1, 0, 1),
        "networks": (1, 0, 0),
    }
    for key, total in (("tests", 17), ("failures", 4), ("errors", 2)):
        assert root.get(key) == str(total)
    cases = {case.get("name"): case for case in suites["ADD"].iter("testcase")}
    assert list(cases) == [*CASES["ADD"], "ADD"]
    assert [child.tag for child in cases["ADD/0001"]] == ["error"]
    assert cases["ADD/0001"][0].get("type") == "timeout"
    assert cases["ADD/0004"][0].get("message") == "accepted though illegal"
    assert not list(cases["ADD/0000"])
    (unit,) = suites["requantizer"].iter("failure")
    assert unit.get("type") == "second_half_up"
    assert "theirs: 10, expected 11" in (unit.text or "")
    power = [p.get("value") for p in suites["requantizer"].iter("property")][-1]
    assert power and "left_missing" in power


def test_junit_of_a_conforming_unit_passes(tmp_path: Path) -> None:
    root = junit(tmp_path, replace(statement(), findings=statement().findings[1:2]))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "0")


def test_json_has_all(tmp_path: Path) -> None:
    write_reports(statement(), json=tmp_path / "a.json", facts=[("Simulator", "icarus")])
    table = json.loads((tmp_path / "a.json").read_text())
    assert table == statement_as_json(statement(), [("Simulator", "icarus")]) | {
        "profile": json.loads(json.dumps(statement().profile.as_dict()))
    }
    assert table["schema_version"] == SCHEMA_VERSION and table["conforms"] is False
    claims = {each["claim"]: each for each in table["claims"]}
    finding = claims["requantizer"]["finding"]
    assert finding["counts"]["off_by_one"] == 116 and finding["counts"]["wrong"] == 0
    assert len(finding["failed"]) == 116 and finding["mistakes"] == ["second_half_up"]
    assert claims["tables"] == {
        "claim": "tables",
        "layer": "unit",
        "standing": "not judged",
        "finding": None,
    }


def fields_of(heading: str) -> dict[str, str]:
    """Return the fields of a table of the document, and their types."""
    text = DOCUMENT.read_text("utf-8")
    found = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, heading
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", found[1], re.MULTILINE))


TYPES = {
    "integer": int,
    "boolean": bool,
    "string": str,
    "object": dict,
    "object or null": dict | None,
    "list of strings": list,
    "list of objects": list,
}


@pytest.mark.parametrize("heading", ["Fields", "claims", "finding", "counts", "failed"])
def test_the_document_names_every_field(heading: str) -> None:
    table = statement_as_json(statement())
    finding = table["claims"][0]["finding"]
    shown = {
        "Fields": table,
        "claims": table["claims"][0],
        "finding": finding,
        "counts": finding["counts"],
        "failed": finding["failed"][0],
    }[heading]
    fields = fields_of(heading)
    assert list(fields) == list(shown)
    for name, kind in fields.items():
        assert isinstance(shown[name], TYPES[kind]), name
