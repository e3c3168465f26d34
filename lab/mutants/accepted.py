"""Mutants that no test catches, and that is known: ``accepted.toml`` has a reason for each."""

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.mutants.mutator import Mutant

FILE = Path(__file__).with_name("accepted.toml")


@dataclass(frozen=True)
class Accepted:
    """A mutant that may survive; it is known by what it changes, wherever the line is by now.

    Attributes
    ----------
    file, kind
        Of the mutant.
    before, after
        The lines that it changes, without the spaces around them.
    reason
        Why no test has to catch it.
    equivalent
        Whether nothing that anyone can see differs, though no proof says so: such a mutant counts
        as equivalent, any other as valid and not caught.
    """

    file: str
    kind: str
    before: str
    after: str
    reason: str
    equivalent: bool = False

    def is_of(self, mutant: Mutant) -> bool:
        """Return whether this is about a mutant."""
        change = (self.before.strip(), self.after.strip())
        return (self.file, self.kind) == (mutant.path, mutant.kind) and change == changed(mutant)


def changed(mutant: Mutant) -> tuple[str, str]:
    """Return the lines that a mutant changes, before and after, each without spaces around it."""
    before = mutant.before.splitlines()
    after = mutant.after.splitlines()
    lines: tuple[list[str], list[str]] = ([], [])
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            lines[0].extend(before[i:j])
            lines[1].extend(after[k:m])
    old, new = ("\n".join(line.strip() for line in each) for each in lines)
    return old, new


@cache
def every_accepted() -> tuple[Accepted, ...]:
    """Return what `FILE` has."""
    table = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(Accepted(**each) for each in table.get("mutant", ()))


def acceptance(mutant: Mutant, accepted: Sequence[Accepted]) -> Accepted | None:
    """Return what says why a mutant may survive; None if it may not."""
    return next((each for each in accepted if each.is_of(mutant)), None)
