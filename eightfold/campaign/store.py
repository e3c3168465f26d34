"""What is kept of a campaign: its units, how their cases ended, what they covered.

SQLite in WAL mode: whatever ends the program, a unit and all its cases are there or are not. One
process writes, any number read.
"""

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from eightfold.campaign.records import Case, Result, Unit, contradiction
from eightfold.campaign.soundness import Unsound, check_database, read_hits
from eightfold.common.child import Closing
from eightfold.common.errors import InputError
from eightfold.common.files import file_state

_SCHEMA = """
CREATE TABLE units (
    id INTEGER PRIMARY KEY,      -- in the order of the plan
    record TEXT NOT NULL UNIQUE, -- the whole unit, JSON
    suite TEXT NOT NULL,
    operator TEXT NOT NULL,
    backend TEXT NOT NULL,
    config TEXT NOT NULL,
    netlist TEXT NOT NULL,
    first INTEGER NOT NULL,      -- seed of the first case
    count INTEGER NOT NULL,      -- cases
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'lost')),
    seconds REAL,                -- that it took
    ended REAL,                  -- seconds since 1970
    worker TEXT,
    digest TEXT,                 -- of what must be the same on every machine
    hits TEXT,                   -- coverage, JSON: [[operator, point, bin, models], ...]
    answers TEXT                 -- SHA-256 of the file of its answers
);
CREATE TABLE cases (
    unit INTEGER NOT NULL REFERENCES units,
    operator TEXT NOT NULL,
    seed INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (unit, operator, seed)
) WITHOUT ROWID;
CREATE INDEX not_passed ON cases (verdict) WHERE verdict != 'passed';
CREATE TABLE sessions (
    started REAL NOT NULL,
    ended REAL,
    workers INTEGER NOT NULL,
    why TEXT                     -- it ended: complete, interrupted, budget, failures
);
PRAGMA user_version = 3;
"""

VERSION = 3
_CHECKED: dict[Path, tuple[tuple[tuple[int, ...], ...], str]] = {}
"""States of databases that were found to be sound, and the digests of their plans."""

_COLUMN = "TRIM(backend || ' ' || config || ' ' || netlist)"
_LARGEST = 2**63 - 1  # integer of SQLite


class Row(NamedTuple):
    """A case as it is kept; ``column`` as `eightfold.campaign.records.Unit` has it."""

    unit: int
    suite: str
    operator: str
    seed: int
    column: str
    verdict: str
    message: str


class Spent(NamedTuple):
    """A unit that has ended: what it took, when, and where."""

    unit: Unit
    seconds: float
    ended: float
    worker: str


class Planned(NamedTuple):
    """A unit of the plan; ``seconds``, ``ended`` and ``worker`` are None while it waits."""

    number: int
    unit: Unit
    state: str
    seconds: float | None
    ended: float | None
    worker: str | None


