"""What a stranger can do to a campaign's folder: change it, and make its checksums fit again."""

import hashlib
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from eightfold.campaign.records import Unit, digest_of
from eightfold.common.errors import InputError


def reseal(folder: Path) -> None:
    """Make everything in a folder without coverage fit that anybody can make fit."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        plan = hashlib.sha256()
        for number, record, state, answers in connection.execute(
            "SELECT id, record, state, answers FROM units ORDER BY id"
        ).fetchall():
            table = json.loads(record)
            with suppress(InputError, OSError):  # a unit may be made up, and have no answers
                file = folder / "answers" / Unit.from_record(record).name
                answers = answers and hashlib.sha256(file.read_bytes()).hexdigest()
            cases = connection.execute(
                "SELECT operator, seed, verdict, message FROM cases WHERE unit = ?", (number,)
            ).fetchall()
            names = ("suite", "operator", "backend", "config", "netlist", "first", "count")
            columns = ", ".join(f"{name} = ?" for name in (*names, "digest", "answers"))
            digest = digest_of(cases, {}, answers) if state == "done" else None
            values = (*(table.get(name) for name in names), digest, answers)
            connection.execute(f"UPDATE units SET {columns} WHERE id = ?", (*values, number))
            plan.update(f"{record}\n".encode())
    facts = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**facts, "plan": plan.hexdigest()}))
