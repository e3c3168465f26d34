"""A folder that was cut, edited or made up is refused in one line, and never passes."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.store import Store
from eightfold.common.errors import InputError
from tests.support.campaign.folders import Plan, broken, conformed, make_campaign, reseal
from tests.support.command import Call

OTHERS: tuple[Any, ...] = (None, True, 7, -1, 2.5, "x", "", [], {}, ["x"], {"x": []}, "\ud800")
"""Values of every type, in place of a field's."""

TURNS = 3
"""Of so many values a field gets one, the next field the next one."""


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders of campaigns that have run: one that failed, one that passed, and a run of
    conformance that deviates nowhere."""
    place = tmp_path_factory.mktemp("campaigns")
    plan = {"operators": ("ADD", "RELU"), "columns": (("golden", ""),), "cases": 6, "together": 3}
    failed = make_campaign(
        place / "failed", Plan(**plan, chosen={("ADD", "golden", 4): broken("ADD", 4)})
    )
    passed = make_campaign(place / "passed", Plan(**plan))
    return {
        "failed": failed.path,
        "passed": passed.path,
        "conform": conformed(place / "conform").path,
    }


class Judge:
    """Runs the commands that read a folder on a copy that was changed."""

    def __init__(self, original: Path, tmp_path: Path, call: Call) -> None:
        self.original, self.place, self.call = original, tmp_path, call
        self.folder = tmp_path / "copy"
        self._turn = 0
        self.fresh()
        self.right = {name: self.run(name)[:2] for name in self.commands()}

    def fresh(self) -> None:
        """Copy the folder anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.original, self.folder)

    def commands(self) -> tuple[str, ...]:
        return ("report", "resume", "merge", "conform")

    def run(self, name: str) -> tuple[int, str, str]:
        merged = self.place / "merged"
        shutil.rmtree(merged, ignore_errors=True)
        words = {
            "report": ("campaign", "report", self.folder),
            "resume": ("campaign", "resume", self.folder),
            "merge": ("campaign", "merge", self.folder, "-o", merged),
            "conform": ("conform", "report", self.folder),
            "page": (
                *("campaign", "report", self.folder, "--html", self.place / "a.html"),
                *("--junit", self.place / "a.xml", "--json", self.place / "a.json"),
            ),
        }[name]
        return self.call(*words)

    def expect_refused(self, what: str) -> None:
        """Every command says in one line that the folder is not believed."""
        for name in self.commands():
            status, out, err = self.run(name)
            assert (status, out) == (2, ""), (what, name, out, err)
            assert err.startswith("eightfold: "), (what, name, err)
            assert err.count("\n") == 1, (what, name, err)

    def expect_harmless(self, what: str, *names: str) -> None:
        """No command crashes, or says anything better than of the folder as it was."""
        for name in names or self.commands():
            status, out, err = self.run(name)
            assert status in (0, 1, 2), (what, name, err)
            assert err.count("\n") == (status == 2), (what, name, err)
            if status == 0:
                assert self.right.get(name, self.right["report"])[0] == 0, (what, name, out)

    def expect(self, what: str, *, refused: bool | None = None) -> None:
        """The folder is refused or not, None: either; a command or two, by turns, agree."""
        try:
            Folder(self.folder).store().close()
        except InputError:
            assert refused is not False, what
            accepted = False
        else:
            assert refused is not True, what
            accepted = True
        self._turn += 1
        names = self.commands()
        by_turns = names[self._turn % len(names)]
        if accepted:
            self.expect_harmless(what, *dict.fromkeys(("report", by_turns)))
        else:
            assert self.run(by_turns)[0] == 2, (what, by_turns)


@pytest.fixture(params=["failed", "passed", "conform"])
def judge(
    request: pytest.FixtureRequest, campaigns: dict[str, Path], tmp_path: Path, call: Call
) -> Judge:
    return Judge(campaigns[request.param], tmp_path, call)


def test_what_was_not_changed_is_believed(judge: Judge) -> None:
    status = {"failed": 1, "passed": 0, "conform": 0}[judge.original.name]
    conformed = 0 if judge.original.name == "conform" else 2
    assert [judge.right[name][0] for name in judge.commands()] == [status] * 3 + [conformed]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value of a JSON document."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any) -> str:
    """Return a JSON document with another value somewhere; ``...`` removes the old one."""
    copy = json.loads(json.dumps(document))
    inside = copy
    for key in at[:-1]:
        inside = inside[key]
    if value is ...:
        del inside[at[-1]]
    else:
        inside[at[-1]] = value
    return json.dumps(copy)


