"""What was found of runtimes, as a Markdown table: a row per operator of the spec.

LiteRT's kernels, XNNPACK and TFLite Micro are judged at level standard, which takes minutes, for
``docs/check-your-rtl.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from eightfold.conformance.adapters.adapter import ModelRunner
from eightfold.conformance.adapters.load import load_adapter
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.operators import operator_cases
from eightfold.conformance.verdict import Finding, Outcome
from lab.documents.cycle_tables import markdown
from lab.documents.part import table_part


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
) -> dict[str, Finding]:
    """Return what is found of a runtime, by operator."""
    profile = PROFILES[column.profile]
    found = {}
    with cast(ModelRunner, load_adapter(column.adapter)) as runner:
        for operator in operators:
            cases = list(operator_cases(operator, profile, level))
            answers = runner.answer_all([(case.model, case.inputs) for case in cases])
            found[operator] = judge_models(operator, cases, answers, profile, power=False)
    return found


def entry(finding: Finding, level: Level = "standard") -> str:
    """Return a finding in a few words: it conforms, or the counts, and the mistake's name."""
    if finding.right:
        return finding.standing(level)
    counts = ", ".join(
        f"{finding.counts[outcome]} {outcome.text}"
        for outcome in Outcome
        if outcome != Outcome.EXACT and finding.counts.get(outcome)
    )
    name = f"`{finding.mistakes[0]}`: " if finding.mistakes else ""
    return f"{name}{counts} of {finding.cases}"


def runtime_table(level: Level = "standard") -> str:
    """Return a row per operator and a column per runtime, as `entry` says each finding."""
    columns = [findings(column, level) for column in COLUMNS]
    rows = [
        (operator, *(entry(found[operator], level) for found in columns)) for operator in OPERATORS
    ]
    conforming = [sum(each.right for each in found.values()) for found in columns]
    rows.append(("conform", *(f"{count} of {len(OPERATORS)}" for count in conforming)))
    titles = ("operator", *(column.title for column in COLUMNS))
    return markdown(titles, rows, text=len(titles))


TABLE = table_part("runtimes", Path("docs/check-your-rtl.md"), runtime_table, slow=True)
