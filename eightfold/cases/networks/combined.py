"""Many graphs as one, side by side: what one run of the accelerator computes at once."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eightfold.model import Graph, Operator, Tensor

Tensors = dict[int, np.ndarray]


def combined(parts: Sequence[tuple[Graph, Tensors]]) -> tuple[Graph, Tensors]:
    """Return the graphs as one, tensors and operators renumbered, and all inputs."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: Tensors = {}
    outputs: list[int] = []
    for graph, given in parts:
        base = len(tensors)
        tensors += [replace(tensor, index=base + tensor.index) for tensor in graph.tensors]
        operators += [
            replace(
                operator,
                index=len(operators) + number,
                inputs=tuple(i if i < 0 else base + i for i in operator.inputs),
                outputs=tuple(base + i for i in operator.outputs),
            )
            for number, operator in enumerate(graph.operators)
        ]
        inputs |= {base + index: array for index, array in given.items()}
        outputs += [base + index for index in graph.outputs]
    return Graph(tuple(tensors), tuple(operators), tuple(inputs), tuple(outputs), ""), inputs