class Results(Closing):
    """A campaign's database.

    Raises `InputError` if the file is no campaign's or damaged, another process writes it, or a
    disk is full.

    ``path``: the file; ``writable``: whether it is written; it is made if it is not there.

    ``plan_digest``: SHA-256 of the records of the units, as the file was opened.
    """

    plan_digest: str

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        self._writable = writable
        if not writable and not path.exists():
            raise InputError(f"{path}: no such campaign; eightfold campaign run --out makes one")
        with self._told(), ExitStack() as opened:
            self._open(path, writable)
            opened.callback(self._connection.close)
            with self.snapshot():
                self.plan_digest = self._check()
            opened.pop_all()

    def _open(self, path: Path, writable: bool) -> None:
        where = str(path) if writable else f"{path.absolute().as_uri()}?mode=ro"
        self._connection = sqlite3.connect(where, uri=not writable, timeout=10)
        self._connection.execute("PRAGMA trusted_schema = OFF")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if writable:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")  # power may go at any time
            if not found:
                self._connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
                found = VERSION
        if found != VERSION:
            raise InputError(f"{path}: is no database of a campaign of this version")

    def _check(self) -> str:
        """Check the whole file, unless this process has done so since it was last written."""
        files = [path for end in ("", "-wal") if (path := Path(f"{self.path}{end}")).exists()]
        state = tuple(map(file_state, files))
        known, digest = _CHECKED.get(self.path.absolute(), ((), ""))
        if known != state:
            digest = check_database(self._connection, _SCHEMA)
            _CHECKED[self.path.absolute()] = state, digest
        return digest

    def close(self) -> None:
        """Close the file; a writer leaves it as one that can be read without being written."""
        if self._writable:
            with suppress(sqlite3.Error):  # others may read it
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one line what the database cannot do, or why it is not believed."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(f"{self.path}: {error}") from None
        except Unsound as error:
            raise InputError(f"{self.path}: is damaged, or was changed: {error}") from None

    def _rows(self, query: str, *values: object) -> list[tuple]:
        with self._told():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it everything is read as it is now, whatever is written meanwhile."""
        with self._told():
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def suites(self) -> list[str]:
        """Return the names of the suites that the units are of."""
        return [name for (name,) in self._rows("SELECT DISTINCT suite FROM units ORDER BY suite")]

    def left(self) -> int:
        """Return how many units have not ended; lost ones as well."""
        return int(self._rows("SELECT COUNT(*) FROM units WHERE state != 'done'")[0][0])

    def total_cases(self) -> int:
        """Return the number of cases of all units, run or not."""
        return int(self._rows("SELECT COALESCE(SUM(count), 0) FROM units")[0][0])

    def counts(self) -> dict[tuple[str, str, str, str], int]:
        """Return numbers of cases by (suite, operator, column, verdict).

        A case's operator is its own, where its unit has several. Cases of units that have not ended
        are ``waiting``.
        """
        ended = self._rows(
            f"SELECT suite, counted.operator, {_COLUMN}, verdict, SUM(number)"
            " FROM (SELECT unit, operator, verdict, COUNT(*) AS number"
            "       FROM cases GROUP BY unit, operator, verdict) AS counted"  # in the table's order
            " JOIN units ON unit = id GROUP BY 1, 2, 3, 4"
        )
        waiting = self._rows(
            f"SELECT suite, operator, {_COLUMN}, 'waiting', SUM(count)"
            " FROM units WHERE state = 'waiting' GROUP BY 1, 2, 3"
        )
        return {tuple(key): count for *key, count in (*ended, *waiting)}

    def verdicts(self) -> Counter[str]:
        """Return numbers of cases by verdict."""
        return Counter(dict(self._rows("SELECT verdict, COUNT(*) FROM cases GROUP BY verdict")))

    def rows(self, *verdicts: str) -> Iterator[Row]:
        """Yield cases in the order of the plan, those of ``verdicts`` or all."""
        chosen = f"WHERE verdict IN ({', '.join('?' * len(verdicts))})" if verdicts else ""
        if verdicts and "passed" not in verdicts:
            chosen += " AND verdict != 'passed'"  # by which SQLite knows that the index serves
        with self._told(), closing(self._connection.cursor()) as cursor:
            cursor.execute(
                f"SELECT unit, suite, cases.operator, seed, {_COLUMN}, verdict, message"
                f" FROM cases JOIN units ON unit = id {chosen} ORDER BY unit, seed",
                verdicts,
            )
            yield from map(Row._make, cursor)

    def units(self, suite: str | None = None, column: str | None = None) -> Iterator[Planned]:
        """Yield the units in the order of the plan, those of a suite and a column or all."""
        with self._told(), closing(self._connection.cursor()) as cursor:
            cursor.execute(
                "SELECT id, record, state, seconds, ended, worker FROM units"
                " WHERE suite = COALESCE(?, suite)"
                f" AND {_COLUMN} = COALESCE(?, {_COLUMN})"
                " ORDER BY id",
                (suite, column),
            )
            for number, record, *ended in cursor:
                yield Planned(number, Unit.from_record(record), *ended)

    def cases(self, number: int) -> list[Case]:
        """Return how the cases of a unit ended, by its number."""
        rows = self._rows(
            "SELECT seed, verdict, operator, message FROM cases WHERE unit = ? ORDER BY seed",
            number,
        )
        return [
            Case(seed=seed, verdict=verdict, operator=operator, message=message)
            for seed, verdict, operator, message in rows
        ]

    def unit(self, number: int) -> Unit:
        """Return a unit by its number."""
        return Unit.from_record(self._rows("SELECT record FROM units WHERE id = ?", number)[0][0])

    def find_case(self, name: str) -> tuple[int, Unit, int]:
        """Return the number of the unit that has a case, the unit, and the case's seed.

        Raises `InputError` if there is no such case.
        """
        for seed in {int(text) for text in re.findall(r"\d+", name)}:
            for number, record in self._rows(
                "SELECT id, record FROM units WHERE first <= ? AND ? < first + count",
                min(seed, _LARGEST),
                min(seed, _LARGEST),
            ):
                unit = Unit.from_record(record)
                if unit.case_name(seed) == name:
                    return number, unit, seed
        raise InputError(
            f"{self.path.parent}: no case {name}; eightfold campaign report lists them"
        )

    def spent(self) -> list[Spent]:
        """Return what every unit took that has ended, in the order of time."""
        rows = self._rows(
            "SELECT record, seconds, ended, worker FROM units WHERE state != 'waiting'"
            " ORDER BY ended"
        )
        return [Spent(Unit.from_record(record), *ended) for record, *ended in rows]

    def sessions(self) -> list[tuple[float, float | None, int, str | None]]:
        """Return (started, ended, workers, why it ended), in seconds since 1970."""
        return self._rows("SELECT started, ended, workers, why FROM sessions ORDER BY started")

    def hits(self) -> Counter[tuple[str, str, str]]:
        """Return models by operator, point and bin of functional coverage."""
        found: Counter[tuple[str, str, str]] = Counter()
        for (text,) in self._rows("SELECT hits FROM units WHERE hits IS NOT NULL"):
            found.update(read_hits(text))
        return found

    def answers(self) -> Iterator[tuple[Unit, str]]:
        """Yield the units that have answers, and the SHA-256 of each's."""
        for record, digest in self._rows(
            "SELECT record, answers FROM units WHERE answers IS NOT NULL ORDER BY id"
        ):
            yield Unit.from_record(record), digest


