"""The kit's commands as a person calls them: what they print, what they write, exit status."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from eightfold.campaign import campaign
from eightfold.campaign.folder import Folder
from eightfold.conformance import suite as conformance
from eightfold.conformance.c import SOURCES
from eightfold.conformance.commands import UNITS as COMMANDS
from eightfold.conformance.judge.forms import FORMS, cases_of
from eightfold.conformance.judge.variants import MISTAKES, results_with
from eightfold.conformance.profile import EVERY_UNIT, PROFILES, UNITS
from eightfold.conformance.units.requantizer import RESULTS
from eightfold.conformance.vectors.unit_files import hex_lines, write_unit
from examples.digits.network import MODEL_FILE
from tests.support.campaign.folders import answer
from tests.support.command import Call, refusal
from tests.support.conformance import bad_adapters

MINE = """
from eightfold.conformance.adapters import ModelAdapter, Refused, StreamAdapter
from eightfold.common.errors import InputError
from eightfold.operators import run_graph
from eightfold.operators import load_model


class Runtime(ModelAdapter):
    def run(self, model, inputs):
        try:
            return run_graph(load_model(model), inputs)
        except InputError as error:
            raise Refused(error) from None


class WrongInMean(Runtime):
    def run(self, model, inputs):
        tensors = super().run(model, inputs)
        for operator in load_model(model).operators:
            for index in operator.outputs if operator.name == "MEAN" else ():
                tensors[index] = tensors[index] ^ 1
        return tensors


class Zero(StreamAdapter):
    sources, top = ["zero.v"], "zero"
    clock, latency = None, 0
    inputs = {"acc": "accumulator"}
    outputs = {"result": "q"}


class NoFile(Zero):
    sources, top = ["nowhere.v"], "nowhere"
"""


DEGENERATE = """
name = "nothing"
claims = ["requantizer"]

[limits]
clamp = [[0, 0]]
"""
"""Limits within which a requantizer has one result."""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "zero.v").write_text("module zero; endmodule\n")
    (tmp_path / "nothing.toml").write_text(DEGENERATE)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.slow
def test_a_right_runtime_conforms_and_can_be_reported_again(
    mine: Path, tmp_path: Path, call: Call
) -> None:
    out, report = tmp_path / "run", tmp_path / "report.json"
    words = ("--adapter", f"{mine}:Runtime", "--claims", "MAXIMUM,NOT_EQUAL", "--workers", 1)
    status, said, error = call("conform", "run", *words, "--out", out)
    assert (status, error) == (0, "")
    assert "MAXIMUM: no deviation found in 4 cases, which could not have told 1 of 4 m" in said
    assert "Claimed, not asked: requantizer, dot, tables, fake_quantize, sequence, " in said
    assert said.endswith(
        "Eightfold conformance 2.0, TFLite int8 (litert), no limits, operator level, smoke; "
        "MAXIMUM, NOT_EQUAL: no deviation found in 8 cases, which could not have told 1 of "
        "9 mistakes\n"
    )
    again = call("conform", "report", out, "--json", report)
    assert again == (0, said, "")
    found = json.loads(report.read_text("utf-8"))
    assert found["subject"] == "Runtime"
    assert found["facts"]["Adapter"] == "mine.py:Runtime"
    status, _, error = call("conform", "run", *words, "--out", out)
    assert (status, len(error.splitlines())) == (2, 1)
    assert "has a campaign" in error


@pytest.mark.slow
def test_a_runtime_that_aborts_deviates(call: Call) -> None:
    words = ("--adapter", f"{bad_adapters.__file__}:Aborts", "--claims", "MAXIMUM", "--workers", 1)
    status, said, error = call("conform", "run", *words)
    assert (status, error) == (1, "")
    assert "MAXIMUM: deviates, 4 crashed of 4 cases." in said
    assert "SIGABRT" in said


def stop_after(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run end after some units, as its budget would; they run in this process."""

    def go_on(folder: Folder, **options: Any) -> str:
        answer(folder, range(units))
        with folder.store() as store:
            return "budget" if store.waiting() else "complete"

    monkeypatch.setattr(campaign, "go_on", go_on)


