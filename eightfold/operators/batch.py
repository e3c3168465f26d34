"""Give a graph another batch than the one that its file is written for."""

from dataclasses import replace

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph, Tensor
from eightfold.operators.folding import constant_results
from eightfold.operators.gate import prepare


def with_batch(graph: Graph, batch: int) -> Graph:
    """Return a graph whose inputs have ``batch`` entries along the dimension 0 that the file opens.

    As LiteRT does when an input is resized, every shape is computed anew from the inputs, and from
    constants that depend on shapes alone, such as SHAPE, STRIDED_SLICE and PACK before a RESHAPE.

    Parameters
    ----------
    graph
        From `eightfold.model.read_model`.
    batch
        At least 1.

    Raises
    ------
    InputError
        If no input leaves dimension 0 open, or an operator has no such batch, such as a RESHAPE
        to a constant shape: the message names the first.
    """
    opened = {index for index in graph.inputs if graph.tensors[index].open_batch}
    if not opened:
        raise InputError(
            f"no input leaves its batch open, so it cannot be {batch}; leave the batch out, or "
            "convert the network with None as the first dimension of its inputs"
        )
    tensors = [
        _resized(tensor, batch if tensor.index in opened else None) for tensor in graph.tensors
    ]
    computed = {index for operator in graph.operators for index in operator.outputs}
    for index in computed:
        tensors[index] = replace(tensors[index], shape=(), stated=False)
    known: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        step = replace(graph, tensors=tuple(tensors), operators=(operator,))
        data = {i: replace(tensors[i], data=known[i]) for i in operator.inputs if i in known}
        folded = replace(step, tensors=tuple(data.get(t.index, t) for t in step.tensors))
        shaped, refusals = prepare(folded)
        if refusals:
            raise InputError(f"batch {batch}: {refusals[0]}; use the batch of the file")
        for index in operator.outputs:
            stated = graph.tensors[index].stated
            tensors[index] = replace(shaped.tensors[index], stated=stated)
        results = constant_results(replace(step, tensors=tuple(tensors)), operator, known=known)
        known.update(zip(operator.outputs, results or (), strict=False))
    return replace(graph, tensors=tuple(tensors))


def _resized(tensor: Tensor, batch: int | None) -> Tensor:
    if batch is None:
        return tensor
    return replace(tensor, shape=(batch, *tensor.shape[1:]), open_batch=False)
