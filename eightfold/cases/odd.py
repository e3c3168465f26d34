"""Random networks that are legal and that nobody would train: what lies at the edges of the rules.

Ranks 0 to 8, more than 65,536 elements along an axis, 4,000 channels, images of one pixel or one
channel, windows and strides larger than the image, the same tensor as both operands, inputs that
nothing reads, outputs that are inputs, constants, or read further.
"""

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from eightfold.cases.builder import Value
from eightfold.cases.draws import Case, Random, choose, random_codes
from eightfold.cases.growing import GrowingNetwork, UnsuitableError, has_axes
from eightfold.cases.networks import DRAWN, EXTENSIONS
from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError
from eightfold.operators import load_model

MAX_ELEMENTS = 80_000
"""Most elements of a tensor: lengths of 65,536 and some more fit."""

MAX_MACS = 1_000_000
"""Most multiply-accumulates of a network."""

LARGE = 4096
"""Elements from which on a tensor counts as large."""

MOST_LARGE = 2
"""Operators of a network, beside its edges and variables, whose results are large."""


def odd_network(
    rng: Random,
    *,
    operators: Collection[str] = DRAWN,
    lengths: tuple[int, int] = (2, 10),
    max_elements: int = MAX_ELEMENTS,
) -> Case:
    """Return an odd model, and an array for each of its inputs by index.

    An operator that `eightfold.operators.load_model` refuses with what it was given is left out
    again, so that every network is accepted; the same state of the generator gives the same network
    as long as the same is accepted.

    ``rng``, ``operators``, ``lengths``, ``max_elements``: as
        `eightfold.cases.networks.random_network` takes them.
    """
    extensions = [EXTENSIONS[name] for name in sorted(operators)]
    network = OddNetwork(rng, frozenset(operators), max_elements, MAX_MACS)
    while not network.ready:
        network.add_input()
    target = int(rng.integers(*lengths, endpoint=True))
    for _ in range(20 * target):
        if network.length >= target:
            break
        grow = extensions[rng.integers(len(extensions))]
        network = network.grown(grow) or network
    return network.finish_network()


class OddNetwork(GrowingNetwork):
    """Grows as a `GrowingNetwork` does, by choices that those rarely make."""

    def __init__(
        self, rng: Random, operators: frozenset[str], max_elements: int, max_macs: int
    ) -> None:
        super().__init__(rng, operators, max_elements, max_macs)
        self._most = max_elements
        self._large = 0
        self._last: Value | None = None

    @property
    def ready(self) -> bool:
        """Whether there is an input."""
        return bool(self.inputs)

    def add_input(self) -> None:
        """Add an input of an odd shape, and now and then one that nothing will read."""
        shapes = [shape for shape in _shapes(self.rng) if np.prod(shape) <= self._most]
        self.graph_input(shapes[self.rng.integers(len(shapes))])
        if self.rng.integers(3) == 0:
            shape = self.rng.integers(1, 3, self.rng.integers(9), endpoint=True).tolist()
            self.operand(np.asarray(random_codes(self.rng, shape)), self.scale(), 0)

    def grown(self, grow: Callable[[GrowingNetwork], object]) -> "OddNetwork | None":
        """Return the network with an operator more; None if it cannot have that."""
        # Not this one: what an operator leaves behind that comes to nothing is not undone.
        other = deepcopy(self, {id(self.rng): self.rng})
        try:
            grow(other)
            load_model(other.build())
        except (UnsuitableError, InputError, SpecError):
            return None
        except ValueError:  # of the generator: an axis of a scalar, one of no sizes
            return None
        return other

    def pick(self, suits: Callable[[Value], bool] = has_axes) -> Value:
        """Return one of the tensors that suit; often the one that was picked before."""
        again = self._last is not None and suits(self._last) and self.rng.integers(3) == 0
        self._last = self._last if again else super().pick(suits)
        assert self._last is not None
        return self._last

    def kernel(self, shape: Sequence[int], most: int) -> list[int]:
        """Return a window: of one element, larger than the image, or as others have it."""
        kind = self.rng.integers(3)
        if kind == 0:
            return [1, 1]
        if kind == 1:
            larger = [min(size, 12) + int(self.rng.integers(4)) for size in shape[1:3]]
            return [choose(self.rng, 1, larger[0]), choose(self.rng, 1, larger[1])]
        return super().kernel(shape, most)

    def window(
        self, shape: Sequence[int], kernel: Sequence[int], *, dilated: bool
    ) -> dict[str, Any]:
        """Return the options of a window: a stride may pass the image."""
        options = super().window(shape, kernel, dilated=dilated)
        for axis, letter in enumerate("hw"):
            if self.rng.integers(3) == 0:
                options[f"stride_{letter}"] = shape[1 + axis] + int(self.rng.integers(3))
        return options

    def finish_network(self) -> Case:
        """Return the model and its inputs.

        Outputs are all results that nothing reads, half of the others, some inputs and a constant.
        """
        rng = self.rng
        outputs = [i for i in self._results if i not in self._read or rng.integers(2)]
        outputs += [index for index in sorted(self.inputs) if rng.integers(3) == 0]
        if rng.integers(3) == 0:
            shape = rng.integers(1, 4, rng.integers(5), endpoint=True).tolist()
            outputs.append(self.constant(random_codes(rng, shape), scale=self.scale()))
        for index in rng.permutation(outputs or sorted(self.inputs)[:1]):
            self.output(int(index))
        return self.build(), self.inputs

    def added(self, inputs: Sequence[int], results: Sequence[Value]) -> None:
        """Count the operators whose results are large: there are few."""
        self._large += np.prod(results[0].shape) >= LARGE
        if self._large > MOST_LARGE:
            raise UnsuitableError


def _shapes(rng: Random) -> list[list[int]]:
    """Return an input's shape of every kind."""
    rank = int(rng.integers(9))
    sizes = rng.integers(1, 9, 4, endpoint=True).tolist()
    long = 65_536 + int(rng.integers(300))
    many = 4000 + int(rng.integers(200))
    return [
        rng.integers(1, 3, rank, endpoint=True).tolist(),
        rng.integers(1, 3, 5 + rng.integers(4), endpoint=True).tolist(),
        [1] * rank,
        [long],
        [[1, long, 1, 1], [1, 1, long, 1], [1, long], [long, 1]][rng.integers(4)],
        [1, choose(rng, 1, 2), choose(rng, 1, 2), many],
        [1, many],
        [1, *sizes[1:3], 1],
        [choose(rng, 2, 4, 6), *sizes[1:3], choose(rng, 1, sizes[3])],
        [1, 1, 1, sizes[3]],
        sizes[: 1 + rng.integers(4)],
    ]
