"""``eightfold conform judge`` as a person calls it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.conformance.judge.forms import FORMS, cases_of
from eightfold.conformance.judge.variants import MISTAKES, results_with
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.requantizer import RESULTS
from eightfold.conformance.vectors.unit_files import hex_lines, write_unit


def conform(*words: object) -> Result:
    """Run ``eightfold conform`` and return what came; errors come through."""
    result = CliRunner().invoke(commands, ["conform", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


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


def test_a_wrong_requantizer_is_told_what_is_wrong(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    result = conform("judge", vectors, "--results", results)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0].startswith("requantizer: deviates, ")
    assert lines[1].startswith("second_down: The second rounding, of the right shift, is an ari")
    assert "The smallest failing case:" in lines
    assert any("These coincide in all cases" in line for line in lines)
    assert lines[-1] == (
        "Eightfold conformance 1.1, TFLite int8 (litert), no limits, unit level, smoke; "
        "deviates: requantizer"
    )


def test_a_right_one_conforms_and_reports_are_written(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    shutil.copy(vectors / "expected.hex", results / "results.hex")
    files = [results.parent / f"out/a.{suffix}" for suffix in ("html", "xml", "json")]
    options = [
        word for pair in zip(("--html", "--junit", "--json"), files, strict=True) for word in pair
    ]
    result = conform("judge", vectors, "--results", results, *options)
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == (
        "Eightfold conformance 1.1, TFLite int8 (litert), no limits, unit level, smoke; "
        "requantizer: no deviation found in 2642 cases, which would have told all 61 mistakes"
    )
    assert json.loads(files[2].read_text())["holds"] is True
    assert "Conformance of mine" in files[0].read_text()
    assert 'failures="0"' in files[1].read_text()


def test_a_cut_file_is_one_line_and_status_2(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    path = results / "results.hex"
    path.write_bytes(path.read_bytes()[:-2])
    command = [sys.executable, "-m", "eightfold.cli.main", "conform", "judge", str(vectors)]
    page = results / "a.html"
    run = subprocess.run(
        [*command, "--results", str(results), "--html", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stdout == "" and run.stderr.count("\n") == 1
    assert run.stderr.startswith(f"eightfold: {path}: line 2642: ")
    assert not page.exists()


def test_vectors_that_have_changed_are_refused(folders: tuple[Path, Path]) -> None:
    vectors, results = folders
    shutil.copy(results / "results.hex", vectors / "expected.hex")
    with pytest.raises(InputError, match=r"expected.hex: has changed since it was written"):
        conform("judge", vectors, "--results", results)


def test_help_has_an_example() -> None:
    text = conform("judge", "--help").output
    assert "eightfold conform judge vectors --results results --html verdict.html" in text
    assert "Exit status 0 if all is right, 1 if anything deviates, 2 if" in " ".join(text.split())
