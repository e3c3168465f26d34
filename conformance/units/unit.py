"""What the units have in common: columns of integers, levels, and their cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import Columns
from eightfold.conformance.profile import Profile

Level = Literal["smoke", "standard", "full"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""How many cases: what an RTL simulation does in seconds, in minutes, in hours."""


@dataclass(frozen=True)
class Column:
    """A number, or a list of numbers, that each case has."""

    name: str
    bits: Literal[8, 16, 32]
    signed: bool
    text: str
    """What it is: a sentence without a full stop."""
    length: int = 1
    """The length of the list."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its arrays, little-endian."""
        return np.dtype(f"<{'i' if self.signed else 'u'}{self.bits // 8}")

    @property
    def width(self) -> int:
        """Bits in a packed word."""
        return self.bits * self.length

    @property
    def names(self) -> list[str]:
        """What each number is called: those of a list ``inputs_0``, ``inputs_1``, ..."""
        if self.length == 1:
            return [self.name]
        return [f"{self.name}_{place}" for place in range(self.length)]

    def shape(self, cases: int) -> tuple[int, ...]:
        """Return the shape of the array of so many cases."""
        return (cases,) if self.length == 1 else (cases, self.length)


@dataclass(frozen=True)
class UnitCases:
    """Cases of one unit with golden's results."""

    inputs: Columns
    results: Columns

    kinds: NDArray[np.str_]
    """Why each case is there, shape (cases,)."""

    left_out: Mapping[str, int]
    """How many were drawn and left out, by the reason."""

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, places: NDArray[np.int64]) -> "UnitCases":
        tables = (self.inputs, self.results)
        inputs, results = ({name: each[places] for name, each in t.items()} for t in tables)
        return replace(self, inputs=inputs, results=results, kinds=self.kinds[places])


@dataclass(frozen=True)
class UnitKind:
    """A unit: its columns, and who makes its cases."""

    name: str
    inputs: tuple[Column, ...]
    results: tuple[Column, ...]
    make: Callable[[Profile, Level, np.random.Generator], UnitCases]
    """Who makes its cases; numbers are of any type that has them."""
    beyond: Callable[[Profile, Level, np.random.Generator], UnitCases] | None = None
    """Who makes the cases beyond the spec, if there are any."""


def as_columns(columns: tuple[Column, ...], values: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return values as arrays of their columns' types, in the columns' order. Raises OverflowError
    if a value does not fit its column: an error of ours."""
    arrays = {}
    for column in columns:
        given = np.asarray(values[column.name])
        array = given.astype(column.dtype)
        if not np.array_equal(array, given):
            raise OverflowError(f"{column.name} does not fit {column.bits} bits")
        arrays[column.name] = array
    return arrays


def zero_points(profile: Profile, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw zero points that a profile claims, of all of int8 the ends and 0 more often."""
    claimed = profile.limits.zero_points
    if claimed != "any":
        return rng.choice(np.array(claimed), count)
    ends = rng.choice([-128, 127, 0], count)
    return np.where(rng.random(count) < 0.5, ends, rng.integers(-128, 128, count))


def columns_of(columns: tuple[Column, ...], rows: Sequence[Sequence[int]]) -> Columns:
    """Return numbers that are given case by case, each row in the columns' order."""
    values = np.array(rows, dtype=np.int64).T
    return {column.name: each for column, each in zip(columns, values, strict=True)}
