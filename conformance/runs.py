"""Somebody's implementation: asked all cases of its profile as a campaign, and judged after it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eightfold.campaign.folder import Folder
from eightfold.campaign.identity import check_unchanged, short
from eightfold.campaign.records import Unit
from eightfold.campaign.store import Planned
from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress, tell
from eightfold.conformance.adapters.adapter import BUILTIN, Adapter, ModelRunner, UnitAdapter
from eightfold.conformance.answers import (
    ModelAnswer,
    UnitAnswers,
    join_units,
    unpack_models,
    unpack_unit,
    unseal,
)
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import EVERY_UNIT, Profile, parted
from eightfold.conformance.suite import PROCESS, SUITE, Task, no_answers, share_of
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.vectors.models import OperatorCase, digest_of_arrays, digest_of_cases
from eightfold.conformance.verdict import ClaimFinding, Judged, Statement
from eightfold.run.reference.runtimes import RUNTIMES


def adapter_name(text: str) -> str:
    """Return an adapter's name as workers elsewhere find it: with the whole path of its file."""
    if text in BUILTIN or ":" not in text:
        return text
    file, _, name = text.rpartition(":")
    return f"{Path(file).resolve()}:{name}"


def claims_of(
    adapter: Adapter, profile: Profile, asked: Sequence[str] = (), aspects: Sequence[str] = ()
) -> list[str]:
    """Return the claims of a profile that an adapter is asked for, in the profile's order.

    ``asked``: claims to keep to; all of the profile's that are the adapter's business, if none is
    given. ``aspects``: names of `eightfold.conformance.profile.ASPECTS`: those of each claim that
    has them follow.

    Raises InputError if the profile makes no such claim, or none that the adapter can be asked for.
    """
    alone = isinstance(adapter, UnitAdapter)
    possible = [
        claim
        for claim in profile.claims
        if (adapter.for_unit(claim, profile.spec) if claim in EVERY_UNIT else not alone)
    ]
    kind = adapter.unit if isinstance(adapter, UnitAdapter) else "operators, nor networks"
    if not possible:
        raise InputError(f"profile {profile.name}: does not claim {kind}; add to its claims")
    for claim in asked:
        if claim not in possible:
            raise InputError(
                f"--claims: profile {profile.name} does not claim {claim} of what this adapter "
                f"computes; use {', '.join(possible)}"
            )
    chosen = [claim for claim in possible if not asked or claim in asked]
    return profile.with_aspects(chosen, aspects)


def planned(task: Task, claims: Iterable[str], simulator: str | None) -> list[Unit]:
    """Return the units of a run; ``simulator`` is that of hardware, None for the adapter's first.
    Raises InputError if the adapter's hardware is not for this simulator."""
    adapter = task.load()
    if isinstance(adapter, UnitAdapter):
        backend = adapter.simulator_of(simulator)
    else:
        assert isinstance(adapter, ModelRunner)
        backend = adapter.simulator or PROCESS
        if simulator not in (None, backend):
            raise InputError(f"--backend {simulator}: this adapter computes models; leave it out")
    name = task.adapter.rpartition(":")[2]
    return [unit for claim in claims for unit in task.units(claim, backend, name)]


def judge_run(folder: Folder, on_progress: OnProgress | None = None) -> Judged:
    """Judge a run: every claim that was asked has a finding, by the cases that were answered.
    Raises InputError if the folder has no such run; if its answers are not all of one
    implementation, or are to other cases than are drawn here: see `eightfold.campaign.identity`."""
    with folder.store() as results:
        units = list(results.units(SUITE.name))
    if not units:
        raise InputError(f"{folder.path}: is no run of eightfold conform")
    task = _task_of(folder, units)
    claims = list(dict.fromkeys(each.unit.operator for each in units))
    _check_asked(folder, task, claims)
    findings: list[ClaimFinding] = []
    names: dict[str, Sequence[str]] = {}
    for done, claim in enumerate(claims):
        tell(on_progress, f"judging {claim}", done, len(claims))
        own = [each for each in units if each.unit.operator == claim]
        task.check_units([each.unit for each in own])
        if parted(claim)[0] in EVERY_UNIT:
            findings.append(_judge_unit(folder, task, claim, own))
        else:
            finding, names[claim] = _judge_models(folder, task, claim, own)
            findings.append(finding)
    statement = Statement(
        subject=units[0].unit.config,
        profile=task.claimed,
        level=task.level,
        seed=task.seed,
        findings=tuple(findings),
    )
    return Judged(statement, names)


def _task_of(folder: Folder, units: Sequence[Planned]) -> Task:
    """Return what was asked in a run of somebody's implementation.

    What has changed since then does not matter: the answers are of what was asked.

    Raises InputError if the answers are of two implementations or kits, or of another than the run
    began with.
    """
    tasks = {each.unit.settings: each.unit for each in units}
    if len(tasks) != 1:
        raise InputError(
            f"{folder.path}: has answers of {len(tasks)} runs: another adapter, or its files, "
            "profile, level or seed; ask again in a new folder"
        )
    task = Task.from_unit(next(iter(tasks.values())))
    check_unchanged(folder, task.identity, "report it with what it was begun with, or ask again")
    return task


