"""The power of cases: which mistakes they tell apart, and which they cannot."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.rules import spread
from eightfold.conformance.judge.subject import Cases, Mistake, Subject, parts, rows, width
from eightfold.golden.fixed_point import Integers

FIRST = 4096
"""Results that are asked first: where mistakes differ in them, no others are computed."""


@dataclass(frozen=True)
class Power:
    """What cases could not have told apart. All names are of the subject's mistakes."""

    mistakes: int
    """How many were computed."""
    unseen: tuple[str, ...]
    """Those that give the reference's results: a unit that makes one of them conforms."""
    groups: tuple[tuple[str, ...], ...]
    """Those that are seen, but give the same results as each other."""

    def sentences(self) -> list[str]:
        """Return what a report says, a sentence for each group."""
        if not self.unseen and not self.groups:
            return [f"These cases tell all {self.mistakes} mistakes from the reference, and apart."]
        found = []
        if self.unseen:
            found.append(
                f"{len(self.unseen)} of {self.mistakes} mistakes cannot be seen in these cases, "
                f"they give the reference's results: {', '.join(self.unseen)}."
            )
        found += [f"These coincide in all cases: {', '.join(group)}." for group in self.groups]
        return found


def power(subject: Subject, cases: Cases, expected: Integers) -> Power:
    """Return which mistakes of ``subject`` the cases could not have told apart.

    ``expected``: the reference's results of the cases.
    """
    mistakes = {mistake.name: mistake for mistake in subject.mistakes}
    # The reference is the empty name; what is in one class has given the same results so far.
    classes: list[list[str]] = [["", *mistakes]]
    for part in _parts(expected):
        if all(len(alike) == 1 for alike in classes):
            break
        some = rows(cases, part)
        classes = [
            finer
            for alike in classes
            for finer in (
                [alike]
                if len(alike) == 1
                else _split(subject, some, expected[part], alike, mistakes)
            )
        ]
    order = ["", *mistakes]
    classes = sorted(
        (sorted(alike, key=order.index) for alike in classes), key=lambda c: order.index(c[0])
    )
    reference, *others = classes
    return Power(
        len(mistakes),
        tuple(reference[1:]),
        tuple(tuple(alike) for alike in others if len(alike) > 1),
    )


def _parts(expected: Integers) -> Iterator[NDArray[np.int64] | slice]:
    count = len(expected)
    yield spread(np.arange(count), FIRST // width(expected))
    yield from parts(count, width(expected))


def _split(
    subject: Subject,
    cases: Cases,
    expected: Integers,
    alike: list[str],
    mistakes: dict[str, Mistake],
) -> list[list[str]]:
    """Return the classes of mistakes whose results of these cases are the same."""
    found: dict[bytes, list[str]] = {}
    for name in alike:
        results = subject.compute(cases, (mistakes[name],)) if name else expected
        codes = np.asarray(results, dtype=np.int64, order="C")
        found.setdefault(hashlib.blake2b(codes.data).digest(), []).append(name)
    return list(found.values())
