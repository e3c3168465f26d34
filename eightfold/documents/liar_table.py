"""How the kit names broken RTL, as the Markdown table of ``docs/mistakes.md``.

``python -m eightfold.documents.liar_table`` simulates each mistake of each form in Verilator and
in Icarus at level standard, which takes half an hour, and prints it; ``--write`` puts it between
the document's markers.
"""

from collections.abc import Sequence
from pathlib import Path

from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.liars.requantizers import Named, every_liar
from eightfold.conformance.units.unit import Level
from eightfold.documents.cycle_tables import markdown
from eightfold.documents.generated_table import GeneratedTable

SIMULATORS = ("verilator", "icarus")


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


TABLE = GeneratedTable("liars", Path("docs/mistakes.md"), liar_table)

if __name__ == "__main__":
    TABLE.main()
