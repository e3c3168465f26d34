"""A table that a command prints, or writes between a document's markers."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eightfold.common.files import write_file
from eightfold.common.markers import replace_between


@dataclass(frozen=True)
class GeneratedTable:
    """What writes the table, and where it stands: the part ``name`` of ``document``."""

    name: str
    document: Path
    table: Callable[[], str]

    def written_into(self, text: str) -> str:
        """Return a document's text with the table between its markers.

        Raises
        ------
        ValueError
            If the markers are missing.
        """
        return replace_between(text, self.name, self.table())

    def main(self) -> None:
        """Print the table, or with ``--write`` put it into the document."""
        parser = argparse.ArgumentParser(description=f"The {self.name} of {self.document}.")
        parser.add_argument(
            "--write",
            nargs="?",
            const=self.document,
            type=Path,
            metavar="FILE",
            help=str(self.document),
        )
        path = parser.parse_args().write
        if path is None:
            print(self.table(), end="")
            return
        write_file(path, self.written_into(path.read_text(encoding="utf-8")))