def asked_and_said(folder: Path, *words: object, call: Call) -> tuple[int, dict[str, str]]:
    """Run ``conform run``; return its status, and how each claim stands that was asked.

    Every claim is in text, JSON and JUnit XML, and all of them say the same.
    """
    files = {name: folder / f"report.{name}" for name in ("json", "junit")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    status, said, error = call("conform", "run", *words, *options)
    assert error == ""
    report = json.loads(files["json"].read_text("utf-8"))
    stands = {each["claim"]: each["standing"] for each in report["claims"] if each["finding"]}
    assert report["holds"] == (status == 0)
    suites = list(ElementTree.parse(files["junit"]).getroot())
    assert [suite.get("name") for suite in suites] == list(stands)
    for suite in suites:
        claim = suite.get("name") or ""
        assert re.search(f"^{claim}: {stands[claim]}", said, re.MULTILINE)
        (standing,) = (
            p.get("value") for p in suite.iter("property") if p.get("name") == "standing"
        )
        assert standing == stands[claim]
        bad = int(suite.get("errors") or 0) + int(suite.get("failures") or 0)
        assert (bad == 0) == (standing == "no deviation found")
    return status, stands


WHOLE = 6  # units: of MAXIMUM, NOT_EQUAL and networks two each


@pytest.mark.slow
@pytest.mark.parametrize("ended", range(WHOLE + 1))
def test_a_run_that_was_stopped_anywhere_has_every_claim_and_fails(
    ended: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(conformance, "TOGETHER", 2)
    stop_after(ended, monkeypatch)
    words = ("--adapter", "golden", "--claims", "MAXIMUM,NOT_EQUAL,networks")
    status, stands = asked_and_said(tmp_path, *words, call=call)
    assert status == (0 if ended == WHOLE else 1)
    # Claims take turns.
    complete = [
        *(["MAXIMUM"] * (ended > 3) + ["NOT_EQUAL"] * (ended > 4) + ["networks"] * (ended > 5))
    ]
    assert stands == {
        claim: "no deviation found" if claim in complete else "incomplete"
        for claim in ("MAXIMUM", "NOT_EQUAL", "networks")
    }


@pytest.mark.slow
def test_an_operator_that_is_wrong_deviates_however_soon_the_run_was_stopped(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(conformance, "TOGETHER", 1)
    stop_after(1, monkeypatch)
    words = ("--adapter", f"{mine}:WrongInMean", "--claims", "MEAN,MAXIMUM")
    status, stands = asked_and_said(tmp_path, *words, call=call)
    assert (status, stands) == (1, {"MEAN": "deviates", "MAXIMUM": "incomplete"})


def test_an_interrupt_is_no_pass(mine: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "go_on", interrupted)
    words = ("--adapter", f"{mine}:Runtime", "--claims", "MAXIMUM")
    status, said, error = call("conform", "run", *words)
    assert (status, said.strip(), error) == (130, "", "\neightfold: interrupted\n")


ADAPTER = ("conform", "run", "--adapter")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*ADAPTER, "liter"), "name a class in a file, such as mine.py:Mine, or one of eightf"),
        ((*ADAPTER, "{mine}:Runtime", "--claims", "RELU"), "does not claim RELU"),
        ((*ADAPTER, "{mine}:Runtime", "--profile", "mine"), "profile mine: no such profile"),
        ((*ADAPTER, "{mine}:Runtime", "--profile", "tpu-mlir"), "does not claim operators"),
        ((*ADAPTER, "{mine}:Runtime", "--scheduler", "x", "--workers", "1"), "--scheduler has"),
        ((*ADAPTER, "{mine}:NoFile"), "nowhere.v"),
        (
            (*ADAPTER, "{mine}:Zero", "--profile", "{mine.parent}/nothing.toml"),
            "its limits leave a requantizer nothing to compute",
        ),
        (
            ("vectors", "dot", "--profile", "mine", "-o", "out"),
            "profile mine: no such profile; use",
        ),
        (("vectors", "operators", "--operators", "NAND", "-o", "out"), "no operator 'NAND'"),
        (("golden-c", "-o", "{mine}"), "cannot be written"),
    ],
    ids=lambda each: " ".join((each[0], *each[-2:])) if isinstance(each, tuple) else "",
)
def test_bad_input_is_one_line(mine: Path, words: tuple[str, ...], said: str, call: Call) -> None:
    words = tuple(word.format(mine=mine) for word in words)
    error = refusal(call, *words)
    assert said in error
    assert mine.read_text() == MINE


