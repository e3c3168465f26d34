"""Mutated models: each is refused in one line, or computes what LiteRT computes, within limits.

They are of every operator and of networks, each from one number.
"""

import atexit
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from eightfold.campaign import records
from eightfold.campaign.records import Case, Evidence, Unit, error_case
from eightfold.campaign.store import Results
from eightfold.campaign.suite import FiguresTable, Result, Section, Suite, Wrong
from eightfold.cases.draws import Case as Drawn
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.model.mutate import Mutation, mutate, random_mutations
from eightfold.operators import load_model
from eightfold.run.reference.oracle import Oracle
from lab.hostile.trial import GOOD, Trial, Verdict, reason_for
from lab.suites.common import SEED, Request, golden_reference, planned
from lab.suites.shrink import Budget, shrink

TOGETHER = 200
"""Files of a unit: seven seconds, unless one takes its whole ten."""

VERDICTS: dict[str, records.Verdict] = {
    "refused": "passed",
    "equal": "passed",
    "tolerated": "refused",  # there is nothing to compare with
}
"""The verdict of a case by the kind of the file's; that of all other kinds is ``failed``."""


NETWORKS = "network"
"""Stands for a random network where a base is named."""

_GIVEN = 64  # elements: shapes, axes and the like are smaller

BASES = (*OPERATORS, NETWORKS)
"""What mutants are made of."""


@dataclass(frozen=True)
class Mutant:
    """A file, how it is made, and arrays for the inputs of the model that it is made from.

    ``donor``: the operator of the model from which operators and tensors are spliced in. ``seed``:
    of the base and of the donor. ``given``: arrays by tensor index, also for constants, which may
    have become inputs; of every third seed these are back to front.
    """

    base: str
    donor: str
    seed: int
    mutations: tuple[Mutation, ...]
    content: bytes
    given: dict[int, np.ndarray]

    def __str__(self) -> str:
        changes = ", ".join(map(str, self.mutations))
        return f"{self.base} {self.seed}, donor {self.donor}: {changes}"


def base_case(base: str, seed: int) -> Drawn:
    """Return a random model of one operator, or a random network, with its inputs."""
    if base == NETWORKS:
        return random_network(network_rng(seed), max_elements=512, lengths=(3, 6))
    return random_case(base, case_rng(base, seed))


def make_mutant(base: str, donor: str, seed: int, mutations: tuple[Mutation, ...]) -> Mutant:
    """Return the mutant that is made so; the same for the same arguments."""
    content, given = base_case(base, seed)
    changed = mutate(content, mutations, base_case(donor, seed)[0])
    step = 1 if seed % 3 else -1
    constants = {
        tensor.index: tensor.data.reshape(-1)[::step].reshape(tensor.shape)
        for tensor in load_model(content).tensors
        if tensor.data is not None and tensor.data.size <= _GIVEN
    }
    return Mutant(base, donor, seed, mutations, changed, {**constants, **given})


def random_mutant(seed: int) -> Mutant:
    """Return mutant ``seed``: every base in turn, one to four mutations."""
    rng = np.random.default_rng([0x3A7E, seed])
    base = BASES[seed % len(BASES)]
    donor = str(rng.choice(OPERATORS))
    return make_mutant(base, donor, seed, tuple(random_mutations(rng)))


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some files each; raise `InputError` if LiteRT is not installed."""
    Oracle().close()
    yield from request.units("hostile", "", TOGETHER)


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Judge the files of a unit; those that fail are shrunk."""
    budget = Budget()
    return Result([_case(seed, budget) for seed in unit.seeds])


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


MEANINGS = {
    "refused": "refused in one line",
    "equal": "ran, with LiteRT's tensors",
    "tolerated": "ran, though LiteRT refuses it for a rule that is not followed",
    "traceback": "an exception that is not ours",
    "time": "more processor time than a file may take",
    "memory": "more memory than a file may take",
    "died": "the process ended",
    "accepted": "ran, though LiteRT refuses it",
    "different": "other tensors than LiteRT's, or than golden's",
    "unsaid": "refused for what eightfold check does not say",
    "disagreement": "accelerator, golden or its second inference refuses what another runs",
}
"""What the kinds of `lab.hostile.trial.Verdict` mean; the first three are as they should be."""


def section(results: Results) -> Section | None:
    """Return what became of a campaign's mutated models, what is wrong first."""
    ends: Counter[tuple[str, str]] = Counter()
    for row in results.rows():
        found = Verdict.from_line(row.message) if row.suite == "hostile" else None
        if found is not None and found.kind in MEANINGS:
            ends[found.kind, found.step] += 1
    if not ends:
        return None
    kinds: Counter[str] = Counter()
    for (kind, _), count in ends.items():
        kinds[kind if kind in GOOD else "wrong"] += count
    told = ", ".join(f"{kinds[kind]:,} {kind}" for kind in (*GOOD, "wrong") if kinds[kind])
    ordered = sorted(ends, key=lambda end: (end[0] in GOOD, -ends[end], end))
    return Section(
        heading="Mutated models",
        text="Files that are nearly right. Each is to be refused in one line that eightfold check "
        "says too, or to compute what LiteRT computes, within limits of time and memory. What "
        "LiteRT refuses for one of a few rules that are not followed is tolerated, as there is "
        "nothing to compare.",
        tables=[
            FiguresTable(
                columns=("ended as", "at", "files", "share", "which means"),
                numbers=("files", "share"),
                rows=[
                    (
                        kind if kind in GOOD else Wrong(kind),
                        step.replace("+", " and "),
                        f"{ends[kind, step]:,}",
                        f"{ends[kind, step] / ends.total():.1%}",
                        MEANINGS[kind],
                    )
                    for kind, step in ordered
                ],
            )
        ],
        sentence=f"of {ends.total():,} mutated models {told}",
        figures={
            "files": ends.total(),
            "ends": [{"kind": end[0], "step": end[1], "files": ends[end]} for end in ordered],
        },
    )


SUITE = Suite(
    name="hostile",
    text="mutated models: refused in one line, or run as LiteRT runs them, within limits",
    run=run,
    plan=planned(plan),
    options=(SEED,),
    cases=400,
    runtime=golden_reference,
    subject="base model",
    section=section,
)
