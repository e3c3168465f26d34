"""The tables of ``docs/mistakes.md``: mistakes with a name, and how the kit names who makes them.

Two of them are slow: `runtime_table` computes each mistake of each operator at level standard,
which takes minutes; `liar_table` simulates each mistake of each form, half an hour.
"""

from collections.abc import Sequence
from pathlib import Path

from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.models import naming
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.liars import Named, every_liar
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.units.unit import Level
from lab.documents.cycle_tables import markdown
from lab.documents.part import table_part

SIMULATORS = ("verilator", "icarus")

PAGE = Path("docs/mistakes.md")


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


def runtime_table(level: Level = "standard", operators: Sequence[str] = OPERATORS) -> str:
    """Return how many mistakes each operator knows, and how a runtime that makes one is called."""
    rows = []
    for operator in operators:
        named = naming.naming(operator, PROFILES["tflite"], level)
        rows.append((operator, *_counts(named)))
    titles = ("operator", "mistakes", "named alone", "with others", "not to be seen")
    return markdown(titles, rows, text=1)


def _counts(named: Sequence[naming.Named]) -> tuple[str, str, str, str]:
    alone = sum(len(each.names) == 1 for each in named)
    unseen = sum(not each.names for each in named)
    return str(len(named)), str(alone), str(len(named) - alone - unseen), str(unseen)


def liar_table(level: Level = "standard", simulators: Sequence[str] = SIMULATORS) -> str:
    """Return a row per mistake, and a right unit, and a column per form: how each was named."""
    found: dict[tuple[str, str], list[Named]] = {}
    for form in FORMS:
        for simulator in simulators:
            for each in every_liar(form, simulator, level):
                found.setdefault((" and ".join(each.mistakes), form), []).append(each)
    rows = [
        (f"`{name}`" if name else "none", *(_cell(found.get((name, form), [])) for form in FORMS))
        for name in ("", *MISTAKES)
    ]
    return markdown(("mistake in RTL", *(f"`{form}`" for form in FORMS)), rows, text=1 + len(FORMS))


def _cell(named: Sequence[Named]) -> str:
    """Return how a liar was named, in each simulator where they differ."""
    said = dict.fromkeys(_said(each) for each in named)
    if len(said) < 2:
        return next(iter(said), "")
    return "; ".join(f"{each.simulator}: {_said(each)}" for each in named)


def _said(named: Named) -> str:
    return "named" if named.mistakes and named.named == named.mistakes else named.said


TABLES = (
    table_part("mistakes", PAGE, mistake_table),
    table_part("operators", PAGE, runtime_table, slow=True),
    table_part("liars", PAGE, liar_table, slow=True),
)
