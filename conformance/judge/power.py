"""The power of cases: which mistakes they tell apart, and which they cannot."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from eightfold.conformance.judge.explain import Indices, M
from eightfold.conformance.judge.rules import spread
from eightfold.conformance.judge.subject import PART, Cases, Mistake, Subject, rows, width
from eightfold.golden.fixed_point import Integers

FIRST = 4096
"""Results that are asked first: where mistakes differ in them, no others are computed."""

P = TypeVar("P")
"""A part of the cases."""


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
        if not self.unseen and not self.groups:
            return [f"These cases tell all {self.mistakes} mistakes from the reference, and apart."]
        found = []
        if self.unseen:
            found.append(
                f"{len(self.unseen)} of {self.mistakes} mistakes cannot be seen in these cases, "
                f"they give the reference's results: {', '.join(self.unseen)}."
            )
        if self.groups:
            found.append(f"These coincide in all cases: {'; '.join(map(', '.join, self.groups))}.")
        return found


def power_of(
    mistakes: Sequence[M], parts: Iterable[P], digest: Callable[[M | None, P], Hashable]
) -> Power:
    """Return which mistakes cases could not have told apart.

    ``parts``: of the cases, in the order in which they are asked. ``digest``: returns what stands
    for the results of a mistake, or without one of the reference, in a part of the cases.
    """
    # What is in one group has given the same results so far.
    groups: list[list[M | None]] = [[None, *mistakes]]
    for part in parts:
        if all(len(group) == 1 for group in groups):
            break
        groups = [finer for group in groups for finer in _divided(group, part, digest)]
    names = [tuple(each.name for each in group if each) for group in groups]
    (unseen,) = (name for name, group in zip(names, groups, strict=True) if None in group)
    seen = [name for name, group in zip(names, groups, strict=True) if None not in group]
    return Power(len(mistakes), unseen, tuple(name for name in seen if len(name) > 1))


def _divided(
    group: list[M | None], part: P, digest: Callable[[M | None, P], Hashable]
) -> Iterable[list[M | None]]:
    if len(group) == 1:
        return [group]
    found: dict[Hashable, list[M | None]] = {}
    for mistake in group:
        found.setdefault(digest(mistake, part), []).append(mistake)
    return found.values()


def power(subject: Subject, cases: Cases, expected: Integers) -> Power:
    """Return which mistakes of ``subject`` the cases could not have told apart. ``expected``: the
    reference's results of the cases."""

    def digest(mistake: Mistake | None, part: Indices | slice) -> bytes:
        results = expected[part]
        if mistake is not None:
            results = subject.compute(rows(cases, part), (mistake,))
        codes = np.asarray(results, dtype=np.int64, order="C")
        return hashlib.blake2b(codes.data).digest()

    found = power_of(subject.mistakes, _parts(expected), digest)
    order = [mistake.name for mistake in subject.mistakes]
    return replace(found, groups=tuple(sorted(found.groups, key=lambda g: order.index(g[0]))))


def _parts(expected: Integers) -> Iterator[Indices | slice]:
    count = len(expected)
    step = max(1, PART // width(expected))
    yield spread(np.arange(count), FIRST // width(expected))
    for start in range(0, count, step):
        yield slice(start, start + step)