@pytest.mark.parametrize(
    ("command", "examples"),
    [
        ("run", ("mine.py:Requant", "mine.py:Registers", "mine.py:Runtime", "--adapter xnnpack")),
        (
            "judge",
            (
                "eightfold conform judge vectors --results results --html verdict.html",
                "Exit status 0 if all is right, 1 if anything deviates, 2 if",
            ),
        ),
    ],
)
def test_help_has_examples(command: str, examples: tuple[str, ...], call: Call) -> None:
    _, said, _ = call("conform", command, "--help")
    for words in examples:
        assert words in " ".join(said.split())


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return vectors of a requantizer, and the results of one that is wrong."""
    vectors, results = tmp_path / "vectors", tmp_path / "mine"
    _, cases = write_unit(vectors, "requantizer", PROFILES["tflite"])
    wrong = results_with(FORMS["tflite"], cases_of("tflite", cases.inputs), MISTAKES["second_down"])
    results.mkdir()
    content = hex_lines(RESULTS, {"result": wrong.astype("i1")})
    (results / "results.hex").write_bytes(content)
    return vectors, results


def test_a_wrong_requantizer_is_told_what_is_wrong(folders: tuple[Path, Path], call: Call) -> None:
    vectors, results = folders
    words = ("--results", results, "--impact", MODEL_FILE, "--json", results / "report.json")
    status, said, _ = call("conform", "judge", vectors, *words)
    assert status == 1
    lines = said.splitlines()
    (impact,) = (line for line in lines if line.startswith("Impact on digits: second_down in 12 "))
    facts = json.loads((results / "report.json").read_text("utf-8"))["facts"]
    assert impact == f"Impact on digits: {facts['Impact on digits']}."
    assert lines[0].startswith("requantizer: deviates, ")
    assert lines[1].startswith("second_down: The second rounding, of the right shift, is an ari")
    assert "The smallest failing case:" in lines
    assert any("These coincide in all cases" in line for line in lines)
    assert lines[-1] == (
        "Eightfold conformance 2.0, TFLite int8 (litert), no limits, unit level, smoke; "
        "deviates: requantizer"
    )


def test_a_right_one_conforms_and_reports_are_written(
    folders: tuple[Path, Path], call: Call
) -> None:
    vectors, results = folders
    shutil.copy(vectors / "expected.hex", results / "results.hex")
    files = [results.parent / f"out/a.{suffix}" for suffix in ("html", "xml", "json")]
    options = [
        word for pair in zip(("--html", "--junit", "--json"), files, strict=True) for word in pair
    ]
    words = ("conform", "judge", vectors, "--results", results, *options)
    status, said, _ = call(*words)
    assert status == 0
    assert said.splitlines()[-1] == (
        "Eightfold conformance 2.0, TFLite int8 (litert), no limits, unit level, smoke; "
        "requantizer: no deviation found in 2569 cases, which could not have told 3 of 71 mistakes"
    )
    assert json.loads(files[2].read_text())["holds"] is True
    assert "Conformance of mine" in files[0].read_text()
    assert 'failures="0"' in files[1].read_text()


def test_a_cut_file_is_one_line_and_no_page(folders: tuple[Path, Path], call: Call) -> None:
    vectors, results = folders
    path = results / "results.hex"
    page = results / "a.html"
    path.write_bytes(path.read_bytes()[:-2])
    words = ("conform", "judge", vectors, "--results", results, "--html", page)
    error = refusal(call, *words)
    assert error.startswith(f"eightfold: {path}: line 2569: ")
    assert not page.exists()


def test_every_unit_has_a_command() -> None:
    assert tuple(COMMANDS) == EVERY_UNIT


@pytest.mark.parametrize("unit", UNITS)
def test_vectors_are_written(unit: str, tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "new" / unit
    words = ("vectors", unit, "--format", "csv", "--seed", 2, "-o", folder)
    status, said, _ = call(*words)
    assert status == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    assert said.startswith(f"{manifest['cases']} cases of {unit} in {folder}: manifest.json")
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *manifest["files"]}
    assert (manifest["format"], manifest["seed"], manifest["level"]) == ("csv", 2, "smoke")


def test_a_profile_limits_what_is_written(tmp_path: Path, call: Call) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('name = "mine"\nclaims = ["requantizer"]\n[limits]\nshift = [-8, 0]\n')
    words = ("--profile", profile, "-o", tmp_path / "out")
    _, said, _ = call("vectors", "requantizer", *words)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert f"{manifest['left_out']['outside of the limits']} outside of the limits left" in said
    assert manifest["profile"]["limits"]["shift"] == [-8, 0]
    words = ("--profile", profile, "-o", tmp_path / "dot")
    error = refusal(call, "vectors", "dot", *words)
    assert "profile mine: does not claim dot; add it to its claims" in error
    assert not (tmp_path / "dot").exists()


def test_models_of_operators_are_written(tmp_path: Path, call: Call) -> None:
    words = ("vectors", "operators", "--operators", "ADD,TANH", "--strictness", "-o", tmp_path)
    status, said, _ = call(*words)
    assert status == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    expected = [entry["expect"] for entry in manifest["cases"].values()]
    assert said == (
        f"2 operators in {tmp_path}: {expected.count('tensors')} models to compute, "
        f"{expected.count('refused')} to refuse\n"
    )
    assert expected.count("tensors") == 8
    assert expected.count("refused") > 1


def test_golden_c_writes_every_source(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "new" / "golden-c"
    for _ in range(2):  # again over its own files
        status, out, err = call("golden-c", "-o", folder)
        assert (status, err) == (0, "")
        paths = [Path(line) for line in out.splitlines()]
        assert paths[0] == folder / "eightfold_golden.h"
        assert sorted(paths) == sorted(folder.iterdir())
    assert {path.name for path in folder.iterdir()} == {path.name for path in SOURCES.iterdir()}
    for path in folder.iterdir():
        assert path.read_bytes() == (SOURCES / path.name).read_bytes()


def test_golden_c_needs_a_folder(call: Call) -> None:
    assert "--output" in refusal(call, "golden-c")
