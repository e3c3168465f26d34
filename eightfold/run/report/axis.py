"""An axis of cycles, and paths over it, in pixels of an SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEFT, RIGHT = 120, 16
"""Pixels before and behind an axis: in front are the names of what is drawn over it."""

LABEL = 90
"""Pixels between two numbers, about."""


@dataclass(frozen=True)
class Axis:
    """``total`` cycles on ``length`` pixels."""

    total: int
    length: int

    @property
    def width(self) -> int:
        """Pixels with what is before and behind."""
        return LEFT + self.length + RIGHT

    def x(self, cycle: float) -> float:
        """Return where a cycle is."""
        return round(LEFT + cycle * self.length / max(1, self.total), 2)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield place and text of round numbers."""
        for cycle in ticks(self.total, max(2, self.length // LABEL)):
            yield self.x(cycle), f"{cycle:,}"

    def area(self, low: NDArray, high: NDArray, top: float, height: float) -> str:
        """Return the path between two step functions of as many equal parts of the axis.

        ``low`` and ``high`` are from 0 at the bottom, ``top + height``, to 1 at the top.
        """
        edges = [self.x(part * self.total / len(low)) for part in range(len(low) + 1)]
        bottom = top + height

        def steps(values: NDArray, places: Sequence[float]) -> str:
            """Return a line that holds each value between two places."""
            parts = []
            for value, start, stop in zip(values, places, places[1:], strict=False):
                y = round(bottom - height * value, 1)
                if parts and parts[-1][0] == y:
                    parts[-1] = (y, parts[-1][1], stop)
                else:
                    parts.append((y, start, stop))
            return "L".join(f"{start:g},{y:g}L{stop:g},{y:g}" for y, start, stop in parts)

        return f"M{steps(high, edges)}L{steps(low[::-1], edges[::-1])}Z"


def ticks(total: int, count: int, base: int = 10) -> Iterator[int]:
    """Yield 0 and multiples of a round number up to ``total``, about ``count`` of them.

    Round is 1, 2 or 5 times a power of ten, or with ``base`` 2 a power of two.
    """
    step = 1
    factors = (2, 2.5, 2) if base == 10 else (2,)
    while total / step > count:
        step = round(step * factors[0])
        factors = (*factors[1:], factors[0])
    yield from range(0, total + 1, step)


def shares(
    cycles: NDArray[np.int64], counts: NDArray[np.int64], total: int, parts: int
) -> NDArray[np.float64]:
    """Return how much was counted per cycle in each of equal parts of the time.

    Parameters
    ----------
    cycles, counts
        Times in order, shape (n,), and a counter's value at each; both begin with 0.
    total
        Cycles that are parted.
    """
    edges = np.linspace(0, total, parts + 1)
    return np.diff(np.interp(edges, cycles, counts)) * parts / max(1, total)
