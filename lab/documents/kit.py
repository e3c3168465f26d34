"""The tables of the conformance kit: mistakes with a name, and what was found of runtimes.

All but `mistake_table` are slow: `naming_table` and `runtime_table` judge models of every operator
at level standard, which takes minutes; `liar_table` simulates each mistake of each form, half an
hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from eightfold.conformance.adapters.adapter import ModelRunner
from eightfold.conformance.adapters.load import load_adapter
from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.judge.models.mistakes import MistakeNames, names_told
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.liars import Named, every_liar
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.operators import operator_cases
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from lab.documents.part import markdown, table_part

SIMULATORS = ("verilator", "icarus")

MISTAKES_PAGE = Path("docs/figures/mistakes.md")


def mistake_table() -> str:
    """Return a row per mistake: its name, its sentence, and the forms that it is made in."""
    rows = [
        (
            f"`{mistake.name}`",
            mistake.sentence,
            "all" if len(mistake.forms) == len(FORMS) else ", ".join(mistake.forms),
        )
        for mistake in MISTAKES.values()
    ]
    return markdown(("mistake", "what the unit does", "form"), rows, text=3)


def naming_table(level: Level = "standard", operators: Sequence[str] = OPERATORS) -> str:
    """Return how many mistakes each operator knows, and how a runtime that makes one is called."""
    rows = []
    for operator in operators:
        named = names_told(operator, PROFILES["tflite"], level)
        rows.append((operator, *_counts(named)))
    titles = ("operator", "mistakes", "named alone", "with others", "not to be seen")
    return markdown(titles, rows, text=1)


def _counts(named: Sequence[MistakeNames]) -> tuple[str, str, str, str]:
    alone = sum(len(each.names) == 1 for each in named)
    unseen = sum(not each.names for each in named)
    return str(len(named)), str(alone), str(len(named) - alone - unseen), str(unseen)


def liar_table(level: Level = "standard", simulators: Sequence[str] = SIMULATORS) -> str:
    """Return a row per mistake, and a right unit, and a column per form: how each was named."""
    verdicts: dict[tuple[str, str], list[Named]] = {}
    for form in FORMS:
        for simulator in simulators:
            for each in every_liar(form, simulator, level):
                verdicts.setdefault((" and ".join(each.mistakes), form), []).append(each)
    rows = [
        (
            f"`{name}`" if name else "none",
            *(_cell(verdicts.get((name, form), [])) for form in FORMS),
        )
        for name in ("", *MISTAKES)
    ]
    return markdown(("mistake in RTL", *(f"`{form}`" for form in FORMS)), rows, text=1 + len(FORMS))


def _cell(named: Sequence[Named]) -> str:
    """Return how a liar was named, in each simulator where they differ."""
    texts = dict.fromkeys(_text(each) for each in named)
    if len(texts) < 2:
        return next(iter(texts), "")
    return "; ".join(f"{each.simulator}: {_text(each)}" for each in named)


def _text(named: Named) -> str:
    return "named" if named.mistakes and named.named == named.mistakes else named.said


@dataclass(frozen=True)
class Column:
    """A runtime, and the profile that it is held against."""

    title: str
    adapter: str
    profile: str


COLUMNS = (
    Column("LiteRT reference", "litert", "tflite"),
    Column("LiteRT optimized", "litert-optimized", "tflite"),
    Column("XNNPACK", "xnnpack", "tflite"),
    Column("TFLite Micro", "tflm", "tflm"),
    Column("TFLite Micro against LiteRT", "tflm", "tflite"),
)


def findings(
    column: Column, level: Level = "standard", operators: Sequence[str] = OPERATORS
) -> dict[str, ClaimFinding]:
    """Return what is found of a runtime, by operator."""
    profile = PROFILES[column.profile]
    results = {}
    with cast(ModelRunner, load_adapter(column.adapter)) as runner:
        for operator in operators:
            cases = list(operator_cases(operator, profile, level))
            answers = runner.answer_all([(case.model, case.inputs) for case in cases])
            results[operator] = judge_models(operator, cases, answers, profile, power=False)
    return results


def entry(finding: ClaimFinding, level: Level = "standard") -> str:
    """Return a finding in a few words: it conforms, or the counts, and the mistake's name."""
    if finding.right:
        return finding.standing(level)
    counts = ", ".join(
        f"{finding.counts[outcome]} {outcome.text}"
        for outcome in CaseOutcome
        if outcome != CaseOutcome.EXACT and finding.counts.get(outcome)
    )
    name = f"`{finding.mistakes[0]}`: " if finding.mistakes else ""
    return f"{name}{counts} of {finding.cases}"


def runtime_table(level: Level = "standard") -> str:
    """Return a row per operator and a column per runtime, as `entry` says each finding."""
    columns = [findings(column, level) for column in COLUMNS]
    rows = [
        (operator, *(entry(column[operator], level) for column in columns))
        for operator in OPERATORS
    ]
    conforming = [sum(each.right for each in column.values()) for column in columns]
    rows.append(("conform", *(f"{count} of {len(OPERATORS)}" for count in conforming)))
    titles = ("operator", *(column.title for column in COLUMNS))
    return markdown(titles, rows, text=len(titles))


TABLES = (
    table_part("mistakes", MISTAKES_PAGE, mistake_table),
    table_part("operators", MISTAKES_PAGE, naming_table, slow=True),
    table_part("liars", MISTAKES_PAGE, liar_table, slow=True),
    table_part("runtimes", Path("docs/figures/runtimes.md"), runtime_table, slow=True),
)
