"""What became of mutants, counted by kind and by file."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from eightfold.campaign.results import Results
from lab.mutants.judgement import HOW, Judgement

VALID = ("caught", "survived", "accepted")
"""Of mutants that are other hardware than before."""


@dataclass
class Tally:
    """How many mutants ended how; ``counts`` is by `lab.mutants.judgement.How`."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def drawn(self) -> int:
        """All that have been judged."""
        return self.counts.total()

    @property
    def valid(self) -> int:
        """Those that are other hardware; ones that may survive are among them."""
        return sum(self.counts[how] for how in VALID)

    @property
    def share(self) -> float | None:
        """Of the valid ones the share that was caught; None if there are none."""
        return self.counts["caught"] / self.valid if self.valid else None

    @property
    def percent(self) -> str:
        """The share as a text, rounded down: 100% is when all were caught."""
        if not self.valid:
            return "–"
        tenths = 1000 * self.counts["caught"] // self.valid
        return "100%" if tenths == 1000 else f"{tenths / 10:.1f}%"

    def as_dict(self) -> dict[str, float | None]:
        """Return the figures by name."""
        counts = {how: self.counts[how] for how in HOW}
        return {"drawn": self.drawn, "valid": self.valid, **counts, "share": self.share}


@dataclass(frozen=True)
class Mutation:
    """The mutants of a campaign: all of them, by kind and by file; most survivors first."""

    total: Tally
    kinds: Mapping[str, Tally]
    files: Mapping[str, Tally]

    @property
    def sentence(self) -> str:
        """What was found, as part of a sentence."""
        total = self.total
        if not total.valid:
            return f"of {total.drawn:,} mutants none is valid"
        caught, valid = total.counts["caught"], total.valid
        are = "is" if valid == 1 else "are"
        return (
            f"of {total.drawn:,} mutants {valid:,} {are} valid, and tests caught {caught:,} of "
            f"those ({total.percent})"
        )


def mutation(results: Results) -> Mutation | None:
    """Return what became of a campaign's mutants; None if none has been judged."""
    total = Tally()
    kinds: dict[str, Tally] = {}
    files: dict[str, Tally] = {}
    if not any(suite == "mutants" for suite, _, _, _ in results.counts()):
        return None
    for row in results.rows():
        found = Judgement.from_message(row.message) if row.suite == "mutants" else None
        if found is not None:
            for tally in (
                total,
                kinds.setdefault(found.kind, Tally()),
                files.setdefault(row.operator, Tally()),
            ):
                tally.counts[found.how] += 1
    return Mutation(total, _sorted(kinds), _sorted(files)) if total.drawn else None


def _sorted(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    def order(name: str) -> tuple[int, int, str]:
        tally = tallies[name]
        return -tally.counts["survived"], -tally.counts["accepted"], name

    return {name: tallies[name] for name in sorted(tallies, key=order)}
