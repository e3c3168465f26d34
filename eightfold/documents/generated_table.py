"""A table that stands between a document's markers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eightfold.common.markers import replace_between


@dataclass(frozen=True)
class GeneratedTable:
    """What makes the table, and where it stands: the part ``name`` of ``document``.

    ``slow`` ones take minutes; tests compare them with what makes them only in parts.
    """

    name: str
    document: Path
    table: Callable[[], str]
    slow: bool = False

    def written_into(self, text: str) -> str:
        """Return a document's text with the table between its markers.

        Raises
        ------
        ValueError
            If the markers are missing.
        """
        return replace_between(text, self.name, self.table())
