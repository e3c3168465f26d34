"""The record of what a change of the layout must not change tells what is gone, new or other."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab import frozen


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(frozen, "RECORD", tmp_path / "frozen.json")
    return frozen.RECORD


@pytest.mark.slow
@pytest.mark.long
def test_what_is_written_is_found_again_and_a_difference_fails_by_its_name(record: Path) -> None:
    written = CliRunner().invoke(frozen.main, ["pages", "--write"])
    assert written.exit_code == 0, written.output
    kept = json.loads(record.read_text())
    assert set(kept["pages"]) == {f"pages {n}" for n in frozen.CAMPAIGNS}
    assert CliRunner().invoke(frozen.main, ["pages"]).exit_code == 0
    kept["pages"]["pages mixed"] = "0" * 16
    record.write_text(json.dumps(kept))
    compared = CliRunner().invoke(frozen.main, ["pages"])
    assert compared.exit_code == 1
    assert "other: pages mixed" in compared.output


def test_what_is_gone_and_new_is_told() -> None:
    before, after = {"a": "1", "b": "2"}, {"b": "3", "c": "4"}
    assert list(frozen.differences(before, after)) == ["gone: a", "other: b", "new: c"]


def test_what_has_moved_is_no_difference() -> None:
    before, after = {"a": "1", "b": "1", "c": "2"}, {"c": "2", "d": "1"}
    assert list(frozen.differences(before, after)) == ["gone: b"]


def test_the_record_has_every_part() -> None:
    kept = json.loads(frozen.RECORD.read_text())
    assert set(kept) == set(frozen.PARTS)
    assert all(kept.values())
