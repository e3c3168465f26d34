"""What results are held against: a reference, its arithmetic, and the mistakes that are known.

A `Subject` is what `diagnosis` needs to know of a unit, and all that it knows. Its *choices* are a
frozen dataclass with a field for each place where one can go wrong, the defaults those of the
reference; a `Mistake` changes some of them, so that several at once are as easy as one.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.explain import NamedMistake
from eightfold.conformance.judge.rules import Features, Mask
from eightfold.golden.fixed_point import Integers

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C", bound="DataclassInstance")

Cases = Mapping[str, NDArray[np.int64]]
"""Cases by field: int64 of shape (n,), or (n, length) of a list."""

Steps = Sequence[tuple[str, Any]]
"""The reference's arithmetic: formulas with their numbers filled in, and the value of each."""


@dataclass(frozen=True)
class Mistake(NamedMistake):
    """A mistake as other choices than the reference's."""

    changes: Mapping[str, str | int]
    """Fields of the choices, and what they are in place of the reference's."""
    forms: tuple[str, ...] = ()
    """Where it is one, if not everywhere."""

    def of(self, choices: C) -> C:
        return replace(choices, **self.changes)


Table = Mapping[tuple[Any, ...], str]
"""Sentences of mistakes by name, choice, what that is in place of the reference's, and their forms;
of several choices, names and values have blanks between. Without forms it is one everywhere."""


def named(table: Table) -> tuple[Mistake, ...]:
    found = []
    for (name, choices, values, *forms), sentence in table.items():
        given = values.split() if isinstance(values, str) else [values]
        changes = dict(zip(choices.split(), given, strict=True))
        found.append(Mistake(name, sentence, changes, *forms))
    return tuple(found)


def made(choices: C, mistakes: Iterable[Mistake]) -> C:
    for mistake in mistakes:
        choices = mistake.of(choices)
    return choices


def pairs(mistakes: Iterable[Mistake]) -> Iterator[tuple[Mistake, Mistake]]:
    """Return the pairs of mistakes that can be made at once: at different places."""
    listed = list(mistakes)
    for position, one in enumerate(listed):
        for other in listed[position + 1 :]:
            if not one.changes.keys() & other.changes.keys():
                yield one, other


@dataclass(frozen=True)
class Subject:
    """A unit that is judged.

    Results are int64 of shape (n,), or (n, length) where a case has several.
    """

    name: str
    mistakes: tuple[Mistake, ...]
    """That one can make, in the order in which they are named."""
    choices: Any
    """Those of the reference."""
    arithmetic: Callable[[Any, Cases], Integers]
    """The results of a unit that computes as choices say."""
    features: Callable[[Cases, Mask], Features]
    """The features of the cases, for `rules.clauses_of`; the mask is what is meant."""
    sizes: Callable[[Cases], Integers]
    """How hard each case is to follow by hand: bits of its numbers, shape (n,)."""
    shown: Callable[[Cases, int, int], Mapping[str, Any]]
    """The fields of one case, by its index and the place among its results."""
    steps: Callable[[Cases, int, int], Steps]
    """The reference's arithmetic of one result; the last value is the result."""
    places: Callable[[int], str] = lambda place: ""
    """What a result is called, by its place in the case; nothing where there is one."""
    value: Callable[[int, int], Any] | None = None
    """A result as a person reads it, by its place, where that is not the integer: differences of
    such results say nothing."""

    def compute(self, cases: Cases, mistakes: tuple[Mistake, ...] = ()) -> Integers:
        """Return the results of a unit that makes these mistakes; without one the reference's."""
        return self.arithmetic(made(self.choices, mistakes), cases)


def rows(cases: Cases, indices: NDArray[np.int64] | Mask | slice) -> dict[str, Integers]:
    return {name: values[indices] for name, values in cases.items()}


def agree(results: Integers, others: Integers) -> Mask:
    """Return for each case whether all its results are the same, shape (n,)."""
    same = results == others
    return same if same.ndim == 1 else same.all(axis=1)


PART = 1 << 18
"""Results that are computed at once, so that they fit into memory."""


def width(results: NDArray[Any]) -> int:
    """Return how many results a case has."""
    return results.shape[1] if results.ndim == 2 else 1


def bits(values: Integers) -> Integers:
    """Return the bits of magnitudes; 0 has none."""
    return np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)


def scales(values: Integers) -> NDArray[np.float32]:
    """Return float32 of their bits."""
    return values.astype(np.uint32).view(np.float32)


def mantissa_bits(values: Integers) -> Integers:
    """Return the bits that mantissas of float32 need, whose bits are ``values``."""
    mantissa = (values & 0x7FFFFF) | 0x800000
    return bits(mantissa // (mantissa & -mantissa))


def shown(reals: Container[str], cases: Cases, index: int, place: int) -> dict[str, Any]:
    """Return the fields of one case; those that are ``reals`` are bits of float32."""
    case = {name: values[index].tolist() for name, values in cases.items()}
    floats = {name: scales(cases[name][index : index + 1]).item() for name in case if name in reals}
    return case | {name: f"{real:.9g}" for name, real in floats.items()}
