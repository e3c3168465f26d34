"""Cases of the conformance kit for somebody's implementation, asked through its adapter.

A unit asks some cases of one claim. What was answered is kept whole, for a verdict on all of them
(`eightfold.conformance.runs`); a campaign's own verdicts say only how many were exact.
"""

import atexit
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from eightfold.campaign.records import Case, Evidence, Unit, plain
from eightfold.campaign.suite import Result, Suite
from eightfold.common.child import one_line
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import (
    Adapter,
    ModelRunner,
    UnitAdapter,
    digest_of,
    files_of,
    load_adapter,
)
from eightfold.conformance.answers import (
    MISSING,
    Columns,
    ModelAnswer,
    Simulation,
    UnitAnswers,
    pack_models,
    pack_unit,
    seal,
)
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.conformance.judge.models.finding import shown
from eightfold.conformance.judge.sequences import ALONE, UNPAUSED
from eightfold.conformance.judge.subject import agree, rows
from eightfold.conformance.profile import EVERY_UNIT, PROFILES, Profile, parted
from eightfold.conformance.units.unit import Level, UnitCases
from eightfold.conformance.vectors.models import (
    OperatorCase,
    digest_of_arrays,
    digest_of_cases,
    model_cases,
    most_cases,
)
from eightfold.conformance.verdict import KIT, CaseOutcome
from eightfold.sim.simulator.build import design_key
from eightfold.sim.simulator.cache import content_key
from eightfold.sim.simulator.toolchain import checked_simulator

SHARE = 20_000
"""Cases of a unit of hardware that are asked in one simulation."""

TOGETHER = 100
"""Models that are asked one after the other."""

PROCESS = "process"
"""Backend of what is no simulation."""

ALONE_CASES, COPIES = 2, 4
"""How many failing cases are asked alone, a simulation each, and how often one after the other."""

ROW = 4096
"""How many cases are asked again in a row, at most."""

HELD = ("multiplier", "shift", "low", "high", "zero_point", "input_zero_point", "weight_zero_point")
"""Columns that can hold over a run of cases."""

