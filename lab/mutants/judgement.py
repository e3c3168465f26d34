"""What is known of a mutant in the end, and how a line says it."""

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

How = Literal["caught", "survived", "accepted", "equivalent", "invalid"]
"""A test fails; none does; none does, which is accepted for a reason; it is the same hardware; it
is no hardware."""

HOW: tuple[How, ...] = get_args(How)


@dataclass(frozen=True)
class Judgement:
    """How a mutant ended.

    Attributes
    ----------
    kind, line
        Of the mutant.
    how
        What was found.
    text
        More of it: by which test, or why.
    log
        What was run, for who wants to know what a survivor has survived.
    """

    kind: str
    line: int
    how: How
    text: str
    log: str = ""

    @property
    def message(self) -> str:
        """The judgement in one line, which `from_message` reads."""
        return f"{self.kind} in line {self.line}: {self.how}: {self.text}"

    @classmethod
    def from_message(cls, message: str) -> "Judgement | None":
        """Return the judgement of a line; None if it is another line."""
        found = re.fullmatch(r"(\w+) in line (\d+): (\w+): (.*)", message, re.DOTALL)
        if found is None:
            return None
        if found[3] not in HOW:
            return None
        return cls(found[1], int(found[2]), cast(How, found[3]), found[4])
