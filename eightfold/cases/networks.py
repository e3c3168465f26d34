"""Random int8 networks, float32 and uint8 at some of their edges, and random inputs for them.

Branches, residual sums, tensors that several operators read, several inputs and outputs of the
graph, constants as operands. Scales, zero points and codes are drawn as for the models of one
operator in `eightfold.cases.operators`. Every network is one that the reference accepts.

`odd_network` draws networks that are legal and that nobody would train, from what lies at the edges
of the rules: ranks 0 to 8, more than 65,536 elements along an axis, 4,000 channels, images of one
pixel or one channel, windows and strides larger than the image, the same tensor as both operands,
inputs that nothing reads, outputs that are inputs, constants, or read further.

``python -m eightfold.cases.networks DIRECTORY COUNT`` writes the first of them to files.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value
from eightfold.cases.operators import MAKERS
from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError
from eightfold.model import Graph, Operator, Tensor, Variable
from eightfold.operators import load_model

EXTENSIONS = {name: maker.extend for name, maker in MAKERS.items() if maker.extend is not None}
"""How a network grows by each operator."""

DRAWN = frozenset(EXTENSIONS)
"""Operators that networks are made of."""


def random_network(
    rng: draws.Random,
    *,
    operators: Collection[str] = DRAWN,
    max_elements: int = 4096,
    max_macs: int = 200_000,
    lengths: tuple[int, int] = (5, 25),
    bounds: Mapping[str, draws.Bounds] | None = None,
) -> draws.Case:
    """Return a model of several operators, and an array for each of its inputs by index.

    Inputs and outputs are int8; with a QUANTIZE some are uint8, with a DEQUANTIZE float32 too.
    The same state of ``rng`` gives the same network.

    ``operators``: of `EXTENSIONS`. Networks may stay shorter if few of them fit what there is.
    ``max_elements``, ``max_macs``: as `GrowingNetwork` has them.
    ``lengths``: fewest and most operators aimed at; a QUANTIZE in front, or that makes operands
        alike, may add to it.
    ``bounds``: by operator, what those are drawn within; nothing else if None.
    """
    extensions = {name: EXTENSIONS[name] for name in sorted(operators)}
    network = draws.GrowingNetwork(rng, frozenset(operators), max_elements, max_macs)
    for _ in range(draws.choose(rng, 1, 1, 2, 3)):
        network.graph_input(_input_shape(rng, max_elements))
    target = int(rng.integers(*lengths, endpoint=True))
    for _ in range(20 * target):  # most attempts succeed; a few operators find nothing to work on
        if network.length >= target:
            break
        try:
            name = str(rng.choice(list(extensions)))
            with draws.bounded_by(bounds[name] if bounds else draws.Bounds()):
                extensions[name](network)
        except draws.UnsuitableError:
            continue
    return network.finish_network()


def network_rng(seed: int) -> draws.Random:
    """Return the generator of network ``seed``."""
    return np.random.default_rng([0x8F01D, seed])


def _input_shape(rng: draws.Random, max_elements: int) -> list[int]:
    if rng.integers(4) == 0:
        shape = draws.random_shape(rng, (1, 2, 3), 12)
    else:
        sizes = rng.integers(1, 12, 2, endpoint=True).tolist()
        shape = [draws.choose(rng, 1, 1, 2), *sizes, draws.choose(rng, 1, 2, 3, 4, 8, 17)]
    while np.prod(shape) > max_elements:
        largest = int(np.argmax(shape))
        shape[largest] //= 2
    return shape


MAX_ELEMENTS = 80_000
"""Most elements of a tensor of an odd network: lengths of 65,536 and some more fit."""

MAX_MACS = 1_000_000
"""Most multiply-accumulates of an odd network."""

LARGE = 4096
"""Elements from which on a tensor counts as large."""

MOST_LARGE = 2
"""Operators of an odd network, beside its edges and variables, whose results are large."""


def odd_network(
    rng: draws.Random, *, operators: Collection[str] = DRAWN, max_elements: int = MAX_ELEMENTS
) -> draws.Case:
    """Return an odd model, and an array for each of its inputs by index; see `random_network`.

    An operator that `eightfold.operators.load_model` refuses with what it was given is left out
    again, so that every network is accepted; the same state of the generator gives the same network
    as long as the same is accepted.
    """
    extensions = [EXTENSIONS[name] for name in sorted(operators)]
    network = OddNetwork(rng, frozenset(operators), max_elements, MAX_MACS)
    while not network.inputs:
        network.add_input()
    target = int(rng.integers(2, 10, endpoint=True))
    for _ in range(20 * target):
        if network.length >= target:
            break
        grow = extensions[rng.integers(len(extensions))]
        network = network.grown(grow) or network
    return network.finish_network()


class OddNetwork(draws.GrowingNetwork):
    """Grows as a `GrowingNetwork` does, by choices that those rarely make."""

    _large = 0
    _last: Value | None = None

    def add_input(self) -> None:
        """Add an input of an odd shape, and now and then one that nothing will read."""
        shapes = [shape for shape in _shapes(self.rng) if np.prod(shape) <= self._max_elements]
        self.graph_input(shapes[self.rng.integers(len(shapes))])
        if self.rng.integers(3) == 0:
            shape = self.rng.integers(1, 3, self.rng.integers(9), endpoint=True).tolist()
            self.operand(np.asarray(draws.random_codes(self.rng, shape)), self.scale(), 0)

    def grown(self, grow: Callable[[draws.GrowingNetwork], object]) -> "OddNetwork | None":
        """Return the network with an operator more; None if it cannot have that."""
        # Not this one: what an operator leaves behind that comes to nothing is not undone.
        other = deepcopy(self, {id(self.rng): self.rng})
        try:
            grow(other)
            load_model(other.build())
        except (draws.UnsuitableError, InputError, SpecError):
            return None
        except ValueError:  # of the generator: an axis of a scalar, one of no sizes
            return None
        return other

    def pick(self, suits: Callable[[Value], bool] = draws.has_axes) -> Value:
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
            return [draws.choose(self.rng, 1, larger[0]), draws.choose(self.rng, 1, larger[1])]
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

    def finish_network(self) -> draws.Case:
        """Return model and inputs; outputs also are half the others, some inputs, a constant."""
        rng = self.rng
        outputs = [i for i in self._results if i not in self._read or rng.integers(2)]
        outputs += [index for index in sorted(self.inputs) if rng.integers(3) == 0]
        if rng.integers(3) == 0:
            shape = rng.integers(1, 4, rng.integers(5), endpoint=True).tolist()
            outputs.append(self.constant(draws.random_codes(rng, shape), scale=self.scale()))
        for index in rng.permutation(outputs or sorted(self.inputs)[:1]):
            self.output(int(index))
        return self.build(), self.inputs

    def added(self, inputs: Sequence[int], results: Sequence[Value]) -> None:
        """Count the operators whose results are large: there are few."""
        self._large += np.prod(results[0].shape) >= LARGE
        if self._large > MOST_LARGE:
            raise draws.UnsuitableError


def _shapes(rng: draws.Random) -> list[list[int]]:
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
        [1, draws.choose(rng, 1, 2), draws.choose(rng, 1, 2), many],
        [1, many],
        [1, *sizes[1:3], 1],
        [draws.choose(rng, 2, 4, 6), *sizes[1:3], draws.choose(rng, 1, sizes[3])],
        [1, 1, 1, sizes[3]],
        sizes[: 1 + rng.integers(4)],
    ]


Inputs = dict[int, np.ndarray]


def combined(parts: Sequence[tuple[Graph, Inputs]]) -> tuple[Graph, Inputs]:
    """Return the graphs as one, tensors and operators renumbered, and all inputs."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: Inputs = {}
    outputs: list[int] = []
    variables: list[Variable] = []
    for graph, given in parts:
        base = len(tensors)
        tensors += [replace(tensor, index=base + tensor.index) for tensor in graph.tensors]
        operators += [
            replace(
                operator,
                index=len(operators) + number,
                inputs=tuple(i if i < 0 else base + i for i in operator.inputs),
                outputs=tuple(base + i for i in operator.outputs),
                intermediates=tuple(base + i for i in operator.intermediates),
            )
            for number, operator in enumerate(graph.operators)
        ]
        inputs |= {base + index: array for index, array in given.items()}
        outputs += [base + index for index in graph.outputs]
        variables += [
            replace(each, before=base + each.before, after=base + each.after)
            for each in graph.variables
        ]
    graph = Graph(tuple(tensors), tuple(operators), tuple(inputs), tuple(outputs), "")
    return replace(graph, variables=tuple(variables)), inputs


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(int(sys.argv[2])):
        (folder / f"network_{seed}.tflite").write_bytes(random_network(network_rng(seed))[0])
