"""A campaign's folder is begun once, run by one process, and never chooses code that runs."""

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eightfold.campaign.campaign import begin
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.store import Store
from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile
from eightfold.conformance.suite import Task
from tests.support.campaign.asked import answer, asked_of
from tests.support.command import Call

UNITS = [Unit(suite="operators", operator="ADD", first=0, count=3, backend="golden")]


def test_of_many_who_begin_in_one_folder_one_does(tmp_path: Path) -> None:
    all_ready = threading.Barrier(8)

    def fill(store: Store) -> None:
        store.plan(UNITS)
        time.sleep(0.1)  # the others are there by now

    def begin_one(number: int) -> str:
        all_ready.wait()
        try:
            Folder(tmp_path / "new").create({"seed": number}, fill)
        except InputError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(begin_one, range(8)))
    assert said.count("") == 1
    others = ("another process runs this campaign", "has a campaign; resume it by")
    assert all(any(words in line for words in others) for line in said if line)
    assert Folder(tmp_path / "new").facts()["asked"] == {"seed": said.index("")}


def test_what_was_begun_is_left_alone(tmp_path: Path) -> None:
    begin(Folder(tmp_path), {"seed": 1}, UNITS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="has a campaign; resume it by"):
        begin(Folder(tmp_path), {"seed": 2}, [])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("words", [(), ("--failed",)])
def test_a_folder_that_is_not_there_is_one_line(
    tmp_path: Path, call: Call, words: tuple[str, ...]
) -> None:
    status, _, error = call("campaign", "resume", tmp_path / "none", *words)
    assert (status, error.count("\n")) == (2, 1)
    assert "no campaign; eightfold campaign run --out" in error


def test_a_folder_runs_no_code_that_its_reader_has_not_named(tmp_path: Path, call: Call) -> None:
    code, marker = tmp_path / "strangers.py", tmp_path / "ran"
    code.write_text(f"import pathlib\n\npathlib.Path({str(marker)!r}).touch()\n")
    profile = Profile.from_dict({"name": "theirs", "claims": ["MAXIMUM"]})
    files = {str(code): hashlib.sha256(code.read_bytes()).hexdigest()}
    task = Task(
        adapter=f"{code}:Theirs", files=files, profile=profile.as_dict(), level="smoke", seed=0
    )
    units = list(task.units("MAXIMUM", "process", "Theirs"))
    folder = Folder(tmp_path / "theirs")
    # As a stranger has made it: whoever begins a run loads the adapter.
    folder.create(asked_of(units), lambda store: store.plan(units), {"identity": task.identity})
    name = units[0].case_name(0)
    here = {
        "report": ("campaign", "report", folder.path),
        "conform": ("conform", "report", folder.path),
        "merge": ("campaign", "merge", folder.path, "-o", tmp_path / "merged"),
        "resume": ("campaign", "resume", folder.path),
        "repeat": ("campaign", "repeat", folder.path, name),
        "another": ("campaign", "resume", folder.path, "--adapter", f"{tmp_path}/mine.py:Theirs"),
        "kit": ("campaign", "repeat", folder.path, name, "--adapter", "golden"),
    }
    found = {each: call(*words) for each, words in here.items()}
    assert not marker.exists()
    for each in ("resume", "repeat"):
        assert found[each][0] == 2
        assert f"is code; if you trust it, add --adapter {code}:Theirs" in found[each][2]
    for each in ("another", "kit"):
        assert found[each][0] == 2
        assert f"the cases are asked through {code}:Theirs" in found[each][2]
    assert folder.resume_command() == (
        f"eightfold campaign resume {folder.path} --adapter {code}:Theirs"
    )
    status, _, error = call(*here["resume"], "--adapter", task.adapter)
    assert (status, marker.exists()) == (2, True)
    assert "no such class" in error


def test_kept_answers_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = Profile.from_dict({"name": "mine", "claims": ["MAXIMUM"]})
    units = list(Task.of("golden", profile, "smoke", 0).units("MAXIMUM", "process", "golden"))
    folder = Folder(tmp_path / "run")
    begin(folder, asked_of(units), units)
    answer(folder)
    folder.store().close()
    with monkeypatch.context() as patch:
        for place, name in ((hashlib, "file_digest"), (Path, "read_bytes")):
            patch.setattr(place, name, lambda *_: pytest.fail("is read again"))
        folder.store().close()
    for path in (folder.path / "answers").iterdir():
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match="is missing, or is not what"):
        folder.store()


def test_time_never_goes_back_within_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "results.sqlite", writable=True) as store:
        number = store.begin_session(1)
        monkeypatch.setattr("time.time", lambda: -5.0)  # somebody has set the clock
        store.end_session(number, "complete")
        ((started, ended, _, _),) = store.sessions()
        assert ended is not None
        assert started <= ended < started + 60
    with Store(tmp_path / "results.sqlite", writable=True) as store:
        store.end_session(store.begin_session(1), "complete")
        assert 0 <= min(started for started, *_ in store.sessions()) < 60
