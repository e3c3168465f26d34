"""Models behind the gate whose declared shapes are not what a test is about."""

from dataclasses import replace

from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model
from eightfold.operators import prepare


def load_any_shape(model: bytes) -> Graph:
    """Return the graph of a model as if its file left the shapes of all results open.

    Raises
    ------
    InputError
        If an operator does not pass; its cause is golden's error.
    """
    graph = read_model(model)
    results = {index for operator in graph.operators for index in operator.outputs}
    tensors = tuple(replace(tensor, stated=tensor.index not in results) for tensor in graph.tensors)
    prepared, refusals = prepare(replace(graph, tensors=tensors))
    for refusal in refusals:
        raise InputError(str(refusal)) from refusal.cause
    return prepared
