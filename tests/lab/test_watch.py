"""The newest runtimes are compared with golden, by what was loaded, operator by operator."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Case, Unit, Verdict
from eightfold.common.errors import InputError
from lab import watch
from tests.eightfold.run.reference.test_oracle import FAKE, install
from tests.support.campaign.folders import ended_campaign


def ended(folder: Folder, verdicts: dict[str, list[Verdict]]) -> None:
    """Make a campaign of operators whose models have ended so."""
    found = []
    for name, ends in verdicts.items():
        unit = Unit(suite="operators", operator=name, first=0, count=len(ends), backend="golden")
        said = ["" if end == "passed" else f"{end} so" for end in ends]
        cases = [
            Case(seed=seed, verdict=end, operator=name, message=said[seed])
            for seed, end in enumerate(ends)
        ]
        found.append((unit, cases))
    ended_campaign(folder.path, {}, found)


def test_operators_are_counted_and_those_that_drifted_named(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    ended(
        folder,
        {
            "ADD": ["passed", "failed", "failed", "error"],
            "MUL": ["passed", "passed"],
            "RELU": ["refused", "passed"],
        },
    )
    found = watch.found_in(folder, "litert")
    assert found.drifted
    version = folder.facts()["identity"]["LiteRT"]
    assert found.lines() == [
        f"{version}: 4 of 7 models of 3 operators are equal; refused: RELU 1",
        "  ADD: 3 of 4 have drifted, first 1: failed so",
    ]


def test_equal_and_refused_models_have_not_drifted(tmp_path: Path) -> None:
    ended(Folder(tmp_path), {"ADD": ["passed"], "RELU": ["refused", "passed"]})
    assert not watch.found_in(Folder(tmp_path), "litert").drifted


def test_an_operator_of_which_nothing_is_computed_any_more_has_drifted(tmp_path: Path) -> None:
    ended(Folder(tmp_path), {"ADD": ["passed"], "RELU": ["refused", "refused"]})
    found = watch.found_in(Folder(tmp_path), "litert")
    assert found.drifted
    assert found.lines()[-1] == "  RELU: all 2 models are refused"
    found.lacks = frozenset({"RELU"})  # as TFLite Micro lacks some
    assert not found.drifted


def test_more_refusals_than_before_are_a_drift(tmp_path: Path) -> None:
    ends: dict[str, list[Verdict]] = {"ADD": ["refused", "passed"], "MUL": ["refused", "passed"]}
    ended(Folder(tmp_path / "before"), {**ends, "ADD": ["passed", "passed"]})
    ended(Folder(tmp_path / "after"), ends)
    before, found = (watch.found_in(Folder(tmp_path / n), "litert") for n in ("before", "after"))
    assert not found.drifted
    found.before = before
    assert found.lines()[1:] == [f"  ADD: refused 1, 0 by {before.version}"]
    found.before = found
    assert not found.drifted


def test_without_the_packages_it_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    result = CliRunner().invoke(watch.main, [str(tmp_path)])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("watch: ai-edge-litert-nightly and tflite-micro: cannot be fetched: No ")


NEW = {**FAKE, "ai_edge_litert/interpreter.py": FAKE["ai_edge_litert/interpreter.py"] + "\n#\n"}


@pytest.mark.slow  # a campaign with a worker of its own
@pytest.mark.long
def test_a_runtime_that_computes_something_else_has_drifted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(folder: Path) -> None:
        folder.mkdir()
        install(folder, "ai-edge-litert-nightly", "9.9.dev1", NEW)

    monkeypatch.setattr(watch, "fetch", fetch)
    monkeypatch.setattr(watch, "NEWEST", {"litert": "ai-edge-litert-nightly"})
    mine = tmp_path / "litert" / "mine"
    mine.parent.mkdir()
    mine.touch()
    words = ["--operators", "LOGISTIC", "--cases", "2", "--workers", "1"]
    result = CliRunner().invoke(watch.main, [str(tmp_path), *words])
    assert result.exit_code == 1, result.output
    first, second, where = result.stdout.splitlines()
    assert mine.exists()  # what it has not made stays
    (private,) = (path for path in tmp_path.iterdir() if path != mine.parent)
    assert where == f"The cases are in {private}."
    assert {path.name for path in private.iterdir()} == {"litert", "litert-installed"}
    assert first == "ai-edge-litert-nightly 9.9.dev1: 0 of 2 models of 1 operator are equal"
    assert second.startswith("  LOGISTIC: 2 of 2 have drifted, first 0: ")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (0, r"ai-edge-litert 2\.3\.0 was loaded in place of ai-edge-litert-nightly"),
        (2, "the campaign against ai-edge-litert-nightly did not run"),
    ],
)
def test_what_was_not_loaded_was_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, message: str
) -> None:
    ran = subprocess.CompletedProcess([], status)
    monkeypatch.setattr(watch.subprocess, "run", lambda *words, **options: ran)
    monkeypatch.setattr(watch, "found_in", lambda *which: watch.Found("ai-edge-litert 2.3.0"))
    with pytest.raises(InputError, match=message):
        watch.compare("litert", tmp_path, tmp_path / "out", [])
