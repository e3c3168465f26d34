"""What a campaign's folder may say: all of it is looked at before any of it is believed.

A folder may have been cut by a full disk, edited, or come from a stranger. Every type, every value
and everything that is said twice is checked when it is opened, in one place; what reads it
afterwards needs no care. This finds damage and changes; who makes up a whole campaign that never
ran is found by running its cases again.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

from eightfold.campaign.records import Unit, Verdict, digest_of
from eightfold.common.errors import InputError

SCHEMA_VERSION = 2
"""The version of ``campaign.json``: counts up when a required field comes, goes or changes."""

LATEST = 253_402_300_799
"""Last second of the year 9999, since 1970."""

_COLUMNS = ("suite", "operator", "backend", "config", "netlist", "first", "count")
_ENDED = ("seconds", "ended", "worker", "digest", "hits", "answers")


class Unsound(ValueError):  # noqa: N818 - reads as what is found
    """What is wrong, in a few words."""


def read_facts(path: Path) -> dict[str, Any]:
    """Return the contents of a ``campaign.json``, every field of its type.

    Raises `FileNotFoundError` if there is no such file. Raises `InputError` if it is damaged, or of
    another version of Eightfold.
    """
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        _require(isinstance(facts, dict), "no object")
        version = facts.get("schema_version")
        if type(version) is int and version != SCHEMA_VERSION:
            raise InputError(f"{path}: is not of this version of Eightfold")
        _check_facts(facts)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except Unsound as error:
        raise InputError(f"{path}: is damaged, or was changed: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is damaged: no JSON: {error}") from None
    return facts


def _check_facts(facts: Any) -> None:
    for name, kinds in _FACTS.items():
        _require(type(facts.get(name, ...)) in kinds, f"{name} is {_shown(facts, name)}")
    for name in ("versions", "machine"):
        for key, value in facts[name].items():
            _require(type(value) in (str, int), f"{name}.{key} is {value!r}")
    for part, text in facts["identity"].items():
        _require(type(text) is str, f"identity.{part} is {text!r}")
    for value in facts.get("again", ()):
        _require(type(value) in (str, type(None)), f"again has {value!r}")
    _check_asked(facts["asked"])
    json.dumps(facts, ensure_ascii=False).encode()  # no halves of characters


_FACTS: Mapping[str, tuple[type, ...]] = {
    "schema_version": (int,),
    "asked": (dict,),
    "created": (str,),
    "versions": (dict,),
    "identity": (dict,),
    "commit": (str, type(None)),
    "machine": (dict,),
    "plan": (str,),
    "again": (list, type(...)),  # or it is not there
}


def _check_asked(asked: Any) -> None:
    _require(type(asked) is dict, f"asked is {asked!r}")
    merged = asked.get("merged", [])
    _require(type(merged) is list, f"asked.merged is {merged!r}")
    for each in merged:
        _check_asked(each)
    _require(type(asked.get("seed", 0)) is int, f"asked.seed is {asked.get('seed')!r}")
    if "adapter" in asked:  # of eightfold conform run
        for name in ("adapter", "backend"):
            _require(type(asked.get(name)) is str, f"asked.{name} is {_shown(asked, name)}")


def _shown(table: Mapping[str, Any], name: str) -> str:
    return repr(table[name])[:80] if name in table else "missing"


def check_database(connection: sqlite3.Connection, schema: str) -> str:
    """Return the SHA-256 of the plan of a campaign's database, all of which is checked.

    Raises `Unsound` if anything is not as `eightfold.campaign.store` writes it. Raises
    `sqlite3.Error` if the file is no database, or cut.
    """
    # Before anything else is asked of it: no views, no triggers, no tables but ours.
    with sqlite3.connect(":memory:") as empty:
        empty.executescript(schema)
        _require(_tables(connection) == _tables(empty), "its tables are not a campaign's")
    empty.close()
    for (line,) in connection.execute("PRAGMA quick_check(1)"):
        _require(line == "ok", str(line))
    _check_cases(connection)
    plan = hashlib.sha256()
    groups = groupby(
        connection.execute(
            "SELECT unit, operator, seed, verdict, message FROM cases ORDER BY unit, operator, seed"
        ),
        itemgetter(0),
    )
    following = next(groups, None)
    names = ("id", "record", *_COLUMNS, "state", *_ENDED)
    for row in connection.execute(f"SELECT {', '.join(names)} FROM units ORDER BY id"):
        found: dict[str, Any] = dict(zip(names, row, strict=True))
        cases = []
        if following and following[0] == found["id"]:
            cases = [case[1:] for case in following[1]]
            following = next(groups, None)
        try:
            _check_unit(found, cases)
        except (InputError, Unsound) as error:
            raise Unsound(f"unit {found['id']}: {error}") from None
        plan.update(f"{found['record']}\n".encode())
    _require(following is None, "there are cases of no unit")
    for session in connection.execute("SELECT started, ended, workers, why FROM sessions"):
        _check_session(*session)
    return plan.hexdigest()


def _tables(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    ).fetchall()


def _check_cases(connection: sqlite3.Connection) -> None:
    # By SQLite: there may be millions.
    verdicts = get_args(Verdict)
    wrong = connection.execute(
        "SELECT unit, seed, verdict FROM cases WHERE typeof(operator) != 'text'"
        " OR typeof(seed) != 'integer' OR typeof(message) != 'text'"
        f" OR verdict NOT IN ({', '.join('?' * len(verdicts))}) LIMIT 1",
        verdicts,
    ).fetchone()
    if wrong:
        unit, seed, verdict = wrong
        raise Unsound(f"unit {unit}: case {str(seed)[:80]} has verdict {str(verdict)[:80]!r}")


def _check_unit(found: Mapping[str, Any], cases: list[tuple[Any, ...]]) -> None:
    unit = Unit.from_record(found["record"])
    for name in _COLUMNS:
        value = getattr(unit, name)
        _require(found[name] == value, f"{name} is {found[name]!r}, and {value!r} in its record")
    state = found["state"]
    _require(state in ("waiting", "done", "lost"), f"state is {state!r}")
    if state == "waiting":
        for name in _ENDED:
            _require(found[name] is None, f"{name} is {found[name]!r}, though it waits")
        _require(not cases, "has cases, though it waits")
        return
    for name, most in (("seconds", math.inf), ("ended", LATEST)):
        _check_number(name, found[name], most)
    _check_type("worker", found["worker"], str)
    _check_type("digest", found["digest"], str)
    _check_type("answers", found["answers"], str, type(None))
    hits = read_hits(found["hits"])
    lost = {verdict == "lost" for _, _, verdict, _ in cases}
    _require(lost <= {state == "lost"}, f"is {state}, and its cases are not")
    _require(len(cases) == unit.count, f"has {len(cases)} cases of {unit.count}")
    seeds = sorted(seed for _, seed, _, _ in cases)
    _require(seeds == list(unit.seeds), "has cases of other seeds")
    digest = digest_of(cases, hits, found["answers"])
    _require(digest == found["digest"], "gave something else than what is kept of it")


def read_hits(text: Any) -> dict[tuple[str, str, str], int]:
    """Return functional coverage as it is kept: models by operator, point and bin.

    Raises `Unsound` if it is anything else.
    """
    if text is None:
        return {}
    _check_type("hits", text, str)
    try:
        table = json.loads(text)
        found = {(operator, point, name): count for operator, point, name, count in table}
    except (ValueError, TypeError, RecursionError):
        raise Unsound(f"hits is {text[:80]!r}") from None
    _require(bool(found), f"hits is {text!r}")
    for place, count in found.items():
        right = all(type(word) is str for word in place) and type(count) is int and count >= 0
        _require(right, f"hits has {place}: {count!r}")
    return found


def _check_session(started: Any, ended: Any, workers: Any, why: Any) -> None:
    _check_number("started of a session", started, LATEST)
    if ended is not None:
        _check_number("ended of a session", ended, LATEST)
    _check_type("workers of a session", workers, int)
    _check_type("why of a session", why, str, type(None))


def _check_number(name: str, value: Any, most: float) -> None:
    right = type(value) in (int, float) and 0 <= value <= most and math.isfinite(value)
    _require(right, f"{name} is {value!r}")


def _check_type(name: str, value: Any, *kinds: type) -> None:
    _require(type(value) in kinds, f"{name} is {str(value)[:80]!r}")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise Unsound(what)