class Store(Results):
    """A campaign's database, to read and to write."""

    _zero: float | None = None

    def _now(self) -> float:
        """Return seconds since 1970, which never go back as long as the database is open.

        Somebody may set the clock: the time between two moments of a session is right all the same.
        """
        if self._zero is None:
            self._zero = max(0.0, time.time()) - time.monotonic()
        return time.monotonic() + self._zero

    def plan(self, units: Iterable[Unit]) -> None:
        """Add units that wait; those that are there already stay as they are."""
        rows = (
            (u.as_record(), u.suite, u.operator, u.backend, u.config, u.netlist, u.first, u.count)
            for u in units
        )
        with self._told(), self._connection:
            self._connection.executemany(
                "INSERT OR IGNORE INTO units (record, suite, operator, backend, config,"
                " netlist, first, count) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def begin_session(self, workers: int) -> int:
        """Note that units begin to run; return the session's number."""
        with self._told(), self._connection:
            row = "INSERT INTO sessions (started, workers) VALUES (?, ?)"
            return self._connection.execute(row, (self._now(), workers)).lastrowid or 0

    def end_session(self, number: int, why: str) -> None:
        """Note that no more units run, and why."""
        with self._told(), self._connection:
            self._connection.execute(
                "UPDATE sessions SET ended = ?, why = ? WHERE rowid = ?", (self._now(), why, number)
            )

    def waiting(self) -> list[tuple[int, Unit]]:
        """Return the units that have not ended, by their numbers; lost ones as well."""
        rows = self._rows("SELECT id, record FROM units WHERE state != 'done' ORDER BY id")
        return [(number, Unit.from_record(record)) for number, record in rows]

    def failed_wait_again(self) -> int:
        """Let units wait in which a case has failed or ended by an exception; return how many."""
        failed = "SELECT unit FROM cases WHERE verdict IN ('failed', 'error')"
        with self._told(), self._connection:
            again = self._connection.execute(
                "UPDATE units SET state = 'waiting', seconds = NULL, ended = NULL, worker = NULL,"
                f" digest = NULL, hits = NULL, answers = NULL WHERE id IN ({failed})"
            ).rowcount
            self._connection.execute(f"DELETE FROM cases WHERE unit IN ({failed})")
        return again

    def keep(self, number: int, outcome: Result, worker: str, state: str = "done") -> None:
        """Keep what a unit gave, all or nothing; what it gave before, if it was lost, goes."""
        hits = [[*place, count] for place, count in sorted(outcome.hits.items())]
        cases = [(case.operator, case.seed, case.verdict, case.message) for case in outcome.cases]
        given = outcome.digest, json.dumps(hits) if hits else None, outcome.answers_digest
        self._end(number, cases, (state, outcome.seconds, self._now(), worker, *given))

    def _end(self, number: int, cases: Iterable[tuple], ended: tuple) -> None:
        """Write the cases of a unit, and its columns from ``state`` on."""
        with self._told(), self._connection:
            self._connection.execute("DELETE FROM cases WHERE unit = ?", (number,))
            self._connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?, ?)", ((number, *case) for case in cases)
            )
            self._connection.execute(
                "UPDATE units SET state = ?, seconds = ?, ended = ?, worker = ?, digest = ?,"
                " hits = ?, answers = ? WHERE id = ?",
                (*ended, number),
            )

    def take_from(self, other: "Store") -> list[str]:
        """Add the units of another campaign, and what they gave.

        Return names of units that both have and that gave something else there, which must not be:
        their cases end by an error here, whichever campaign was the first.
        """
        different = []
        mine = dict(self._rows("SELECT record, digest FROM units WHERE state = 'done'"))
        self.plan(planned.unit for planned in other.units())
        numbers = dict(self._rows("SELECT record, id FROM units"))
        for number, record, digest, *ended in other._rows(
            "SELECT id, record, digest, state, seconds, ended, worker, digest, hits, answers"
            " FROM units WHERE state != 'waiting'"
        ):
            if record in mine:
                if ended[0] == "done" and mine[record] != digest:
                    unit = Unit.from_record(record)
                    different.append(unit.name)
                    self.keep(numbers[record], contradiction(unit), "merge")
                continue
            cases = other._rows(
                "SELECT operator, seed, verdict, message FROM cases WHERE unit = ?", number
            )
            self._end(numbers[record], cases, tuple(ended))
        with self._told(), self._connection:
            self._connection.executemany(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                other._rows("SELECT started, ended, workers, why FROM sessions"),
            )
        return different
