"""The bins, their hits, and whether the floor is held.

The floor: every bin that is not excluded has been hit `AT_LEAST` times, and no excluded one has.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from lab.coverage.bins import Bin, every_bin
from lab.coverage.exclusions import EXCLUDED

AT_LEAST = 1
"""Models that must show each bin."""


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


def report_of(hits: Mapping[tuple[str, str, str], int]) -> Report:
    """Return the report of hits by operator, point and name of a bin."""
    return Report({b: hits.get((b.operator, b.point, b.name), 0) for b in every_bin()}, EXCLUDED)


def table(report: Report) -> Table:
    """Return the figures of each operator."""
    shown = Table("operator", title="functional coverage on RTL")
    for column in ("bins", "covered", "missing", "excluded", "fewest hits"):
        shown.add_column(column, justify="right")
    by_operator: defaultdict[str, list[Bin]] = defaultdict(list)
    for b in report.hits:
        by_operator[b.operator].append(b)
    missing = set(report.missing)
    for operator, bins in by_operator.items():
        counted = [report.hits[b] for b in bins if b not in report.excluded]
        lacking = sum(b in missing for b in bins)
        figures = (len(bins), len(counted) - lacking, lacking, len(bins) - len(counted))
        shown.add_row(operator, *map(str, figures), str(min(counted, default=0)))
    return shown
