"""``eightfold vectors`` as a person calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.conformance.commands import UNITS as COMMANDS
from eightfold.conformance.profile import UNITS


def vectors(*words: object) -> str:
    """Run ``eightfold vectors`` and return what it prints; errors come through."""
    result = CliRunner().invoke(commands, ["vectors", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_every_unit_has_a_command() -> None:
    assert tuple(COMMANDS) == UNITS


@pytest.mark.parametrize("unit", UNITS)
def test_vectors_are_written(unit: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / unit
    text = vectors(unit, "--format", "csv", "--seed", 2, "-o", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert text.startswith(f"{manifest['cases']} cases of {unit} in {folder}: manifest.json")
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *manifest["files"]}
    assert (manifest["format"], manifest["seed"], manifest["level"]) == ("csv", 2, "smoke")


def test_a_profile_limits_what_is_written(tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('name = "mine"\nclaims = ["requantizer"]\n[limits]\nshift = [-8, 0]\n')
    text = vectors("requantizer", "--profile", profile, "-o", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert f"{manifest['left_out']['outside of the limits']} outside of the limits left" in text
    assert manifest["profile"]["limits"]["shift"] == [-8, 0]
    with pytest.raises(InputError, match="profile mine: does not claim dot; add it to its claims"):
        vectors("dot", "--profile", profile, "-o", tmp_path / "dot")
    assert not (tmp_path / "dot").exists()


def test_no_such_profile_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="profile mine: no such profile; use one of tflite"):
        vectors("dot", "--profile", "mine", "-o", tmp_path / "dot")


def test_models_of_operators_are_written(tmp_path: Path) -> None:
    text = vectors("operators", "--operators", "ADD,TANH", "-o", tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    expected = [entry["expect"] for entry in manifest["cases"].values()]
    assert text == (
        f"2 operators in {tmp_path}: {expected.count('tensors')} models to compute, "
        f"{expected.count('refused')} to refuse\n"
    )
    assert expected.count("tensors") == 8
    with pytest.raises(InputError, match="--operators: no operator 'NAND'"):
        vectors("operators", "--operators", "NAND", "-o", tmp_path)
