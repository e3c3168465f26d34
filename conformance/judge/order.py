"""Results that are right, but not those of the cases that they stand for."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

REACH = 64
"""Results are looked for so many cases away, at most."""

ENOUGH = 8
"""Results that have to agree, at least."""

Results = Mapping[str, NDArray[Any]]


def displacement(expected: Results, results: Results) -> tuple[int, int] | None:
    """Return from which case on all results are right for another case, and how far that is away.

    Parameters
    ----------
    expected, results
        By column: shape (cases,) or (cases, length); what is missing or unknown agrees with
        nothing.

    Returns
    -------
    ``(first, by)``: up to ``first`` results are right, and each later one is that of the case
    ``by`` before it, or ``-by`` after it. At the end ``-by`` results may be missing. None if this
    is not so, or too few cases show it.
    """
    wanted, given = _rows(expected), _rows(results)
    wrong = np.flatnonzero((wanted != given).any(axis=1))
    if not wrong.size:
        return None
    first = int(wrong[0])
    for by in _distances():
        later = slice(max(first, by), len(wanted) + min(by, 0))
        other = slice(later.start - by, later.stop - by)
        if later.stop - later.start >= ENOUGH and np.array_equal(given[later], wanted[other]):
            return first, by
    return None


def displacement_sentence(expected: Results, results: Results) -> str:
    """Return what `displacement` finds in a sentence, with its likely cause; empty for nothing."""
    found = displacement(expected, results)
    if found is None:
        return ""
    first, by = found
    cases = "case" if abs(by) == 1 else f"{abs(by)} cases"
    start = "Each result is right for" if first == 0 else f"From case {first} on each is right for"
    if by > 0:
        cause = f"the latency is {by} more than stated, or something answers without being asked"
        return f"{start} the {cases} before it: {cause}."
    cause = (
        f"the latency is {-by} less than stated"
        if first == 0
        else f"{'an answer' if by == -1 else f'{-by} answers'} to case {first} on got lost"
    )
    return f"{start} the {cases} after it: {cause}."


def _rows(results: Results) -> NDArray[np.int64]:
    columns = [np.asarray(values, np.int64) for values in results.values()]
    return np.concatenate([values.reshape(len(values), -1) for values in columns], axis=1)


def _distances() -> Iterator[int]:
    for distance in range(1, REACH + 1):
        yield distance
        yield -distance
