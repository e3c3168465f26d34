"""What the engine writes into a campaign's database, which `results` reads."""

import json
import time
from collections.abc import Iterable

from eightfold.campaign.records import Case, Outcome, Unit
from eightfold.campaign.results import Results


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
            return int(
                self._connection.execute(
                    "INSERT INTO sessions (started, workers) VALUES (?, ?)", (self._now(), workers)
                ).lastrowid
                or 0
            )

    def end_session(self, number: int, why: str) -> None:
        """Note that no more units run, and why."""
        with self._told(), self._connection:
            self._connection.execute(
                "UPDATE sessions SET ended = ?, why = ? WHERE rowid = ?",
                (self._now(), why, number),
            )

    def waiting(self) -> list[tuple[int, Unit]]:
        """Return the units that have not ended, by their numbers; lost ones as well."""
        with self._told():
            rows = self._connection.execute(
                "SELECT id, record FROM units WHERE state != 'done' ORDER BY id"
            ).fetchall()
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

    def keep(self, number: int, outcome: Outcome, worker: str, state: str = "done") -> None:
        """Keep what a unit gave, all or nothing; what it gave before, if it was lost, goes."""
        hits = [[*place, count] for place, count in sorted(outcome.hits.items())]
        with self._told(), self._connection:
            self._connection.execute("DELETE FROM cases WHERE unit = ?", (number,))
            self._connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?, ?)",
                (_case_row(number, case) for case in outcome.cases),
            )
            self._connection.execute(
                "UPDATE units SET state = ?, seconds = ?, ended = ?, worker = ?, digest = ?,"
                " hits = ?, answers = ? WHERE id = ?",
                (
                    state,
                    outcome.seconds,
                    self._now(),
                    worker,
                    outcome.digest,
                    json.dumps(hits) if hits else None,
                    outcome.answers_digest,
                    number,
                ),
            )

    def take_from(self, other: "Store") -> list[str]:
        """Add the units of another campaign, and what they gave.

        Returns
        -------
        list of str
            Names of units that both have, and that gave something else there: which must not be.
        """
        different = []
        mine = dict(self._rows("SELECT record, digest FROM units WHERE state = 'done'"))
        self.plan(
            Unit.from_record(r) for (r,) in other._rows("SELECT record FROM units ORDER BY id")
        )
        numbers = dict(self._rows("SELECT record, id FROM units"))
        for number, record, state, *ended, digest, hits, answers in other._rows(
            "SELECT id, record, state, seconds, ended, worker, digest, hits, answers FROM units"
            " WHERE state != 'waiting'"
        ):
            if record in mine:
                if state == "done" and mine[record] != digest:
                    different.append(Unit.from_record(record).name)
                continue
            with self._told(), self._connection:
                self._connection.execute("DELETE FROM cases WHERE unit = ?", (numbers[record],))
                self._connection.executemany(
                    "INSERT INTO cases VALUES (?, ?, ?, ?, ?)",
                    (
                        (numbers[record], *case)
                        for case in other._rows(
                            "SELECT operator, seed, verdict, message FROM cases WHERE unit = ?",
                            number,
                        )
                    ),
                )
                self._connection.execute(
                    "UPDATE units SET state = ?, seconds = ?, ended = ?, worker = ?, digest = ?,"
                    " hits = ?, answers = ? WHERE id = ?",
                    (state, *ended, digest, hits, answers, numbers[record]),
                )
        with self._told(), self._connection:
            self._connection.executemany(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                other._rows("SELECT started, ended, workers, why FROM sessions"),
            )
        return different


def _case_row(number: int, case: Case) -> tuple[int, str, int, str, str]:
    return number, case.operator, case.seed, case.verdict, case.message
