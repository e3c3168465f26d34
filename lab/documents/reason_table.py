"""What is accepted though LiteRT refuses it, as the Markdown table of ``docs/testplan.md``."""

from pathlib import Path

from lab.documents.cycle_tables import markdown
from lab.documents.part import table_part
from lab.hostile.reasons import REASONS


def reason_table() -> str:
    """Return a row per reason."""
    rows = [(reason.rule, reason.why) for reason in REASONS]
    return markdown(("LiteRT refuses", "it is accepted because"), rows, text=2)


TABLE = table_part("reasons", Path("docs/testplan.md"), reason_table)
