"""Random and mutated command streams on the RTL, disturbed, a good run behind each.

A legal program leaves in the arena what the machine model computes. What a mutated stream may end
with is what `eightfold.sim.machine.endings` says. Whatever a stream does, no rule of AXI is broken,
nothing outside of its regions is read or written, every request is answered, and the good run
behind it is right in as many cycles as the first one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from eightfold.campaign.records import Case, Evidence, Unit
from eightfold.campaign.shrink import Budget, shrink
from eightfold.campaign.suites.stream_runs import (
    ARENA,
    PATIENCE,
    TIMEOUT,
    Part,
    StreamCase,
    good_case,
    random_case,
    wrong_good_run,
    wrong_run,
)
from eightfold.campaign.suites.suite import (
    Request,
    Result,
    Suite,
    accelerator_designs,
    error_case,
)
from eightfold.isa import ErrorCode
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.sim.simulator.system import RunResult, run_system
from eightfold.sim.simulator.toolchain import Simulator

TOGETHER = 100
"""Streams of a simulation."""

WORDS = "commands.bin"
"""The file of a stream's words among those of a case that failed."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some streams each."""
    yield from request.units("streams", "", request.count, TOGETHER)


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Run the streams of a unit in one simulation; those that fail are shrunk."""
    drawn: list[StreamCase | Case] = []
    for seed in unit.seeds:
        try:
            case = random_case(unit.configuration(), seed)
            _ = case.ending
            drawn.append(_stalled(case, unit))
        except Exception as error:
            drawn.append(error_case(seed, "", error))
    streams = [case for case in drawn if isinstance(case, StreamCase)]
    found = iter(judged(unit, streams, trace))
    budget = Budget()
    cases = [
        _case(unit, case, *next(found), budget) if isinstance(case, StreamCase) else case
        for case in drawn
    ]
    return Result(cases, {})


def _stalled(case: StreamCase, unit: Unit) -> StreamCase:
    """Return the case with the stalls that a campaign asks for, if it asks for any."""
    return case if unit.stall is None else case.stalled(unit.stall)


def judged(
    unit: Unit, cases: Sequence[StreamCase], trace: Path | None = None
) -> list[tuple[str, RunResult | None]]:
    """Return what is wrong with each of some streams, or nothing, and how its run ended.

    If what the simulation watches ends it, each stream runs alone.
    """
    if not cases:
        return []
    good = good_case(unit.configuration())
    runs = [good.run, *(each for case in cases for each in (case.run, good.run))]
    try:
        first, *done = run_system(
            good.config,
            cast(Simulator, unit.backend),
            words=good.words,
            model=good.program.model,
            arena_bytes=ARENA,
            runs=runs,
            timeout=TIMEOUT,
            limit=PATIENCE,
            trace=trace,
        ).runs
    except BenchFailed as error:
        if len(cases) == 1:
            return [(" ".join(str(error).split()), None)]
        return [judged(unit, [case])[0] for case in cases]
    found = []
    for case, result, behind in zip(cases, done[::2], done[1::2], strict=True):
        wrong = wrong_run(case, result)
        after = wrong_good_run(good, behind, first.cycles)
        wrong = wrong or (f"the good run behind it: {after}" if after else "")
        found.append((wrong, result))
    return found


def _case(
    unit: Unit, case: StreamCase, wrong: str, result: RunResult | None, budget: Budget
) -> Case:
    if not wrong and result is not None:
        return Case(seed=case.seed, verdict="passed", message=f"{case.kind}: {_end(case, result)}")
    small = smallest(unit, case, wrong, budget)
    lines = [
        f"{case.kind}: {wrong}",
        f"may end: {case.ending}",
        "",
        f"shrunk to {len(small.parts)} of {len(case.parts)} commands, mutations and disturbances, "
        f"which fail in the same way; whole.bin has the words of all",
        f"{WORDS} may end: {small.ending}",
        "",
        small.listing(),
    ]
    files = {
        WORDS: small.words.astype("<u4").tobytes(),
        "whole.bin": case.words.astype("<u4").tobytes(),
        "model.bin": case.program.model,
        "arena.bin": case.program.arena.tobytes(),
    }
    return Case(
        seed=case.seed,
        verdict="failed",
        message=f"{case.kind}: {wrong}"[:500],
        evidence=Evidence(log="\n".join(lines), files=files),
    )


def _end(case: StreamCase, result: RunResult) -> str:
    if not result.ended:
        return "reset"
    if result.error != ErrorCode.NONE:
        return f"ended {result.error.name}"
    return "done" if case.ending.arena is None else "done, every byte as computed"


def smallest(unit: Unit, case: StreamCase, wrong: str, budget: Budget) -> StreamCase:
    """Return the stream with the fewest parts that are wrong in the same way."""

    def fails(parts: list[Part]) -> bool:
        fewer = case.only(parts)
        try:
            return _way(judged(unit, [fewer])[0][0]) == _way(wrong)
        except Exception:  # what cannot be run makes no sense without the others
            return False

    return case.only(shrink(case.parts, fails, budget))


def _way(wrong: str) -> str:
    """Return the first words of what is wrong, numbers apart."""
    words = "".join(" " if letter.isdigit() else letter for letter in wrong).split()
    return " ".join(words[:3])


SUITE = Suite(
    name="streams",
    text="random and mutated command streams, disturbed, a good run behind each",
    backends=("verilator", "icarus"),
    plan=plan,
    run=run,
    designs=accelerator_designs,
)
