"""The search for mistakes that give somebody's results: one, two at once, or the closest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.rules import Mask, spread
from eightfold.conformance.judge.subject import (
    Cases,
    Mistake,
    Subject,
    agree,
    pairs,
    parts,
    rows,
    width,
)
from eightfold.golden.fixed_point import Integers

PROBED, LEAST_PROBED = 256, 16
"""Of the cases that are exact, and of those that are not: those with so many results, but so many
cases at least, are asked before the others whether a mistake explains them."""

COMPARED = 100_000
"""Results by which the closest mistake is chosen."""


@dataclass(frozen=True)
class Explanation:
    """Mistakes, one or two at once, and how many of the known results they give."""

    mistakes: tuple[Mistake, ...]
    explained: int

    @property
    def name(self) -> str:
        """The mistakes' names."""
        return " and ".join(mistake.name for mistake in self.mistakes)

    @property
    def sentence(self) -> str:
        """The mistakes' sentences."""
        return " ".join(mistake.sentence for mistake in self.mistakes)


def explain(
    subject: Subject, cases: Cases, results: Integers, known: Mask, wrong: Mask
) -> tuple[tuple[Explanation, ...], Explanation | None]:
    """Return all mistakes, else pairs, that explain the known results, and the closest mistake.

    Parameters
    ----------
    results
        Theirs.
    known
        Cases whose results are all there and known.
    wrong
        Those of them that are not exact; some are.
    """
    among = np.flatnonzero(known)
    count = max(LEAST_PROBED, PROBED // width(results))
    probed = np.concatenate(
        [spread(np.flatnonzero(mask), count) for mask in (wrong, known & ~wrong)]
    )
    probe, theirs = rows(cases, probed), results[probed]

    def fits(*mistakes: Mistake) -> bool:
        if not np.array_equal(subject.compute(probe, mistakes), theirs):
            return False
        counts = _explained(subject, cases, results, among, mistakes)
        return all(got == asked for got, asked in counts)

    full = tuple(_explanations(((m,) for m in subject.mistakes), fits, len(among)))
    full = full or tuple(_explanations(pairs(subject.mistakes), fits, len(among)))
    return (full, None) if full else ((), _closest(subject, cases, results, among, wrong))


def _explanations(
    candidates: "Iterator[tuple[Mistake, ...]]", fits: Callable[..., bool], count: int
) -> Iterator[Explanation]:
    for mistakes in candidates:
        if fits(*mistakes):
            yield Explanation(mistakes, count)


def _explained(
    subject: Subject,
    cases: Cases,
    results: Integers,
    among: NDArray[np.int64],
    mistakes: tuple[Mistake, ...],
) -> Iterator[tuple[int, int]]:
    """Return, part by part of ``among``, how many cases the mistakes give, and of how many."""
    for part in parts(len(among), width(results)):
        chosen = among[part]
        computed = subject.compute(rows(cases, chosen), mistakes)
        yield int(agree(computed, results[chosen]).sum()), len(chosen)


def _closest(
    subject: Subject, cases: Cases, results: Integers, among: NDArray[np.int64], wrong: Mask
) -> Explanation | None:
    """Return the mistake that explains most, the first of several; None if the reference does."""
    compared = spread(among, max(LEAST_PROBED, COMPARED // width(results)))
    some, theirs = rows(cases, compared), results[compared]
    scores = [
        int(agree(subject.compute(some, (mistake,)), theirs).sum()) for mistake in subject.mistakes
    ]
    if not scores:
        return None
    best = subject.mistakes[int(np.argmax(scores))]
    explained = sum(got for got, _ in _explained(subject, cases, results, among, (best,)))
    return Explanation((best,), explained) if explained > len(among) - int(wrong.sum()) else None