def _check_asked(folder: Folder, task: Task, claims: Sequence[str]) -> None:
    """Raise `InputError` unless what ``campaign.json`` says was asked is what the units ask."""
    asked = folder.facts()["asked"]
    units = {**vars(task), "claims": sorted(claims)}
    for name in ("adapter", "profile", "level", "seed", "claims"):
        said = asked.get(name)
        if units[name] != (sorted(map(str, said)) if isinstance(said, list) else said):
            raise InputError(f"{folder.path}: was changed: {name} is not what its units were asked")


def _judge_unit(folder: Folder, task: Task, claim: str, units: Sequence[Planned]) -> ClaimFinding:
    """Return what is found of a unit of hardware by those of its cases that were answered."""
    every = task.unit_cases(claim)
    ended = _ended(units)
    if not ended:
        return ClaimFinding(claim=claim, counts={}, waiting=len(every))
    places = {"place": np.arange(len(every))}
    answered = np.concatenate([share_of(each.unit, places)["place"] for each in ended])
    answers = _unit_answers(folder, ended, every)
    name = parted(claim)[0]
    finding = judge_unit(name, task.claimed, every.take(answered), answers, answered)
    return replace(finding, claim=claim, waiting=len(every) - len(answered))


def _judge_models(
    folder: Folder, task: Task, claim: str, units: Sequence[Planned]
) -> tuple[ClaimFinding, list[str]]:
    """Return what is found of models by those that were answered, and the names of these."""
    ended = _ended(units)
    waiting = sum(each.unit.count for each in units) - sum(each.unit.count for each in ended)
    if not ended:
        return ClaimFinding(claim=claim, counts={}, waiting=waiting), []
    models = task.models(claim)
    answered = [number for each in ended for number in each.unit.seeds if number < len(models)]
    names = list(map(str, answered))
    cases = [models[number] for number in answered]
    answers = _model_answers(folder, ended, models)
    finding = judge_models(parted(claim)[0], cases, answers, task.claimed, names)
    return replace(finding, claim=claim, waiting=waiting), names


def _ended(units: Sequence[Planned]) -> list[Planned]:
    return [each for each in units if each.state != "waiting"]


def run_facts(folder: Folder) -> list[tuple[str, str]]:
    """Return how a run was made: pairs of a name and a value."""
    facts = folder.facts()
    asked, versions, identity = facts["asked"], facts["versions"], facts["identity"]
    if "adapter" not in asked:
        raise InputError(f"{folder.path}: is no run of eightfold conform")
    shown = [
        f"{name} {versions[name]}" for name in ("eightfold", "python", "numpy") if name in versions
    ]
    shown += [identity[each.title] for each in RUNTIMES.values() if each.title in identity]
    tool = asked["backend"]
    return [
        ("Adapter", Path(asked["adapter"]).name),
        ("Ran in", identity.get(tool.capitalize(), tool)),
        ("Begun", facts["created"]),
        ("Versions", ", ".join(shown)),
        ("Identity", short(identity)),
        *([("Commit of Eightfold", facts["commit"])] if facts["commit"] else []),
    ]


_LOST = "the process that asked it ended three times"


def _unit_answers(folder: Folder, units: Sequence[Planned], cases: UnitCases) -> UnitAnswers:
    parts = []
    for each in units:
        expected = share_of(each.unit, cases.results)
        digest = digest_of_arrays([share_of(each.unit, cases.inputs), expected])
        content = _kept_answers(folder, each, digest)
        part = no_answers(expected, _LOST) if content is None else unpack_unit(content, expected)
        parts.append(part)
    return join_units(parts)


def _model_answers(
    folder: Folder, units: Sequence[Planned], models: Sequence[OperatorCase]
) -> list[ModelAnswer]:
    answers: list[ModelAnswer] = []
    for each in units:
        share = models[each.unit.first : each.unit.first + each.unit.count]
        content = _kept_answers(folder, each, digest_of_cases(share))
        if content is not None:
            answers += map(_exactly, unpack_models(content, len(share)), share)
        else:
            answers += [ModelAnswer(ending="crashed", message=_LOST) for _ in share]
    return answers


def _kept_answers(folder: Folder, planned: Planned, cases: str) -> bytes | None:
    """Return what a unit has answered to its cases; None if it was lost."""
    content = folder.answers(planned.unit)
    if planned.state != "done" or content is None:
        return None
    try:
        return unseal(planned.unit.as_record(), cases, content)
    except InputError as error:
        raise InputError(f"{folder.path}: {planned.unit.operator}: {error}") from None


def _exactly(answer: ModelAnswer | None, case: OperatorCase) -> ModelAnswer:
    if answer is not None:
        return answer
    if case.refusal:
        return ModelAnswer(ending="refused")
    return ModelAnswer(ending="computed", tensors=case.tensors)