@pytest.mark.slow
def test_no_field_of_what_was_asked_makes_a_command_crash_or_a_verdict_better(judge: Judge) -> None:
    facts = json.loads((judge.folder / "campaign.json").read_text())
    needed = {"schema_version", "asked", "created", "versions", "machine", "plan", "commit"}
    for number, at in enumerate(places(facts)):
        for value in (..., *OTHERS[number % TURNS :: TURNS]):
            (judge.folder / "campaign.json").write_text(changed(facts, at, value))
            what = f"{at}: {value!r}"
            judge.expect(what, refused=(at[0] in needed and len(at) == 1 and value is ...) or None)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"7", b"\xff", b"[" * 100_000, b'{"asked": ' * 5000, b"9" * 9999],
    ids=range(9),
)
def test_what_is_no_object_is_refused(campaigns, tmp_path, call, text: bytes) -> None:
    judge = Judge(campaigns["passed"], tmp_path, call)
    (judge.folder / "campaign.json").write_bytes(text)
    judge.expect_refused(repr(text[:9]))


def edit(folder: Path, *commands: tuple[str, Any] | str) -> None:
    """Change a campaign's database as anybody can."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for command in commands:
            words = (command,) if isinstance(command, str) else command
            connection.execute(*words)


def value_of(folder: Path, table: str, name: str, row: str) -> object:
    """Return a value as SQLite has taken it; none if the row is not there any more."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        found = connection.execute(f"SELECT {name} FROM {table} WHERE {row}").fetchone()
    return found[0] if found else ...


FREE = {  # what may be another value of its type, since nothing else says it
    ("units", "seconds"): (int, float),
    ("units", "ended"): (int, float),
    ("units", "worker"): (str,),
    ("sessions", "started"): (int, float),
    ("sessions", "ended"): (int, float, type(None)),
    ("sessions", "workers"): (int,),
    ("sessions", "why"): (str, type(None)),
}


@pytest.mark.slow
@pytest.mark.long
def test_no_column_of_the_database_makes_a_command_crash_or_a_verdict_better(judge: Judge) -> None:
    values = (None, -1, 0, 7, 2.5, 1e300, float("inf"), "", "x", "passed", "[]", b"", b"\xff\x00")
    with closing(sqlite3.connect(judge.folder / "results.sqlite")) as connection:
        tables = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("units", "cases", "sessions")
        }
        before = {
            table: dict(
                zip(names, connection.execute(f"SELECT * FROM {table}").fetchone(), strict=True)
            )
            for table, names in tables.items()
        }
    first = {"units": "id = 1", "cases": "unit = 1 AND seed = 0", "sessions": "1"}
    count = 0
    for table, names in tables.items():
        for number, name in enumerate(names):
            for value in values[number % TURNS :: TURNS]:
                judge.fresh()
                try:
                    command = f"UPDATE {table} SET {name} = ? WHERE {first[table]}"
                    edit(judge.folder, (command, (value,)))
                except sqlite3.Error:
                    continue  # not even SQLite takes it
                count += 1
                what = f"{table}.{name}: {value!r}"
                kept = value_of(judge.folder, table, name, first[table])
                free = type(kept) in FREE.get((table, name), ())
                same = kept == before[table][name]
                judge.expect(what, refused=None if free else not same)
    assert count > 50


CONTRADICTIONS: dict[str, tuple[str, ...]] = {
    "a failure that passes": ("UPDATE cases SET verdict = 'passed' WHERE verdict = 'error'",),
    "an unknown verdict": ("UPDATE cases SET verdict = 'won' WHERE verdict = 'error'",),
    "a failure that is gone": ("DELETE FROM cases WHERE verdict = 'error'",),
    "a unit that is gone": (
        "DELETE FROM units WHERE id IN (SELECT unit FROM cases WHERE verdict = 'error')",
        "DELETE FROM cases WHERE unit NOT IN (SELECT id FROM units)",
    ),
    "cases of no unit": ("INSERT INTO cases VALUES (99, 'ADD', 0, 'passed', '')",),
    "a case that waits": ("UPDATE units SET state = 'waiting' WHERE id = 1",),
    "units in another order": (
        "UPDATE units SET id = 100 WHERE id = 1",
        "UPDATE cases SET unit = 100 WHERE unit = 1",
    ),
    "other seeds": ("UPDATE cases SET seed = seed + 100 WHERE unit = 1",),
    "another table": ("CREATE TABLE more (x)",),
    "a view in place of a table": (
        "ALTER TABLE cases RENAME TO kept",
        "CREATE VIEW cases AS SELECT unit, operator, seed, 'passed' AS verdict, message FROM kept",
    ),
    "a trigger": ("CREATE TRIGGER t AFTER UPDATE ON units BEGIN DELETE FROM cases; END",),
    "no table": ("DROP TABLE sessions",),
    "another version": ("PRAGMA user_version = 99",),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.slow
def test_what_contradicts_itself_is_refused(campaigns, tmp_path, call, name: str) -> None:
    judge = Judge(campaigns["failed"], tmp_path, call)
    edit(judge.folder, *CONTRADICTIONS[name])
    judge.expect_refused(name)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.9, 0.99])
