"""``eightfold conform run`` and ``report`` as a person calls them."""

import json
from pathlib import Path

import pytest

from tests.eightfold.cli.test_cli import call

MINE = """
from eightfold.conformance.adapters import ModelAdapter, Refused, StreamAdapter
from eightfold.errors import InputError
from eightfold.execute import run_graph
from eightfold.model import load_model


class Runtime(ModelAdapter):
    def run(self, model, inputs):
        try:
            return run_graph(load_model(model), inputs)
        except InputError as error:
            raise Refused(error) from None


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
    assert "MAXIMUM: conforms, all 6 cases are exact." in said
    assert said.endswith(
        "Eightfold conformance 1.0, TFLite int8 (litert), 2 of 38 rows, operator level, smoke\n"
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--adapter", "{mine}:Nobody"], "no such class; mine.py has Runtime, Aborts, NoFile"),
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
