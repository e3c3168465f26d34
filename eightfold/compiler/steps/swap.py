"""Matrices of bytes transposed by the matrix engine (`eightfold.compiler.steps.picking`).

A vector of the result is a run of the result, at most as long as there are lanes; the bytes for it
are in few vectors of the input if there are either few rows or few columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.steps.picking import Block
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Swap:
    """``outer`` matrices of ``rows`` x ``columns`` items of ``item`` bytes, to be transposed."""

    outer: int
    rows: int
    columns: int
    item: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.outer * self.rows * self.columns * self.item

    @property
    def source_axes(self) -> list[tuple[int, int]]:
        """Matrices, rows, bytes of a row: how many, and the bytes from one to the next."""
        row = self.columns * self.item
        return [(self.outer, self.rows * row), (self.rows, row), (row, 1)]

    @property
    def target_axes(self) -> list[tuple[int, int]]:
        """The same of the result."""
        return replace(self, rows=self.columns, columns=self.rows).source_axes

    def some(self, outer: int, rows: int, columns: int) -> "Swap":
        """Return a part of so many matrices, rows and columns."""
        return Swap(outer, rows, columns, self.item)


@dataclass(frozen=True)
class Way(ABC):
    """Which bytes a result vector has."""

    config: AcceleratorConfig

    @abstractmethod
    def unit(self, swap: Swap) -> int:
        """Return the columns, or rows, of a result vector; 0 if it has none."""

    @abstractmethod
    def lines(self, swap: Swap) -> int:
        """Return how many there are of what a part may have some of: columns, or rows."""

    @abstractmethod
    def part(self, swap: Swap, outer: range, lines: range) -> tuple[Swap, int, int]:
        """Return some matrices and lines, with their first byte in source and target."""

    @abstractmethod
    def blocks(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield all vectors; the steps of the axes may be longer than those of ``swap``."""

    def cycles(self, swap: Swap) -> int:
        """Return the cycles for tensors in the scratchpad, about."""
        axes = (swap.source_axes, swap.target_axes)
        found = self.blocks(swap, *([step for _, step in each] for each in axes))
        return sum(block.cycles(self.config) for block in found)


class WholeColumns(Way):
    """Neighbouring columns, each whole; or matrices, where several have room. For few rows."""

    def unit(self, swap: Swap) -> int:
        """Return the columns that are within a lane each, and of a row within a vector."""
        return min(self.config.lanes // swap.rows, self.config.width) // swap.item

    def lines(self, swap: Swap) -> int:
        """Return the columns."""
        return swap.columns

    def part(self, swap: Swap, outer: range, lines: range) -> tuple[Swap, int, int]:
        """Return some matrices and columns."""
        start = outer.start * swap.size // swap.outer
        into = start + lines.start * swap.rows * swap.item
        some = swap.some(len(outer), swap.rows, len(lines))
        return some, start + lines.start * swap.item, into

    def blocks(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield vectors of columns, or of matrices."""
        matrix = swap.size // swap.outer
        together = self.config.lanes // matrix
        if together > 1 and source[0] == target[0] == matrix:
            for start, size, count in shared(swap.outer, together):
                yield Block(
                    self._places(swap.some(size, swap.rows, swap.columns), source),
                    self.config.width,
                    (start * matrix, start * matrix),
                    (1, 0, 0),
                    (count, size * matrix, size * matrix),
                )
            return
        for start, size, count in shared(swap.columns, self.unit(swap)):
            places = self._places(swap.some(1, swap.rows, size), source)
            side_by_side = int(places.max()) // self.config.width + 1
            yield Block(
                places,
                self.config.width if side_by_side <= swap.rows else source[1],
                (start * swap.item, start * target[1]),
                (swap.outer, source[0], target[0]),
                (count, size * swap.item, size * target[1]),
            )

    def _places(self, swap: Swap, source: Sequence[int]) -> NDArray[np.int64]:
        sizes = (swap.outer, swap.columns, swap.rows, swap.item)
        return _sums(sizes, (source[0], swap.item, source[1], 1))


class PartsOfColumns(Way):
    """Neighbouring rows of one column, which lie in vectors side by side. For few columns."""

    def unit(self, swap: Swap) -> int:
        """Return the rows that are within a lane each."""
        return self.config.lanes // swap.item

    def lines(self, swap: Swap) -> int:
        """Return the rows."""
        return swap.rows

    def part(self, swap: Swap, outer: range, lines: range) -> tuple[Swap, int, int]:
        """Return some matrices and rows."""
        start = outer.start * swap.size // swap.outer
        some = swap.some(len(outer), len(lines), swap.columns)
        first = start + lines.start * swap.columns * swap.item
        return some, first, start + lines.start * swap.item

    def blocks(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield vectors of rows, column by column."""
        for start, size, count in shared(swap.rows, self.unit(swap)):
            places = _sums((size, swap.item), (source[1], 1))
            for column in range(swap.columns):
                yield Block(
                    places,
                    self.config.width,
                    (
                        start * source[1] + column * swap.item,
                        column * target[1] + start * swap.item,
                    ),
                    (swap.outer, source[0], target[0]),
                    (count, size * source[1], size * swap.item),
                )


def shared(total: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, size, count): parts of at most so many, of one size but for the last."""
    size = -(-total // -(-total // most))
    count, rest = divmod(total, size)
    yield 0, size, count
    if rest:
        yield count * size, rest, 1


def _sums(sizes: Sequence[int], steps: Sequence[int]) -> NDArray[np.int64]:
    """Return the places that loops with these steps reach, the last one innermost."""
    found = np.zeros(1, dtype=np.int64)
    for size, step in zip(sizes, steps, strict=True):
        found = (found[:, None] + np.arange(size) * step).reshape(-1)
    return found


def best_way(swap: Swap, config: AcceleratorConfig) -> Way | None:
    """Return the way with the fewest cycles, None if a vector has no room for an item."""
    ways = [way for way in (WholeColumns(config), PartsOfColumns(config)) if way.unit(swap)]
    return min(ways, key=lambda way: way.cycles(swap), default=None)


def swapped(shape: Sequence[int], axes: Sequence[int], item: int) -> Swap | None:
    """Return a TRANSPOSE of elements of ``item`` bytes as one of matrices; None if it is none.

    Axis i of the result is axis ``axes[i]`` of the input. Axes that stay together become one.
    """
    runs: list[list[int]] = []
    for axis in (axis for axis in axes if shape[axis] > 1):
        behind = runs and all(shape[a] == 1 for a in range(runs[-1][-1] + 1, axis))
        if behind and axis > runs[-1][-1]:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    inner = item
    order = sorted(runs)
    sizes = {run[0]: prod(shape[axis] for axis in run) for run in runs}
    if runs and runs[-1] == order[-1]:
        inner *= sizes[runs.pop()[0]]
        order.pop()
    outer = 1
    if runs and runs[0] == order[0]:
        outer = sizes[runs.pop(0)[0]]
    if len(runs) != 2:
        return None
    return Swap(outer, sizes[runs[1][0]], sizes[runs[0][0]], inner)
