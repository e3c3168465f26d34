"""A campaign's folder is begun once, and never chooses code; its database keeps a unit whole."""

import hashlib
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eightfold.campaign.campaign import begin
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Case, Result, Unit
from eightfold.campaign.store import Store
from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile
from eightfold.conformance.suite import Task
from lab.suites.operators import SOON
from tests.support.campaign.folders import asked_of, conformed
from tests.support.campaign.units import units_of
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
    folder = conformed(tmp_path / "run")
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


SEVERAL = [
    Unit(suite="operators", operator=name, first=first, count=3, backend="golden")
    for name in ("ADD", "RELU")
    for first in (0, 3)
]


def outcome(unit: Unit, verdict="passed", hits=0) -> Result:
    """Return an outcome of a unit whose last case ended so."""
    cases = [Case(seed=seed, operator=unit.operator, verdict="passed") for seed in unit.seeds]
    cases[-1] = replace(cases[-1], verdict=verdict, message="why")
    return Result(
        cases=tuple(cases), hits={(unit.operator, "rank", "1"): hits} if hits else {}, seconds=0.5
    )


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "results.sqlite", writable=True) as store:
        store.plan(SEVERAL)
        yield store


def test_a_plan_is_kept_once_and_in_its_order(store: Store) -> None:
    store.plan(SEVERAL)
    assert [unit for _, unit in store.waiting()] == SEVERAL
    assert sum(store.counts().values()) == 12
    assert store.counts() == {
        ("operators", "ADD", "golden", "waiting"): 6,
        ("operators", "RELU", "golden", "waiting"): 6,
    }


def test_what_has_ended_waits_no_more(store: Store) -> None:
    store.keep(1, outcome(SEVERAL[0], "failed", 2), "here 1")
    store.keep(3, outcome(SEVERAL[2], "refused", 3), "here 2")
    assert [number for number, _ in store.waiting()] == [2, 4]
    assert dict(store.verdicts()) == {"passed": 4, "failed": 1, "refused": 1}
    assert store.hits() == {("ADD", "rank", "1"): 2, ("RELU", "rank", "1"): 3}
    (row,) = store.rows("failed")
    assert (row.operator, row.seed, row.message, row.column) == ("ADD", 2, "why", "golden")
    assert store.find_case("operators-ADD-2-golden") == (1, SEVERAL[0], 2)


def test_what_was_lost_waits_again_and_is_replaced(store: Store) -> None:
    lost = tuple(Case(seed=seed, operator="ADD", verdict="lost") for seed in SEVERAL[0].seeds)
    store.keep(1, Result(cases=lost), "", "lost")
    assert dict(store.verdicts()) == {"lost": 3}
    assert store.waiting()[0] == (1, SEVERAL[0])
    store.keep(1, outcome(SEVERAL[0]), "here 1")
    assert dict(store.verdicts()) == {"passed": 3}
    assert Counter(each.state for each in store.units()) == {"done": 1, "waiting": 3}


def test_a_unit_is_kept_whole_or_not_at_all(store: Store) -> None:
    twice = outcome(SEVERAL[0])
    twice = replace(twice, cases=(*twice.cases, twice.cases[0]))  # a case must not come twice
    with pytest.raises(InputError, match="UNIQUE constraint failed"):
        store.keep(1, twice, "here 1")
    assert not store.verdicts()
    assert Counter(each.state for each in store.units()) == {"waiting": 4}


@pytest.mark.parametrize("verdicts", [("passed", "failed"), ("failed", "passed")], ids=str)
def test_campaigns_that_contradict_each_other_are_no_pass(
    tmp_path: Path, store: Store, verdicts: tuple[Any, Any]
) -> None:
    store.keep(1, outcome(SEVERAL[0], verdicts[0]), "here 1")
    with Store(tmp_path / "other.sqlite", writable=True) as other:
        other.plan(SEVERAL[:2])
        other.keep(1, outcome(SEVERAL[0], verdicts[1]), "there 1")
        other.keep(2, outcome(SEVERAL[1], hits=5), "there 1")
        assert store.take_from(other) == [SEVERAL[0].name]
    assert dict(store.verdicts()) == {"error": 3, "passed": 3}
    assert store.hits() == {("ADD", "rank", "1"): 5}


def test_a_campaign_that_has_ended_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path, writable=True) as store:
        store.plan(SEVERAL)
        assert (tmp_path / "results.sqlite-wal").exists()
        store.keep(1, outcome(SEVERAL[0]), "here 1")
    assert [each.name for each in tmp_path.iterdir()] == ["results.sqlite"]
    path.chmod(0o444)
    with Store(path) as store:
        assert Counter(each.state for each in store.units()) == {"done": 1, "waiting": 3}


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_what_is_no_campaign_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "results.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"results\.sqlite: "):
        Store(path)


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="is no database of a campaign of this version"):
        Store(path, writable=True)


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"schema_version": 99}'])
def test_a_folder_that_is_no_campaign_is_one_line(tmp_path: Path, text: str | None) -> None:
    folder = Folder(tmp_path)
    if text is not None:
        folder.facts_file.write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"no campaign; eightfold|is not of this version|is damaged"
    ):
        folder.facts()


def test_what_was_begun_and_not_planned_is_begun_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with Store(folder.database, writable=True) as half:
        half.plan(SEVERAL[:1])
    theirs = tmp_path / "results.sqlite-mine.txt"
    theirs.write_text("notes", encoding="utf-8")
    folder.create({}, lambda store: store.plan(SEVERAL[1:]))
    with folder.store() as store:
        assert sum(store.counts().values()) == 9
    assert theirs.read_text(encoding="utf-8") == "notes"
    with pytest.raises(InputError, match="has a campaign; resume it by"):
        folder.create({}, lambda store: None)


def test_a_failure_without_a_model_is_kept(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    case = outcome(SEVERAL[0], "failed").cases[-1]
    folder.keep_failure(SEVERAL[0], case)
    kept = folder.failures / SEVERAL[0].case_name(case.seed)
    assert (kept / "log.txt").read_text(encoding="utf-8") == "why\n"
    assert not (kept / "model.tflite").exists()


OPERATORS = ("ADD", "SOFTMAX", "CONV_2D", "MEAN", "TRANSPOSE")


@pytest.mark.parametrize("backend", ["golden", "verilator"])
def test_every_operator_runs_before_one_runs_again(tmp_path: Path, backend: str) -> None:
    units = units_of("operators", operators=",".join(OPERATORS), cases=500, backend=backend)
    units += units_of("networks", cases=25, backend=backend)
    begin(Folder(tmp_path / "campaign"), {}, units)
    with Folder(tmp_path / "campaign").store() as store:
        order = [unit for _, unit in store.waiting()]
    assert sorted(unit.name for unit in order) == sorted(unit.name for unit in units)
    first = order[: len(OPERATORS) + 1]
    assert {unit.operator for unit in first} == {*OPERATORS, ""}
    for suite, operator in {(unit.suite, unit.operator) for unit in units}:
        seeds = [unit.first for unit in order if (unit.suite, unit.operator) == (suite, operator)]
        assert seeds == sorted(seeds)


@pytest.mark.parametrize("seed", [0, 150], ids="seed={}".format)
def test_the_first_models_of_an_operator_in_rtl_are_few(seed: int) -> None:
    units = units_of("operators", operators="ADD", cases=300, backend="verilator", seed=seed)
    assert units[0].count == SOON
    assert sum(unit.count for unit in units) == 300
    assert [s for unit in units for s in unit.seeds] == list(range(seed, seed + 300))
