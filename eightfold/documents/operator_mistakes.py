"""How runtimes with a mistake in an operator are called, as a table of ``docs/mistakes.md``.

``python -m eightfold.documents.operator_mistakes`` computes each mistake of each operator at level
standard, which takes minutes, and prints a row for each operator; ``--write`` puts them between the
document's markers.
"""

from collections.abc import Sequence
from pathlib import Path

from eightfold.conformance.judge.models.naming import Named, naming
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.units.unit import Level
from eightfold.documents.cycle_tables import markdown
from eightfold.documents.generated_table import GeneratedTable


def operator_table(level: Level = "standard", operators: Sequence[str] = OPERATORS) -> str:
    """Return how many mistakes each operator knows, and how a runtime that makes one is called."""
    rows = []
    for operator in operators:
        named = naming(operator, PROFILES["tflite"], level)
        rows.append((operator, *_counts(named)))
    titles = ("operator", "mistakes", "named alone", "with others", "not to be seen")
    return markdown(titles, rows, text=1)


def _counts(named: Sequence[Named]) -> tuple[str, str, str, str]:
    alone = sum(len(each.names) == 1 for each in named)
    unseen = sum(not each.names for each in named)
    return str(len(named)), str(alone), str(len(named) - alone - unseen), str(unseen)


TABLE = GeneratedTable("operators", Path("docs/mistakes.md"), operator_table)

if __name__ == "__main__":
    TABLE.main()
