"""What became of mutated models, counted by how they ended."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from eightfold.campaign.results import Results
from lab.hostile.trial import GOOD, Verdict

MEANINGS = {
    "refused": "refused in one line",
    "equal": "ran, with LiteRT's tensors",
    "tolerated": "ran, though LiteRT refuses it for a rule that is not followed",
    "traceback": "an exception that is not ours",
    "time": "more processor time than a file may take",
    "memory": "more memory than a file may take",
    "died": "the process ended",
    "accepted": "ran, though LiteRT refuses it",
    "different": "other tensors than LiteRT's, or than golden's",
    "unsaid": "refused for what eightfold check does not say",
    "disagreement": "accelerator, golden or its second inference refuses what another runs",
}
"""Of the kinds of `lab.hostile.trial.Verdict`; the first three are as they should be."""


@dataclass(frozen=True)
class Hostility:
    """The files of a campaign: how many ended so, by kind and step; what is wrong comes first."""

    ends: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """All files that were judged."""
        return sum(self.ends.values())

    @property
    def sentence(self) -> str:
        """What was found, as part of a sentence."""
        kinds: Counter[str] = Counter()
        for (kind, _), count in self.ends.items():
            kinds[kind if kind in GOOD else "wrong"] += count
        told = ", ".join(f"{kinds[kind]:,} {kind}" for kind in (*GOOD, "wrong") if kinds[kind])
        return f"of {self.total:,} mutated models {told}"

    def as_dict(self) -> dict[str, object]:
        """Return the figures by name."""
        ends = [
            {"kind": kind, "step": step, "files": count}
            for (kind, step), count in self.ends.items()
        ]
        return {"files": self.total, "ends": ends}


def hostility(results: Results) -> Hostility | None:
    """Return what became of a campaign's mutated models; None if none has been judged."""
    if not any(suite == "hostile" for suite, _, _, _ in results.counts()):
        return None
    ends: Counter[tuple[str, str]] = Counter()
    for row in results.rows():
        found = Verdict.from_line(row.message) if row.suite == "hostile" else None
        if found is not None and found.kind in MEANINGS:
            ends[found.kind, found.step] += 1

    def order(end: tuple[str, str]) -> tuple[bool, int, tuple[str, str]]:
        return end[0] in GOOD, -ends[end], end

    return Hostility({end: ends[end] for end in sorted(ends, key=order)}) if ends else None
