"""``eightfold conform run`` and ``report`` as a person calls them."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from eightfold.campaign import campaign
from eightfold.campaign.folder import Folder
from eightfold.campaign.worker import run_unit
from eightfold.conformance import suite as conformance
from tests.eightfold.cli.test_cli import call

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


class Aborts(ModelAdapter):
    def run(self, model, inputs):
        import os

        os.abort()


class NoFile(StreamAdapter):
    sources = ["nowhere.v"]
    top = "nowhere"
    clock = None
    latency = 0
    inputs = {"acc": "accumulator"}
    outputs = {"result": "q"}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_right_runtime_conforms_and_can_be_reported_again(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, report = tmp_path / "run", tmp_path / "report.json"
    words = ("--adapter", f"{mine}:Runtime", "--claims", "MAXIMUM,NOT_EQUAL", "--workers", 1)
    status, said, error = call("conform", "run", *words, "--out", out, capsys=capsys)
    assert (status, error) == (0, "")
    assert "MAXIMUM: no deviation found in 6 cases, which would have told all 2 mistakes." in said
    assert "Claimed, not asked: requantizer, dot, tables, fake_quantize, networks, 36 op" in said
    assert said.endswith(
        "Eightfold conformance 1.1, TFLite int8 (litert), no limits, operator level, smoke; "
        "MAXIMUM, NOT_EQUAL: no deviation found in 12 cases, which would have told all 7 mistakes\n"
    )
    again = call("conform", "report", out, "--json", report, capsys=capsys)
    assert again == (0, said, "")
    found = json.loads(report.read_text("utf-8"))
    assert found["subject"] == "Runtime"
    assert found["facts"]["Adapter"] == "mine.py:Runtime"
    status, _, error = call("conform", "run", *words, "--out", out, capsys=capsys)
    assert (status, len(error.splitlines())) == (2, 1)
    assert "has a campaign" in error


def test_a_runtime_that_aborts_deviates(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--adapter", f"{mine}:Aborts", "--claims", "MAXIMUM", "--workers", 1)
    status, said, error = call("conform", "run", *words, capsys=capsys)
    assert (status, error) == (1, "")
    assert "MAXIMUM: deviates, 6 crashed of 6 cases." in said
    assert "SIGABRT" in said


def stop_after(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run end after some units, as its budget would; they run in this process."""

    def go_on(folder: Folder, **options: Any) -> str:
        with folder.store(writable=True) as store:
            waiting = store.waiting()
            for number, unit in waiting[:units]:
                _, outcome = run_unit(unit.as_record())
                folder.keep_answers(unit, outcome.answers)
                store.keep(number, outcome, "here")
        return "complete" if units >= len(waiting) else "budget"

    monkeypatch.setattr(campaign, "go_on", go_on)


def asked_and_said(
    folder: Path, *words: object, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, str]]:
    """Run ``conform run``; return its status, and how each claim stands that was asked.

    Every claim is in text, JSON and JUnit XML, and all of them say the same.
    """
    files = {name: folder / f"report.{name}" for name in ("json", "junit")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    status, said, error = call("conform", "run", *words, *options, capsys=capsys)
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


UNITS = 5  # of MAXIMUM and NOT_EQUAL two each, one of networks


@pytest.mark.parametrize("ended", range(UNITS + 1))
def test_a_run_that_was_stopped_anywhere_has_every_claim_and_fails(
    ended: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(conformance, "TOGETHER", 4)
    stop_after(ended, monkeypatch)
    words = ("--adapter", "golden", "--claims", "MAXIMUM,NOT_EQUAL,networks")
    status, stands = asked_and_said(tmp_path, *words, capsys=capsys)
    assert status == (0 if ended == UNITS else 1)
    # Claims take turns.
    complete = ["networks"] * (ended > 2) + ["MAXIMUM"] * (ended > 3) + ["NOT_EQUAL"] * (ended > 4)
    assert stands == {
        claim: "no deviation found" if claim in complete else "incomplete"
        for claim in ("MAXIMUM", "NOT_EQUAL", "networks")
    }


def test_an_operator_that_is_wrong_deviates_however_soon_the_run_was_stopped(
    mine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(conformance, "TOGETHER", 1)
    stop_after(1, monkeypatch)
    words = ("--adapter", f"{mine}:WrongInMean", "--claims", "MEAN,MAXIMUM")
    status, stands = asked_and_said(tmp_path, *words, capsys=capsys)
    assert (status, stands) == (1, {"MEAN": "deviates", "MAXIMUM": "incomplete"})


def test_an_interrupt_is_no_pass(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "go_on", interrupted)
    words = ("--adapter", f"{mine}:Runtime", "--claims", "MAXIMUM")
    status, said, error = call("conform", "run", *words, capsys=capsys)
    assert (status, said.strip(), error) == (130, "", "\neightfold: interrupted\n")


DEGENERATE = """
name = "nothing"
claims = ["requantizer"]

[limits]
clamp = [[0, 0]]
"""


def test_limits_that_leave_nothing_to_compute_are_refused(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "nothing.toml"
    profile.write_text(DEGENERATE)
    (mine.parent / "zero.v").write_text("module zero; endmodule\n")
    words = ("--adapter", f"{mine}:Zero", "--profile", profile)
    status, said, error = call("conform", "run", *words, capsys=capsys)
    assert (status, said, error.count("\n")) == (2, "", 1)
    assert "its limits leave a requantizer nothing to compute" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--adapter", "{mine}:Nobody"],
            "no such class; mine.py has Runtime, WrongInMean, Zero, Ab",
        ),
        (["--adapter", "nowhere.py:Mine"], "nowhere.py:Mine: no such file"),
        (["--adapter", "liter"], "name a class in a file, such as mine.py:Mine, or one of eightf"),
        (["--adapter", "{mine}:Runtime", "--claims", "RELU"], "does not claim RELU"),
        (["--adapter", "{mine}:Runtime", "--profile", "mine"], "profile mine: no such profile"),
        (["--adapter", "{mine}:Runtime", "--profile", "tpu-mlir"], "does not claim operators"),
        (["--adapter", "{mine}:Runtime", "--scheduler", "x", "--workers", "1"], "--scheduler has"),
        (["--adapter", "{mine}:NoFile"], "nowhere.v"),
    ],
    ids=lambda each: " ".join(each[1:]) if isinstance(each, list) else "",
)
def test_bad_input_is_one_line(
    mine: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(mine=mine) for word in words]
    status, out, error = call("conform", "run", *words, capsys=capsys)
    assert (status, out) == (2, "")
    assert said in error
    assert len(error.splitlines()) == 1


def test_help_has_an_example_for_each_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    _, said, _ = call("conform", "run", "--help", capsys=capsys)
    for words in ("mine.py:Requant", "mine.py:Registers", "mine.py:Runtime", "--adapter xnnpack"):
        assert words in said
