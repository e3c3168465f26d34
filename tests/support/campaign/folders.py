"""Folders of campaigns as the engine leaves them, and as a stranger may change them.

Those of `make_campaign` run nothing. Times are of a clock of their own: the same campaign is the
same bytes. Runs of ``eightfold conform run`` are made without its command.
"""

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from eightfold.campaign import store
from eightfold.campaign.campaign import begin
from eightfold.campaign.folder import Folder
from eightfold.campaign.identity import facts_of
from eightfold.campaign.records import Case, Result, Unit, digest_of
from eightfold.campaign.store import Store
from eightfold.campaign.worker import run_unit
from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile
from eightfold.conformance.suite import Task
from eightfold.operators import load_model, run_operator
from lab.coverage import EXCLUDED, every_bin
from lab.suites.common import compare, compared_case

COLUMNS = (("golden", ""), ("verilator", "base"), ("icarus", "nano"))
BEGUN = 1_790_000_000.0
"""Seconds since 1970 when the first session begins."""

NASTY = "<script>alert('&')</script>\x1b[31m\x00 ]]>"
"""What HTML and XML must not take as it is."""

COST = {"golden": 0.01, "verilator": 0.08, "icarus": 0.9}
"""Seconds of a case."""

Place = tuple[str, str, int]
"""Operator, backend and seed."""


