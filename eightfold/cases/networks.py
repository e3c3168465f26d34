"""Random int8 networks, float32 and uint8 at some of their edges, and random inputs for them.

Branches, residual sums, tensors that several operators read, several inputs and outputs of the
graph, constants as operands. Scales, zero points and codes are drawn as for the models of one
operator in `eightfold.cases.operators`. Every network is one that the reference
accepts.

``python -m eightfold.cases.networks DIRECTORY COUNT`` writes the first of them to
files.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eightfold.cases.draws import Bounds, Case, Random, bounded_by, choose, random_shape
from eightfold.cases.growing import GrowingNetwork, UnsuitableError
from eightfold.cases.operators import MAKERS
from eightfold.model import Graph, Operator, Tensor, Variable

EXTENSIONS = {name: maker.extend for name, maker in MAKERS.items() if maker.extend is not None}
"""How a network grows by each operator."""

DRAWN = frozenset(EXTENSIONS)
"""Operators that networks are made of."""


def random_network(
    rng: Random,
    *,
    operators: Collection[str] = DRAWN,
    max_elements: int = 4096,
    max_macs: int = 200_000,
    lengths: tuple[int, int] = (5, 25),
    bounds: Mapping[str, Bounds] | None = None,
) -> Case:
    """Return a model of several operators, and an array for each of its inputs by index.

    Inputs and outputs are int8; with a QUANTIZE some are uint8, with a DEQUANTIZE float32 too.
    Raises `KeyError` if an operator has no entry in `EXTENSIONS`.

    ``rng``: source of every choice; the same state gives the same network.
    ``operators``: names that may occur. Networks may stay shorter if few of them fit what there is.
    ``max_elements``: most elements of any activation.
    ``max_macs``: most multiply-accumulates of the network, padding taps included.
    ``lengths``: fewest and most operators aimed at; a QUANTIZE in front, or that makes operands
        alike, may add to it.
    ``bounds``: by operator, what those are drawn within; nothing else if None.
    """
    extensions = {name: EXTENSIONS[name] for name in sorted(operators)}
    network = GrowingNetwork(rng, frozenset(operators), max_elements, max_macs)
    for _ in range(choose(rng, 1, 1, 2, 3)):
        network.graph_input(_input_shape(rng, max_elements))
    target = int(rng.integers(*lengths, endpoint=True))
    for _ in range(20 * target):  # most attempts succeed; a few operators find nothing to work on
        if network.length >= target:
            break
        try:
            name = str(rng.choice(list(extensions)))
            with bounded_by(bounds[name] if bounds else Bounds()):
                extensions[name](network)
        except UnsuitableError:
            continue
    return network.finish_network()


def network_rng(seed: int) -> Random:
    """Return the generator of network ``seed``."""
    return np.random.default_rng([0x8F01D, seed])


def _input_shape(rng: Random, max_elements: int) -> list[int]:
    if rng.integers(4) == 0:
        shape = random_shape(rng, (1, 2, 3), 12)
    else:
        sizes = rng.integers(1, 12, 2, endpoint=True).tolist()
        shape = [choose(rng, 1, 1, 2), *sizes, choose(rng, 1, 2, 3, 4, 8, 17)]
    while np.prod(shape) > max_elements:
        largest = int(np.argmax(shape))
        shape[largest] //= 2
    return shape


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