SENSELESS = "sequence"
"""The unit whose cases mean nothing alone or in another order."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What an implementation is asked, and through which adapter."""

    adapter: str
    """As `eightfold.conformance.adapters.adapter.load_adapter` takes it."""
    files: dict[str, str]
    """What it consists of, as `eightfold.conformance.adapters.adapter.files_of` gives it."""
    profile: dict[str, Any]
    level: Level
    seed: int
    """What the cases are drawn by; the profile as `Profile.as_dict` gives it."""

    @classmethod
    def of(cls, adapter: str, profile: Profile, level: Level, seed: int) -> "Task":
        """Return the task of an adapter as its files are now; raises as `load_adapter`."""
        files = files_of(adapter, _loaded(adapter))
        return cls(adapter=adapter, files=files, profile=profile.as_dict(), level=level, seed=seed)

    @classmethod
    def from_unit(cls, unit: Unit) -> "Task":
        """Return the task that a unit is part of. Raises InputError if its settings are none, or
        the profile does not claim what it is about."""
        try:
            task = cls(**json.loads(unit.settings))
        except (ValueError, TypeError, RecursionError):
            raise InputError(f"unit {unit.name}: is no task: {unit.settings[:80]!r}") from None
        wrong = [
            each.name
            for each in fields(cls)
            if type(getattr(task, each.name))
            is not {"profile": dict, "files": dict, "seed": int}.get(each.name, str)
        ]
        if wrong or task.level not in get_args(Level) or task.seed < 0:
            raise InputError(f"unit {unit.name}: is no task: {', '.join(wrong) or 'level or seed'}")
        if parted(unit.operator)[0] not in task.claimed.claims:
            raise InputError(f"unit {unit.name}: the profile does not claim {unit.operator}")
        return task

    def check_units(self, units: Sequence[Unit]) -> None:
        """Raise `InputError` unless these are all units of a claim, and of this task."""
        first = units[0]
        if list(units) != list(self.units(first.operator, first.backend, first.config)):
            raise InputError(f"{first.operator}: its units are not those of one run")

    @property
    def claimed(self) -> Profile:
        return Profile.from_dict(self.profile)

    def load(self) -> Adapter:
        """Return the adapter. Raises InputError if one of its files is not the same any more, or
        cannot be loaded."""
        for name, digest in self.files.items():
            if digest_of(Path(name)) != digest:
                raise InputError(
                    f"{name}: has changed since this run began; begin another one, or put it back"
                )
        return _loaded(self.adapter)

    @property
    def identity(self) -> dict[str, str]:
        """What is judged and by which cases, by name: SHA-256 of all that the task has."""
        cases = [self.profile, self.level, self.seed]
        return {
            "kit": KIT,
            "adapter": content_key(self.adapter, self.files),
            "profile, level and seed": content_key(*cases),
        }

    def units(self, claim: str, backend: str, name: str) -> Iterator[Unit]:
        """Yield the units of a claim; ``name`` is the adapter's, for reports."""
        together = 1 if parted(claim)[0] in EVERY_UNIT else TOGETHER
        for first in range(0, (count := self._count(claim)), together):
            yield Unit(
                suite="conformance",
                operator=claim,
                first=first,
                count=min(together, count - first),
                backend=backend,
                config=name,
                settings=json.dumps(asdict(self), sort_keys=True),
                reference=self.claimed.reference,
            )

    def _count(self, claim: str) -> int:
        if parted(claim)[0] in EVERY_UNIT:  # a share of its cases counts as one
            return -(-len(self.unit_cases(claim)) // SHARE)
        return most_cases(claim, self.level)

    def unit_cases(self, claim: str) -> UnitCases:
        return _unit_cases(claim, json.dumps(self.profile), self.level, self.seed)

    def models(self, claim: str, first: int = 0, count: int | None = None) -> list[OperatorCase]:
        share = {"first": first, "count": count}
        return list(model_cases(claim, self.claimed, self.level, self.seed, **share))


@cache
def _loaded(adapter: str) -> Adapter:
    loaded = load_adapter(adapter)
    atexit.register(loaded.close)
    return loaded


@lru_cache(maxsize=1)
def _unit_cases(claim: str, profile: str, level: Level, seed: int) -> UnitCases:
    return contract_cases(claim, Profile.from_dict(json.loads(profile)), level, seed)


def run(unit: Unit, trace: Path | None = None) -> Result:
    task = Task.from_unit(unit)
    adapter = task.load()
    if hardware := adapter.for_unit(parted(unit.operator)[0], task.claimed.spec):
        return _ask_hardware(unit, task, hardware, trace)
    assert isinstance(adapter, ModelRunner)
    return _ask_models(unit, task, adapter)


def _ask_hardware(unit: Unit, task: Task, adapter: UnitAdapter, trace: Path | None) -> Result:
    every = task.unit_cases(unit.operator)
    inputs, expected = share_of(unit, every.inputs), share_of(unit, every.results)
    answers = _safely(adapter, inputs, expected, unit, trace)
    different = ~right(answers, expected)
    wrong = int(different.sum())
    faults = [f"{wrong} of {len(different)} answers are not exact"] if wrong else []
    faults += [f"{answers.extra} answers came unasked"] if answers.extra else []
    faults += [answers.note] if answers.note else []
    verdict = "failed" if wrong or answers.extra or answers.crashed else "passed"
    case = Case(seed=unit.first, operator=unit.operator, verdict=verdict, message="; ".join(faults))
    sealed = seal(unit.as_record(), digest_of_arrays([inputs, expected]), pack_unit(answers))
    return Result([case], {}, sealed)


def _safely(
    adapter: UnitAdapter, inputs: Columns, expected: Columns, unit: Unit, trace: Path | None
) -> UnitAnswers:
    """Return the answers; none, with the reason, if the adapter raises what it should not."""
    try:
        if trace is None:
            return ask(adapter, inputs, expected, unit.backend, unit.first)
        return adapter.answer(inputs, simulator=unit.backend, seed=unit.first, trace=trace)
    except InputError:
        raise
    except Exception as error:
        return no_answers(expected, _raised(error))


def ask(
    adapter: UnitAdapter, inputs: Columns, expected: Columns, simulator: str, seed: int = 0
) -> UnitAnswers:
    """Return the answers to cases in a row; where some are wrong, these were asked again: alone, in
    the row without pauses, among other neighbours.

    Arithmetic gives the same answer to the same case wherever it stands; what fails in a row and
    not alone is a fault of control.
    """
    answers = adapter.answer(inputs, simulator=simulator, seed=seed)
    wrong = np.flatnonzero(~right(answers, expected))
    count = len(next(iter(inputs.values())))
    if answers.crashed or not 0 < len(wrong) < count:
        return answers
    again = dict(_again(adapter, inputs, expected, simulator, wrong))
    simulation = answers.simulations[0] if answers.simulations else Simulation(len(wrong))
    return replace(answers, simulations=(replace(simulation, cases=count, again=again),))


def _again(
    adapter: UnitAdapter,
    inputs: Columns,
    expected: Columns,
    simulator: str,
    wrong: NDArray[np.int64],
) -> Iterator[tuple[str, tuple[int, int]]]:
    def answered(asker: UnitAdapter, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        answers = asker.answer(rows(inputs, places), simulator=simulator)
        return right(answers, rows(expected, places))

    still = adapter.paused(0.0)
    runs = _runs(inputs)
    last = min(int(wrong[min(len(wrong), ROW) - 1]), ROW - 1)
    order = np.flatnonzero(runs[:ROW] <= runs[last])
    among = np.isin(order, wrong)
    if adapter.unit != SENSELESS:
        few = wrong[np.linspace(0, len(wrong) - 1, min(ALONE_CASES, len(wrong))).astype(int)]
        found = [answered(still or adapter, np.full(COPIES, place)) for place in few]
        yield ALONE, (len(few), sum(bool(each[0] or each[-1]) for each in found))
    if not among.any():
        return
    if still is not None:
        yield UNPAUSED, (int(among.sum()), int(answered(still, order)[among].sum()))
    if adapter.unit != SENSELESS:
        places = np.random.default_rng(0).permutation(runs[last] + 1)
        mixed = order[np.argsort(places[runs[order]], kind="stable")]
        count = int(answered(still or adapter, mixed)[np.isin(mixed, wrong)].sum())
        yield "in other neighbours", (int(among.sum()), count)


def _runs(inputs: Columns) -> NDArray[np.int64]:
    """Return the number of each case's run, in which nothing but accumulators or lists differ.

    Where a profile has parameters hold, or lanes share them, other neighbours are other runs.
    """
    change = [np.diff(inputs[name].astype(np.int64)) != 0 for name in HELD if name in inputs]
    count = len(next(iter(inputs.values())))
    if not change:
        return np.arange(count)
    return np.append(0, np.cumsum(np.logical_or.reduce(change)))


def right(answers: UnitAnswers, expected: Columns) -> NDArray[np.bool_]:
    """Return for each case whether all of its results are the expected ones."""
    return np.logical_and.reduce(
        [agree(answers.results[name], values) for name, values in expected.items()]
    )


def share_of(unit: Unit, columns: Columns) -> dict[str, NDArray[Any]]:
    """Return the cases of a unit of work, of columns of all cases."""
    return rows(columns, slice(unit.first * SHARE, (unit.first + unit.count) * SHARE))


def no_answers(expected: Columns, note: str) -> UnitAnswers:
    """Return the answers of what has ended without any; ``note`` says why."""
    missing = {name: np.full(values.shape, MISSING) for name, values in expected.items()}
    return UnitAnswers(results=missing, note=note, crashed=True)


def _ask_models(unit: Unit, task: Task, adapter: ModelRunner) -> Result:
    asked = task.models(unit.operator, unit.first, unit.count)
    answers = _answers_to_models(adapter, asked)
    kept: list[ModelAnswer | None] = []
    cases = []
    for seed, case, answer in zip(unit.seeds, asked, answers, strict=False):
        found = shown(case, answer)
        exact = found.outcome == CaseOutcome.EXACT
        kept.append(None if exact else answer)
        ended = Case(seed=seed, operator=unit.operator, verdict="passed")
        if not exact:
            tensors = {"inputs": case.inputs, "expected": case.tensors, "got": answer.tensors}
            evidence = Evidence(model=case.model, **tensors, log=found.message)
            message = f"{found.outcome.text}: {found.message}"
            ended = replace(ended, verdict="failed", message=message, evidence=evidence)
        cases.append(ended)
    # An aspect may have fewer models than a level asks for at most.
    cases += [
        Case(seed=seed, operator=unit.operator, verdict="refused", message="there is no such model")
        for seed in unit.seeds[len(asked) :]
    ]
    return Result(cases, {}, seal(unit.as_record(), digest_of_cases(asked), pack_models(kept)))


def _answers_to_models(adapter: ModelRunner, asked: Sequence[OperatorCase]) -> list[ModelAnswer]:
    """Return an answer to each model: crashes, with the reason, if the adapter raises."""
    try:
        answers = adapter.answer_all([(case.model, case.inputs) for case in asked])
    except InputError:
        raise
    except Exception as error:
        return [ModelAnswer(ending="crashed", message=_raised(error))] * len(asked)
    if len(answers) != len(asked):
        raise InputError(
            f"answer_all of the adapter gave {len(answers)} answers to {len(asked)} models; "
            "return one for each, in their order"
        )
    return answers


def _raised(error: Exception) -> str:
    return plain(one_line(f"the adapter raised {type(error).__name__}: {error}"))


def _identity(unit: Unit) -> dict[str, str]:
    task = Task.from_unit(unit)
    adapter = task.load()
    found = task.identity
    if isinstance(adapter, UnitAdapter) and (designs := adapter.designs()):
        # What an adapter computes when it is made, such as a macro, is in no file.
        keys = [design_key(design, checked_simulator(unit.backend)) for design in designs]
        found["RTL"] = content_key(*keys)
    return found


def _adapter(unit: Unit) -> str:
    try:
        name = json.loads(unit.settings)["adapter"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""  # nothing can be loaded by such settings
    return name if type(name) is str and ":" in name else ""


def _asked_by(asked: Mapping[str, Any]) -> list[str]:
    """Return ``eightfold conform run`` with what a run was asked; a profile in a file has none."""
    if "adapter" not in asked:
        return []
    table = json.dumps(asked.get("profile"))  # which has no tuples, as in the file
    known = (name for name, each in PROFILES.items() if json.dumps(each.as_dict()) == table)
    options = {
        "adapter": asked["adapter"],
        "profile": next(known, "PROFILE.toml"),
        "claims": ",".join(asked.get("claims", ())),
        "level": asked.get("level"),
        "seed": asked.get("seed"),
        # Of models it is the adapter's.
        "backend": asked["backend"] if asked["backend"] != PROCESS else None,
    }
    given = {name: value for name, value in options.items() if value not in (None, "")}
    words = (word for name, value in given.items() for word in (f"--{name}", str(value)))
    return ["eightfold", "conform", "run", *words]


SUITE = Suite(
    name="conformance",
    text="somebody's implementation through its adapter; eightfold conform run begins it",
    backends=("verilator", "icarus", "ghdl", "nvc", PROCESS),
    run=run,
    designs=lambda unit: Task.from_unit(unit).load().designs(),
    runtime=lambda unit: Task.from_unit(unit).load().runtime,
    identity=_identity,
    adapter=_adapter,
    asked_by=_asked_by,
)