@dataclass
class Clock:
    """Stands in for `time` where the store looks at it."""

    now: float = BEGUN

    def time(self) -> float:
        return self.now

    monotonic = time


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A campaign to be made.

    ``chosen``: cases that did not pass, by operator, backend and seed. ``lost``: numbers of units
    that are lost. ``stops``: shares of the units after which a session is interrupted; the next
    begins an hour later. ``ends``: share of the units that run at all. ``coverage``: bins of this
    share are hit, of every operator alike; None: none is asked for.
    """

    operators: Sequence[str] = ("ADD", "CONV_2D", "SOFTMAX")
    columns: Sequence[tuple[str, str]] = COLUMNS
    cases: int = 100
    together: int = 50
    chosen: Mapping[Place, Case] = field(default_factory=dict)
    lost: Collection[int] = ()
    stops: Sequence[float] = ()
    ends: float = 1.0
    coverage: float | None = None
    suite: str = "operators"


def make_campaign(path: Path, plan: Plan) -> Folder:
    """Make the folder of a campaign."""
    folder = Folder(path)
    asked = {
        "suites": [plan.suite],
        "operators": ",".join(plan.operators),
        "models": plan.cases,
        "seed": 0,
        "stall": None,
        "coverage": plan.coverage is not None,
    }
    clock = Clock()
    with mock.patch.object(store, "time", clock):
        folder.create(asked, lambda kept: kept.plan(_units(plan)))
        with folder.store(writable=True) as kept:
            _run(plan, folder, kept, clock)
    return folder


def _units(plan: Plan) -> Iterator[Unit]:
    for backend, config in plan.columns:
        for operator in plan.operators:
            for first in range(0, plan.cases, plan.together):
                yield Unit(
                    suite=plan.suite,
                    operator=operator,
                    first=first,
                    count=min(plan.together, plan.cases - first),
                    backend=backend,
                    config=config,
                    coverage=plan.coverage is not None and backend != "golden",
                )


def _run(plan: Plan, folder: Folder, kept: Store, clock: Clock) -> None:
    units = kept.waiting()
    last = round(plan.ends * len(units))
    stops = {round(share * len(units)) for share in plan.stops}
    rng = np.random.default_rng(1)
    session = kept.begin_session(2)
    for done, (number, unit) in enumerate(units[:last]):
        if done in stops:
            kept.end_session(session, "interrupted")
            clock.now += 3600
            session = kept.begin_session(4)
        seconds = COST[unit.backend] * unit.count * float(rng.uniform(0.6, 1.6))
        clock.now += seconds / 2
        lost = number in plan.lost
        outcome = replace(_outcome(plan, unit, lost), seconds=seconds)
        for case in outcome.cases:
            if case.verdict in ("failed", "error"):
                folder.keep_failure(unit, case)
        kept.keep(number, outcome, f"host-{done % 2}", "lost" if lost else "done")
    if plan.ends == 1.0:
        kept.end_session(session, "complete")


def _outcome(plan: Plan, unit: Unit, lost: bool) -> Result:
    if lost:
        cases = [
            Case(seed=s, verdict="lost", operator=unit.operator, message="the worker died 3 times")
            for s in unit.seeds
        ]
        return Result(cases=tuple(cases))
    cases = tuple(
        plan.chosen.get(
            (unit.operator, unit.backend, seed),
            Case(seed=seed, verdict="passed", operator=unit.operator),
        )
        for seed in unit.seeds
    )
    return Result(cases=cases, hits=_hits(plan, unit) if unit.coverage else {})


def _hits(plan: Plan, unit: Unit) -> dict[tuple[str, str, str], int]:
    bins = [b for b in every_bin() if b.operator == unit.operator and b not in EXCLUDED]
    hit = bins[: round((plan.coverage or 0) * len(bins))]
    return {(b.operator, b.point, b.name): 3 for b in hit}


def different(operator: str, seed: int, change: int = 1) -> Case:
    """Return a case of a kernel that is broken: its last element is off by something."""
    model, inputs = random_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    (each,) = graph.operators
    expected = dict(zip(each.outputs, run_operator(graph, each, inputs), strict=True))
    got = {index: array.copy() for index, array in expected.items()}
    first = got[each.outputs[0]]
    first.flat[-1] = first.flat[-1] ^ change
    found = compare(graph, [each], {**inputs, **got}, got, expected, ("golden", "LiteRT"))
    return compared_case(seed, operator, model, inputs, found)


def refused(operator: str, seed: int) -> Case:
    """Return a case that there was nothing to compare of."""
    message = "float32 is computed by golden, not by the accelerator"
    return Case(seed=seed, operator=operator, verdict="refused", message=message)


def broken(operator: str, seed: int, message: str = "ValueError: a bad thing") -> Case:
    """Return a case that ended by an exception."""
    return Case(seed=seed, operator=operator, verdict="error", message=message)


def mixed(path: Path) -> Folder:
    """Return a campaign that ended, with every verdict and holes in its coverage."""
    chosen = {
        ("ADD", "golden", 17): different("ADD", 17),
        ("CONV_2D", "verilator", 3): different("CONV_2D", 3, 64),
        ("CONV_2D", "verilator", 60): different("CONV_2D", 60),
        ("ADD", "verilator", 9): broken("ADD", 9, NASTY),
        **{("SOFTMAX", "icarus", seed): refused("SOFTMAX", seed) for seed in range(10, 15)},
    }
    return make_campaign(path, Plan(chosen=chosen, lost=(4,), stops=(0.5,), coverage=0.9))


def ended_campaign(
    path: Path,
    asked: Mapping[str, Any],
    ended: Sequence[tuple[Unit, Sequence[Case]]],
    waiting: Sequence[Unit] = (),
) -> Folder:
    """Make the folder of a campaign whose units ended so, within one session; others wait."""
    folder = Folder(path)
    units = [*(unit for unit, _ in ended), *waiting]
    folder.create(asked, lambda kept: kept.plan(units), facts_of(units))
    with folder.store(writable=True) as kept:
        kept.begin_session(1)
        for number, (unit, cases) in enumerate(ended, 1):
            for case in cases:
                if case.verdict == "failed":
                    folder.keep_failure(unit, case)
            kept.keep(number, Result(cases=tuple(cases), seconds=1.0), "here", "done")
    return folder


def asked_of(units: Sequence[Unit]) -> dict[str, Any]:
    """Return what the units of a run were asked, all of it."""
    task = Task.from_unit(units[0])
    return {
        "adapter": task.adapter,
        "profile": task.profile,
        "level": task.level,
        "seed": task.seed,
        "claims": list(dict.fromkeys(unit.operator for unit in units)),
        "backend": units[0].backend,
    }


def answer(folder: Folder, places: Iterable[int] | None = None) -> Folder:
    """Run the units that wait, or those at some places among them, in a session without workers."""
    with folder.store(writable=True) as store:
        session = store.begin_session(1)
        waiting = store.waiting()
        for number, unit in waiting if places is None else [waiting[place] for place in places]:
            where, outcome = run_unit(unit.as_record())
            if outcome.answers:
                folder.keep_answers(unit, outcome.answers)
            store.keep(number, outcome, where)
        store.end_session(session, "complete")
    return folder


def conformed(path: Path) -> Folder:
    """Return a run of conformance of golden's MAXIMUM, which deviates nowhere."""
    profile = Profile.from_dict({"name": "mine", "claims": ["MAXIMUM"]})
    units = list(Task.of("golden", profile, "smoke", 3).units("MAXIMUM", "process", "golden"))
    folder = Folder(path)
    begin(folder, asked_of(units), units)
    return answer(folder)


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
