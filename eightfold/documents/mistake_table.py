"""The mistakes that have a name, as the Markdown table of ``docs/mistakes.md``.

``python -m eightfold.documents.mistake_table`` prints it, ``--write`` puts it between the
document's markers.
"""

from pathlib import Path

from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.documents.cycle_tables import markdown
from eightfold.documents.generated_table import GeneratedTable


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


TABLE = GeneratedTable("mistakes", Path("docs/mistakes.md"), mistake_table)

if __name__ == "__main__":
    TABLE.main()
