"""``eightfold golden-c``: files, messages, exit status."""

from pathlib import Path

import pytest

from eightfold.conformance.c import SOURCES
from tests.eightfold.cli.test_cli import call


def test_golden_c_writes_every_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "golden-c"
    for _ in range(2):  # again over its own files
        status, out, err = call("golden-c", "-o", folder, capsys=capsys)
        assert (status, err) == (0, "")
        paths = [Path(line) for line in out.splitlines()]
        assert paths[0] == folder / "eightfold_golden.h"
        assert sorted(paths) == sorted(folder.iterdir())
    assert {path.name for path in folder.iterdir()} == {path.name for path in SOURCES.iterdir()}
    for path in folder.iterdir():
        assert path.read_bytes() == (SOURCES / path.name).read_bytes()


def test_golden_c_into_a_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    status, out, err = call("golden-c", "-o", tmp_path / "file", capsys=capsys)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1 and "cannot be written" in err
    assert (tmp_path / "file").read_text() == "mine"


def test_golden_c_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call("golden-c", capsys=capsys)
    assert status == 2
    assert "--output" in err
