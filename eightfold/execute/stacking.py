"""Several inferences as one: their tensors one after the other along axis 0.

Which operators compute stacks, their rows in `eightfold.execute.runners` say.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.model.graph import Graph, Operator, Tensor


def stackable(graph: Graph) -> bool:
    """Return whether every operator of the graph is known to work on stacks."""
    tensors = [graph.tensors[index] for index in graph.inputs]
    tensors += [graph.tensors[index] for op in graph.operators for index in op.outputs]
    return all(len(tensor.shape) > 0 for tensor in tensors) and all(
        _stacks(OperatorCall(graph, operator)) for operator in graph.operators
    )


def _stacks(call: OperatorCall) -> bool:
    runner = RUNNERS.get(call.operator.name)
    if runner is None or runner.stacks is None or call.tensor(0) is None or not call.outputs:
        return False
    return runner.stacks.holds(call)


def reshapes(operator: Operator) -> bool:
    """Return whether an operator's result is its first input under another shape."""
    runner = RUNNERS.get(operator.name)
    return runner is not None and runner.stacks is not None and runner.stacks.reshapes


def stacked_shape(tensor: Tensor, stacked: int) -> tuple[int, ...]:
    """Return the shape of the stack of ``stacked`` tensors."""
    return (stacked * tensor.shape[0], *tensor.shape[1:])


def stack(graph: Graph, batch: Sequence[Mapping[int, np.ndarray]]) -> dict[int, np.ndarray] | None:
    """Return the inputs as stacks; None if one is missing, or not as the graph declares it."""
    stacks = {}
    for index in graph.inputs:
        tensor = graph.tensors[index]
        arrays = [inputs.get(index) for inputs in batch]
        fit = [a for a in arrays if a is not None and a.shape == tensor.shape]
        if len(fit) < len(arrays) or any(array.dtype != tensor.dtype for array in fit):
            return None
        stacks[index] = np.concatenate(fit)
    return stacks


def unstack(
    graph: Graph, values: Mapping[int, np.ndarray], stacked: int
) -> list[dict[int, np.ndarray]] | None:
    """Return each inference's tensors, views of the stacks; None if a shape is not as declared."""
    results: list[dict[int, np.ndarray]] = [{} for _ in range(stacked)]
    for index, array in values.items():
        tensor = graph.tensors[index]
        if array.shape != stacked_shape(tensor, stacked):
            return None
        for result, part in zip(results, array.reshape(stacked, *tensor.shape), strict=True):
            result[index] = part
    return results
