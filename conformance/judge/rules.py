"""What some of the cases have in common, as a rule over simple features, in words.

A feature is true of a case or not: of its fields, or of a value inside the reference's arithmetic.
A clause is up to three features that hold at once. `clauses_of` looks for the clauses that say best
which cases are meant, and counts what they catch beside them: every number that it says is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

Features = dict[str, Mask]
"""Features of cases, by what they say behind "have": "a negative accumulator"."""

WORTH = 0.02
"""What a further feature must add to the score of a clause."""

MAX_FEATURES, MAX_CLAUSES = 3, 3

SOUGHT = 100_000
"""How many of the cases that are meant, and of the others, say which features a clause has."""


@dataclass(frozen=True)
class Clause:
    """A rule that some of the meant cases follow."""

    features: tuple[str, ...]
    meant: int
    """How many of the meant cases it holds for, that no clause before it holds for."""
    others: int
    """How many it holds for that are not meant."""

    def sentence(self, total: int) -> str:
        """Return the rule in words, among ``total`` meant cases."""
        others = f"{self.others} others" if self.others else "no others"
        count = "all" if self.meant == total else str(self.meant)
        *first, last = self.features
        listed = f"{', '.join(first)} and {last}" if first else last
        return f"{count} (and {others}) have {listed}"


def clauses_of(features: Mapping[str, Mask], meant: Mask) -> tuple[Clause, ...]:
    """Return clauses that say which cases are ``meant``, none if none is.

    At most `MAX_CLAUSES`. Each is found feature by feature: the
    one that makes the F1 score highest, and the first in the table of two that are equal.
    """
    table = {name: mask for name, mask in features.items() if mask.any() and not mask.all()}
    left = meant.copy()
    clauses = list[Clause]()
    if not table or not meant.any():
        return ()
    names = [*table]
    while left.any() and len(clauses) < MAX_CLAUSES:
        # What an earlier clause holds for is neither for nor against a later one.
        rows = np.concatenate(
            [spread(np.flatnonzero(left), SOUGHT), spread(np.flatnonzero(~meant), SOUGHT)]
        )
        chosen = _clause(np.stack([mask[rows] for mask in table.values()]), left[rows])
        if not chosen:
            break
        texts = tuple(names[index] for index in chosen)
        caught = np.logical_and.reduce([table[name] for name in texts])
        counts = int((caught & left).sum()), int((caught & ~meant).sum())
        clauses.append(Clause(texts, *counts))
        left &= ~caught
    return tuple(clauses)


def spread(indices: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most ``most`` of ``indices``, evenly from the first to the last."""
    count = min(len(indices), most)
    return indices[np.arange(count) * len(indices) // max(count, 1)]


def _clause(masks: Mask, target: Mask) -> list[int]:
    """Return the rows of ``masks`` whose conjunction is most like ``target``."""
    total = int(target.sum())
    inside, outside = masks[:, target], masks[:, ~target]
    chosen = list[int]()
    best = 2 * total / (total + target.size)
    while len(chosen) < MAX_FEATURES:
        hits = inside.sum(axis=1)
        wrong = outside.sum(axis=1)
        scores = 2 * hits / (hits + wrong + total)
        row = int(np.argmax(scores))
        if scores[row] < best + WORTH or hits[row] == 0:
            break
        chosen, best = [*chosen, row], float(scores[row])
        inside, outside = inside & inside[row], outside & outside[row]
    return chosen


def bounds(name: str, values: NDArray[np.int64], meant: Mask) -> Features:
    """Return the features of a number that the meant cases bound; ``name`` is "a shift"."""
    if not meant.any():
        return {}
    least, most = values[meant].min(), values[meant].max()
    return {
        f"{name} of {least}": (values == least) & (values == most),
        f"{name} of {least} or more": values >= least,
        f"{name} of {most} or less": values <= most,
    }


def wide(name: str, values: NDArray[np.int64]) -> Features:
    """Return the features of a number that needs more than some bits, signed."""
    table: Features = {}
    for bits in range(2, 64):
        beyond = (values < -(1 << (bits - 1))) | (values >= 1 << (bits - 1))
        if not beyond.any():
            break
        table[f"{name} of more than {bits} bits"] = beyond
    return table


def common_text(count: int, what: str, clauses: tuple[Clause, ...]) -> str:
    """Return the rules in a sentence, of ``count`` cases; ``what`` says which these are."""
    if not clauses:
        return f"The {count} {what} have nothing simple in common."
    found = [each.sentence(count) for each in clauses]
    if rest := count - sum(each.meant for each in clauses):
        found.append(f"{rest} follow no simple rule")
    return f"Of the {count} {what}, {'; '.join(found)}."
