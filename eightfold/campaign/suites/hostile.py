"""Mutated models: each is refused in one line, or computes what LiteRT computes, within limits."""

import atexit
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from eightfold.campaign import records
from eightfold.campaign.records import Case, Evidence, Unit
from eightfold.campaign.shrink import Budget, shrink
from eightfold.campaign.suites.suite import Request, Result, Suite, error_case, golden_reference
from eightfold.common.errors import InputError
from eightfold.model.mutate import Mutation
from eightfold.run.reference.oracle import Oracle
from lab.hostile import Trial, Verdict
from lab.hostile.mutant import Mutant, make_mutant, random_mutant
from lab.hostile.reasons import reason_for

TOGETHER = 200
"""Files of a unit: seven seconds, unless one takes its whole ten."""

VERDICTS: dict[str, records.Verdict] = {
    "refused": "passed",
    "equal": "passed",
    "tolerated": "refused",  # there is nothing to compare with
}
"""Of a case, by the kind of the file's; of all other kinds it is ``failed``."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some files each.

    Raises
    ------
    InputError
        If LiteRT is not installed, or another reference is asked for.
    """
    if request.reference != "litert":
        raise InputError("--suite hostile has LiteRT's opinion of each file: leave out --reference")
    Oracle().close()
    yield from request.units("hostile", "", request.count, TOGETHER)


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Judge the files of a unit; those that fail are shrunk."""
    budget = Budget()
    return Result([_case(seed, budget) for seed in unit.seeds], {})


def _case(seed: int, budget: Budget) -> Case:
    mutant = None
    try:
        mutant = random_mutant(seed)
        verdict = _judged(mutant)
        return case_of(mutant, verdict, budget)
    except Exception as error:
        return error_case(seed, "", error, mutant.content if mutant else None)


def case_of(mutant: Mutant, verdict: Verdict, budget: Budget) -> Case:
    """Return the case of a verdict; its message is the verdict's line."""
    reason = reason_for(verdict.message) if verdict.kind == "tolerated" else None
    said = replace(verdict, message=f"LiteRT refuses {reason.rule}") if reason else verdict
    case = Case(
        seed=mutant.seed,
        operator=mutant.base,
        verdict=VERDICTS.get(verdict.kind, "failed"),
        message=str(said),
    )
    if case.verdict != "failed":
        return case
    return replace(case, evidence=_evidence(mutant, verdict, budget))


def _evidence(mutant: Mutant, verdict: Verdict, budget: Budget) -> Evidence:
    """Return the file with the fewest mutations that ends in the same way, and what it was."""

    def made_of(mutations: list[Mutation]) -> Mutant:
        return make_mutant(mutant.base, mutant.donor, mutant.seed, tuple(mutations))

    def ends_so(mutations: list[Mutation]) -> bool:
        found = _judged(made_of(mutations))
        return (found.kind, found.step) == (verdict.kind, verdict.step)

    needed = shrink(mutant.mutations, ends_so, budget)
    lines = [str(verdict), "", str(mutant)]
    if len(needed) == len(mutant.mutations):
        return Evidence(model=mutant.content, inputs=mutant.given, log="\n".join(lines))
    small = made_of(needed)
    lines += [
        f"shrunk to {len(needed)} of {len(mutant.mutations)} mutations, which fail in the same "
        "way; whole.tflite has all",
        f"model.tflite: {small}",
    ]
    return Evidence(
        model=small.content,
        inputs=mutant.given,
        log="\n".join(lines),
        files={"whole.tflite": mutant.content},
    )


def _judged(mutant: Mutant) -> Verdict:
    return _trial().judge(mutant.content, mutant.given)


@cache
def _trial() -> Trial:
    """Return the processes that judge, which live as long as this one."""
    trial = Trial()
    atexit.register(trial.close)
    return trial


SUITE = Suite(
    name="hostile",
    text="mutated models: refused in one line, or run as LiteRT runs them, within limits",
    backends=("golden",),
    plan=plan,
    run=run,
    runtime=golden_reference,
)
