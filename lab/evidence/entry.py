"""What is kept of a campaign: its cases by operator and verdict, and how to run it again."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The cases of one suite in one column of a campaign.

    Attributes
    ----------
    suite
        A name of `eightfold.campaign.suites.SUITES`.
    column
        What computed: the backend, its configuration, and the reference unless it is LiteRT.
    command
        What asks for the campaign again.
    date
        When its last unit ended, ``YYYY-MM-DD``.
    commit
        Of the checkout that began it, and of those at which failed cases ran again.
    cases
        How many ended how, by what they are about (an operator, a file of the hardware, a proof;
        empty where a suite has none of these). How: a verdict, or ``waiting``; of a mutant what
        `lab.mutants.judgement.How` says.
    kinds
        Of cases that have passed or were refused, what their messages begin with, up to a colon.
    bins
        Of functional coverage by operator: bins that were hit, and bins that can be.
    seconds
        That the units took together, by processors' clocks on the wall.
    """

    suite: str
    column: str
    command: str
    date: str
    commit: str
    cases: Mapping[str, Mapping[str, int]]
    kinds: Mapping[str, int] = field(default_factory=dict)
    bins: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """What the entry is of: a later one of the same replaces it, others are counted beside."""
        return self.suite, self.column, self.command

    @property
    def counts(self) -> Counter[str]:
        """How many cases ended how."""
        total: Counter[str] = Counter()
        for counts in self.cases.values():
            total.update(counts)
        return total

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Entry":
        """Return the entry of a `as_dict`."""
        bins = {name: (hit, asked) for name, (hit, asked) in facts["bins"].items()}
        return cls(**{**facts, "bins": bins})
