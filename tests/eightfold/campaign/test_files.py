"""The suite of somebody's own files: a row for each, whatever its bytes are."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.campaign import files
from eightfold.campaign.campaign import planned
from eightfold.campaign.files import Line
from eightfold.campaign.records import GOOD, Case
from eightfold.campaign.report import summary, write_report
from eightfold.campaign.report.as_json import FilesJson
from eightfold.cli.campaign import _split
from eightfold.common.errors import HardwareError, InputError
from eightfold.run.reference.oracle import OracleAborted, OracleRejected
from eightfold.run.session import Session
from lab.hostile.subject import MachineSession
from tests.eightfold.cli.test_check import dense
from tests.support.campaign.folders import ended_campaign
from tests.support.documented import check_fields
from tests.support.html import read_html

CONTENTS = {
    "cut.tflite": dense()[:60],
    "edges.tflite": dense(edges=True),
    "empty.tflite": b"",
    "float.tflite": dense(np.float32),
    "other.tflite": np.random.default_rng(1).bytes(500),
    "sub/good.tflite": dense(),
    "tail.tflite": dense(edges=True, tail="SOFTMAX"),
}
"""In the order of their paths."""


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    folder = tmp_path / "zoo"
    for name, content in CONTENTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def units(*paths: Path, backend: str = "golden") -> list:
    asked = {"path": [*map(str, paths)], "golden_only": backend == "golden", "config": "nano"}
    return planned({"files": {**asked, "seed": 3}})


def cases(*paths: Path, backend: str = "golden") -> dict[str, Case]:
    found = [files.run(unit).cases[0] for unit in units(*paths, backend=backend)]
    return {case.operator: case for case in found}


def machine(monkeypatch: pytest.MonkeyPatch, wrong: Any = None) -> None:
    """Let commands in numpy be the simulation; ``wrong`` changes its tensors, or is raised."""

    class Machine(MachineSession):
        def run(self, *arguments: Any, **options: Any) -> Any:
            if isinstance(wrong, Exception):
                raise wrong
            result = super().run(*arguments, **options)
            if wrong:
                wrong(result.tensors)
            return result

    def session(backend: str = "golden", config: Any = "base", **options: Any) -> Session:
        if backend == "golden":
            return Session(config=config, **options)
        assert options.pop("fast")  # else all is simulated twice
        return Machine(config=config, **options)

    monkeypatch.setattr(files, "Session", session)


def test_a_file_a_folder_and_a_list_stand_for_files(zoo: Path) -> None:
    listed = zoo / "list.txt"
    listed.write_text("# mine\nsub/good.tflite\n\nempty.tflite\n")
    assert [unit.operator for unit in units(zoo)] == [*CONTENTS]
    named = [unit.operator for unit in units(zoo / "tail.tflite", listed)]
    assert named == ["tail.tflite", "sub/good.tflite", "empty.tflite"]
    names = {unit.name for unit in units(zoo)}
    assert len(names) == len(CONTENTS)
    long = zoo / ("ä" * 120 + ".tflite")
    long.write_bytes(b"")
    assert len(units(long)[0].name.encode()) < 200
    listed.write_text("missing.tflite\n")
    with pytest.raises(InputError, match=r"missing\.tflite: no regular file"):
        units(listed)


@pytest.mark.parametrize(
    ("paths", "words"), [([], "name a .tflite file"), (["nothing"], "nothing: is no list of files")]
)
def test_nothing_to_run_is_said(paths: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        units(*map(Path, paths))


@pytest.mark.slow
def test_every_file_is_a_row_on_golden(zoo: Path) -> None:
    found = cases(zoo)
    assert {name: case.verdict for name, case in found.items()} == {
        name: "passed" if name.startswith(("edges", "sub", "tail")) else "refused"
        for name in CONTENTS
    }
    lines = {name: case.message.split("; ") for name, case in found.items()}
    assert lines["sub/good.tflite"][1:] == ["LiteRT", "-", ""]
    assert lines["tail.tflite"][0].startswith("fallback: ")
    assert lines["tail.tflite"][3].startswith("the accelerator has no DEQUANTIZE")
    assert not any(line[-1].startswith("model:") for line in lines.values())
    assert lines["cut.tflite"][3]
    assert "FULLY_CONNECTED works on float32" in lines["float.tflite"][3]
    assert "not a .tflite file" in found["other.tflite"].message


def test_rtl_is_compared_with_golden(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch)
    names = ("sub/good.tflite", "tail.tflite")
    good, tail = (cases(zoo / name, backend="verilator") for name in names)
    for (case,) in (good.values(), tail.values()):
        assert case.verdict == "passed"
        assert case.message.split("; ")[1:3] == ["LiteRT", "golden"]


def flip(tensors: dict[int, np.ndarray]) -> None:
    tensors[max(tensors)] = tensors[max(tensors)] ^ 1


@pytest.mark.parametrize(
    ("wrong", "words", "rtl"),
    [
        (flip, "tensors [2] of RTL are not golden's", "differs"),
        (HardwareError("it hangs"), "it hangs", "fails"),
    ],
    ids=["tensor", "hang"],
)
def test_wrong_rtl_fails(
    zoo: Path, monkeypatch: pytest.MonkeyPatch, wrong: Any, words: str, rtl: str
) -> None:
    machine(monkeypatch, wrong)
    (case,) = cases(zoo / "sub" / "good.tflite", backend="verilator").values()
    assert case.verdict == "failed"
    assert case.message.split("; ")[1:] == ["LiteRT", rtl, words]
    assert case.evidence
    assert case.evidence.model == CONTENTS["sub/good.tflite"]


def test_a_wrong_kernel_fails(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eightfold.operators import run_operator

    monkeypatch.setattr(
        "eightfold.operators.run.run_operator",
        lambda *given: [tensor ^ 1 for tensor in run_operator(*given)],
    )
    (case,) = cases(zoo / "sub" / "good.tflite").values()
    assert case.verdict == "failed"
    assert case.message.split("; ")[1] == "differs"


@pytest.mark.slow
@pytest.mark.tflm
@pytest.mark.parametrize(
    ("raised", "verdict", "words"),
    [
        (OracleRejected("no such kernel"), "passed", "; TFLite Micro; -; .* refuse .*no such kern"),
        (OracleAborted("no answer within 60 s"), "error", "^Unanswered: LiteRT.* answer within 60"),
    ],
    ids=["refused", "died"],
)
def test_only_a_refusal_of_litert_leads_to_tflite_micro(
    zoo: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, verdict: str, words: str
) -> None:
    def litert(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("eightfold.run.session.litert_tensors", litert)
    (case,) = cases(zoo / "sub" / "good.tflite").values()
    assert case.verdict == verdict
    assert re.search(words, case.message), case.message
    assert (case.verdict in GOOD) == (verdict == "passed")


def test_what_is_no_message_is_an_error(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(files, "assess", broken)
    (case,) = cases(zoo / "sub" / "good.tflite").values()
    assert (case.verdict, case.message) == ("error", "ZeroDivisionError: a mistake of ours")


def test_a_file_that_has_changed_or_is_gone_is_an_error(zoo: Path) -> None:
    (unit,) = units(zoo / "tail.tflite")
    (zoo / "tail.tflite").write_bytes(dense())
    for words in ("has changed since", "no regular file"):
        (case,) = files.run(unit).cases
        assert case.verdict == "error"
        assert words in case.message
        (zoo / "tail.tflite").unlink(missing_ok=True)


def test_what_no_runtime_and_no_rtl_was_compared_with_has_not_passed(
    zoo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = files.Session

    def alone(*given: Any, reference: str = "", **options: Any) -> Session:
        if reference:
            raise InputError(f"{reference}: is not installed")
        return session(*given, **options)

    monkeypatch.setattr(files, "Session", alone)
    (case,) = cases(zoo / "sub" / "good.tflite").values()
    assert (case.verdict, case.message.split("; ")[1]) == ("refused", "not compared")


@pytest.mark.slow
def test_the_report_has_a_row_for_each_file(zoo: Path, tmp_path: Path) -> None:
    ended = [(unit, files.run(unit).cases) for unit in units(zoo)]
    asked = {"suites": ["files"], "path": [str(zoo)]}
    folder = ended_campaign(tmp_path / "campaign", asked, ended)
    words = "of 7 files 2 run on the accelerator, 1 runs with --fallback golden, 4 are refused"
    assert words in summary(folder)
    path, html = tmp_path / "a.json", tmp_path / "a.html"
    write_report(folder, html=html, junit=None, json=path)
    report = json.loads(path.read_text("utf-8"))["files"]
    check_fields(report, FilesJson)
    assert [row["file"] for row in report["rows"]] == [*CONTENTS]
    page = read_html(html.read_text("utf-8"))
    assert all(name in page.text for name in CONTENTS)
    heads = {head.text for table in page.all("table") for head in table.all("th")}
    assert "file" in heads
    assert "operator" not in heads


def test_words_behind_the_suite_are_paths() -> None:
    assert _split(["files", "zoo", "a.tflite"]) == (["files"], ["zoo", "a.tflite"])
    assert _split(["operators", "nonsense"]) == (["operators", "nonsense"], [])


def test_a_line_is_read_as_it_was_written() -> None:
    class Kept:
        verdict = "passed"
        message = str(Line("runs", "1,234", "LiteRT", "golden", "a; b: c"))

    assert Line.of(Kept()) == Line("runs", "1,234", "LiteRT", "golden", "a; b: c")  # type: ignore[arg-type]