def test_a_database_that_was_cut_is_refused(campaigns, tmp_path, call, share: float) -> None:
    judge = Judge(campaigns["failed"], tmp_path, call)
    path = judge.folder / "results.sqlite"
    os.truncate(path, int(share * path.stat().st_size))
    judge.expect_refused(f"{share}")


def test_the_database_of_another_campaign_is_refused(campaigns, tmp_path, call) -> None:
    judge = Judge(campaigns["failed"], tmp_path, call)
    (judge.folder / "results.sqlite").write_bytes(b"no database" * 999)
    judge.expect_refused("no database")
    with Store(tmp_path / "other.sqlite", writable=True) as store:
        store.plan([Unit(suite="operators", operator="ADD", first=0, count=1, backend="golden")])
    shutil.copy(tmp_path / "other.sqlite", judge.folder / "results.sqlite")
    judge.expect_refused("another one")


def test_answers_that_were_changed_are_refused(campaigns, tmp_path, call) -> None:
    judge = Judge(campaigns["conform"], tmp_path, call)
    (path,) = (judge.folder / "answers").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    judge.expect_refused("a bit")
    path.unlink()
    judge.expect_refused("missing")


@pytest.mark.parametrize("name", ["passed", "conform"])
def test_units_of_no_suite_are_refused(campaigns, tmp_path, call, name: str) -> None:
    judge = Judge(campaigns[name], tmp_path, call)
    edit(judge.folder, "UPDATE units SET record = json_set(record, '$.suite', 'made-up')")
    reseal(judge.folder)
    for path in sorted((judge.folder / "answers").glob("*")):
        path.rename(path.with_name(path.name.replace("conformance", "made_up")))
    reseal(judge.folder)
    judge.expect_refused("made-up")
    assert "has units of 'made-up', which is no suite" in judge.run("report")[2]


LINKS = ("campaign.json", "results.sqlite", "results.sqlite-wal", "lock", "failures", "answers")


@pytest.mark.parametrize("name", [*LINKS, "failures/CASE", "failures/CASE/log.txt", "answers/UNIT"])
def test_no_link_leads_out_of_a_folder(campaigns, tmp_path, call, name: str) -> None:
    judge = Judge(campaigns["failed"], tmp_path, call)
    precious = tmp_path / "precious"
    place = judge.folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    if place.exists():
        place.rename(precious)
    elif "." in place.name or place.name in ("lock", "UNIT"):
        precious.write_text("precious")
    else:
        precious.mkdir()
    before = precious.read_bytes() if precious.is_file() else b""
    place.symlink_to(precious)
    judge.expect_refused(name)
    assert precious.is_dir() or precious.read_bytes() == before
    place.unlink()
    os.mkfifo(place)  # which nobody writes
    judge.expect_refused(name)


@pytest.mark.slow
@pytest.mark.long
def test_a_unit_that_somebody_has_made_up_makes_no_command_crash(judge: Judge) -> None:
    with closing(sqlite3.connect(judge.folder / "results.sqlite")) as connection:
        (record,) = connection.execute("SELECT record FROM units WHERE id = 1").fetchone()
    table = json.loads(record)
    made_up = [
        (name, value)
        for number, name in enumerate(table)
        for value in OTHERS[number % TURNS :: TURNS]
        if value != table[name]
    ]
    made_up += [("suite", "mutants"), ("suite", "conformance"), ("operator", "../../x")]
    if table["settings"]:
        settings = json.loads(table["settings"])
        made_up += [
            ("settings", changed(settings, at, value))
            for at in places(settings)
            for value in (..., None, 7, "x", [], {})
        ]
    for name, value in made_up:
        judge.fresh()
        text = json.dumps({**table, name: value})
        try:
            edit(judge.folder, ("UPDATE units SET record = ? WHERE id = 1", (text,)))
            reseal(judge.folder)
        except (sqlite3.Error, UnicodeError):
            continue  # no column can hold it
        judge.expect(f"{name}: {value!r}")


@pytest.mark.slow
def test_what_cannot_be_read_of_a_failure_is_a_note_on_the_page(campaigns, tmp_path, call) -> None:
    judge = Judge(campaigns["failed"], tmp_path, call)
    (case,) = (judge.folder / "failures").iterdir()
    for content in (b"", b"PK\x03\x04", b"no archive"):
        for name in ("expected.npz", "got.npz", "model.tflite"):
            (case / name).write_bytes(content)
        judge.expect_harmless(repr(content), "page")


def test_a_clock_that_is_set_back_does_no_harm(campaigns, tmp_path, call) -> None:
    judge = Judge(campaigns["passed"], tmp_path, call)
    edit(judge.folder, "UPDATE sessions SET ended = started - 5000", "UPDATE units SET ended = 1")
    assert judge.run("page")[0] == 0
