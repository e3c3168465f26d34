"""Kernel geometry along one axis of the input."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from eightfold.golden.windows import Window

LONGEST = (1 << 15) - 1
"""Most rows or columns of a tensor that a command sees: their numbers have 16 bits and a sign."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a window; ``before`` is the padding in front of the ``size`` inputs."""

    size: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    outputs: int

    @classmethod
    def of(cls, window: Window, axis: int, size: int) -> "Axis":
        """Return axis 0 (vertical) or 1 (horizontal) of ``window`` over ``size`` inputs."""
        return cls(
            size=size,
            kernel=window.kernel[axis],
            stride=window.stride[axis],
            dilation=window.dilation[axis],
            before=window.pads(axis, size)[0],
            outputs=window.output_size(axis, size),
        )

    def start(self, output: int) -> int:
        """Return the input coordinate of an output's first tap; may lie in the padding."""
        return output * self.stride - self.before

    def span(self, outputs: range) -> range:
        """Return the inputs from the first to the last tap of ``outputs``, the padding included."""
        last = self.start(outputs[-1]) + (self.kernel - 1) * self.dilation
        return range(self.start(outputs[0]), last + 1)

    def inputs(self, outputs: range) -> range:
        """Return `span` without the padding; one input if nothing is left."""
        span = self.span(outputs)
        first = min(max(span.start, 0), self.size - 1)
        return range(first, max(min(span.stop, self.size), first + 1))

    def taps_inside(self, output: int) -> int:
        """Return how many taps of an output lie inside the input."""
        start = self.start(output)
        if not self.dilation:
            return self.kernel * (0 <= start < self.size)
        before = max(0, -(start // self.dilation))
        behind = max(0, -((self.size - start) // -self.dilation))
        return max(0, min(self.kernel, behind) - before)

    def some(self, taps: range) -> "Axis":
        """Return the axis of a kernel that has only these taps of this one."""
        return replace(self, kernel=len(taps), before=self.before - taps.start * self.dilation)

    def trimmed(self) -> "Axis":
        """Return the axis without the taps at both ends that lie in the padding of every output."""
        first = max(0, -(self.start(self.outputs - 1) // self.dilation))
        last = min(self.kernel - 1, (self.size - 1 - self.start(0)) // self.dilation)
        return self.some(range(first, last + 1))

    def near(self, outputs: range) -> "Axis":
        """Return the axis for these outputs, without long steps that none of them takes."""
        long = min(self.size, LONGEST)
        stride = 1 if len(outputs) == 1 and self.stride > long else self.stride
        dilation = 1 if self.kernel == 1 and self.dilation > long else self.dilation
        before = outputs.start * stride - self.start(outputs.start)
        return replace(self, stride=stride, dilation=dilation, before=before)

    def countable(self, outputs: range) -> list[range]:
        """Return the outputs in parts of which a command sees `LONGEST` inputs at most.

        Or one output each, whose taps may reach further.
        """
        reach = (self.kernel - 1) * self.dilation
        size = max(1, (LONGEST - 1 - reach) // self.stride + 1)
        return [outputs[start : start + size] for start in range(0, len(outputs), size)]

    def every(self, count: int, first: int) -> "Axis":
        """Return the axis of every ``count``-th output from ``first`` on; there is one at least."""
        return replace(
            self,
            stride=self.stride * count,
            before=-self.start(first),
            outputs=len(range(first, self.outputs, count)),
        )

    def widened(self, factor: int) -> "Axis":
        """Return the axis of a kernel that covers ``factor`` neighbouring outputs at once."""
        return replace(
            self,
            kernel=self.kernel + (factor - 1) * self.stride,
            stride=self.stride * factor,
            outputs=self.outputs // factor,
        )


def alike(outputs: range, key: Callable[[int], Hashable]) -> Iterator[range]:
    """Yield the longest runs of neighbouring outputs with the same ``key``."""
    for _, run in groupby(outputs, key):
        members = list(run)
        yield range(members[0], members[-1] + 1)
