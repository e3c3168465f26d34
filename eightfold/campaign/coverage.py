"""Functional coverage of a campaign: bins, their hits, and whether the floor is held.

The floor: every bin that is not excluded has been hit `AT_LEAST` times, and no excluded one has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

AT_LEAST = 1
"""Models that must show each bin."""


class Bin(NamedTuple):
    """A bin of a point of an operator."""

    operator: str
    point: str
    name: str


@dataclass(frozen=True)
class Report:
    """Hits of all bins, held against the floor."""

    hits: Mapping[Bin, int]
    excluded: Mapping[Bin, str]

    @property
    def missing(self) -> list[Bin]:
        """Bins below the floor."""
        return [b for b, n in self.hits.items() if b not in self.excluded and n < AT_LEAST]

    @property
    def contradicted(self) -> list[Bin]:
        """Bins that are excluded, and were hit."""
        return [b for b in self.excluded if self.hits.get(b, 0)]

    @property
    def unknown(self) -> list[Bin]:
        """Bins that are excluded, and do not exist."""
        return [b for b in self.excluded if b not in self.hits]

    @property
    def covered(self) -> int:
        """Bins that hold the floor."""
        return len(self.hits) - len(self.excluded) - len(self.missing)

    @property
    def holds(self) -> bool:
        """Return whether the floor is held and every exclusion right."""
        return not (self.missing or self.contradicted or self.unknown)

    @property
    def by_operator(self) -> dict[str, list[Bin]]:
        """The bins of each operator, in their order."""
        found: dict[str, list[Bin]] = {}
        for b in self.hits:
            found.setdefault(b.operator, []).append(b)
        return found

    def lines(self) -> list[str]:
        """Return what is wrong, a line each."""
        wrong = {
            f"hit fewer than {AT_LEAST} times": self.missing,
            "excluded, but hit: remove the exclusion": self.contradicted,
            "excluded, but no bin": self.unknown,
        }
        return [
            f"{b.operator}: {b.point}: {b.name}: {text}"
            for text, bins in wrong.items()
            for b in bins
        ]

    def summary(self) -> str:
        """Return the figures in one line."""
        return (
            f"{len(self.hits)} bins of {len({b.operator for b in self.hits})} operators: "
            f"{self.covered} covered, {len(self.missing)} missing, {len(self.excluded)} excluded"
        )
