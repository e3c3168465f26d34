"""Loops over the bytes of several tensors at once, and parts of them."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Nest:
    """Elements of tensors, such as operands and result.

    ``starts``: the first byte of each tensor. ``loops``, outermost first: iterations, and for each
    tensor the bytes from one to the next, 0 if it does not have the axis or is broadcast along it.
    """

    starts: tuple[int, ...]
    loops: tuple[tuple[int, ...], ...]

    def places(self, tensor: int) -> list[int]:
        """Return which loops move on in a tensor, those of long steps first."""
        steps = [loop[1 + tensor] for loop in self.loops]
        return sorted((i for i, step in enumerate(steps) if step), key=lambda i: -steps[i])

    def axes(self, tensor: int) -> list[tuple[int, int]]:
        """Return count and step of each of `places`."""
        return [(self.loops[i][0], self.loops[i][1 + tensor]) for i in self.places(tensor)]

    def size(self, tensor: int) -> int:
        """Return the bytes that are different ones in a tensor."""
        return prod(count for count, _ in self.axes(tensor))

    def span(self, tensor: int) -> int:
        """Return the bytes from the first to the last one in a tensor."""
        return 1 + sum((count - 1) * step for count, step in self.axes(tensor))

    def some(self, place: int, first: int, count: int) -> "Nest":
        """Return some iterations of a loop."""
        _, *steps = self.loops[place]
        starts = (start + first * step for start, step in zip(self.starts, steps, strict=True))
        loops = (*self.loops[:place], (count, *steps), *self.loops[place + 1 :])
        return Nest(tuple(starts), loops)

    def index(self, place: int, number: int) -> "Nest":
        """Return one iteration of a loop, which is gone then."""
        one = self.some(place, number, 1)
        return Nest(one.starts, (*one.loops[:place], *one.loops[place + 1 :]))

    def cut(self, place: int, count: int) -> tuple["Nest", "Nest"]:
        """Return the first iterations of a loop, and the others."""
        return self.some(place, 0, count), self.some(place, count, self.loops[place][0] - count)

    def halves(self, place: int | None, unit: int = 1) -> tuple["Nest", ...]:
        """Return both halves of a loop, the first one whole units; none of a loop of one."""
        if place is None:
            return ()
        count = self.loops[place][0]
        half = -(-count // (2 * unit)) * unit
        return self.cut(place, half) if half < count else ()
