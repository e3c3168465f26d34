"""Networks with channels that are constant, that nobody reads, or that are nearly so."""

from dataclasses import replace

import numpy as np

from eightfold.model import Graph, Operator

CHANNELWISE = frozenset(
    {
        "ADD",
        "AVERAGE_POOL_2D",
        "CONCATENATION",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "LEAKY_RELU",
        "LOGISTIC",
        "MAXIMUM",
        "MAX_POOL_2D",
        "MEAN",
        "MINIMUM",
        "MUL",
        "PAD",
        "PADV2",
        "QUANTIZE",
        "RELU",
        "RESHAPE",
        "SUB",
        "TRANSPOSE",
    }
)
"""Operators of networks in which many channels can go."""

LOUD = 1 << 20
"""A bias beside which the products of small networks hardly matter."""


def sparse(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return the graph with filters that are 0, biases that saturate, and inputs without weights.

    Of some filters all weights but one are 0, of some inputs all weights but one: these stay.
    """
    tensors = list(graph.tensors)
    for operator in graph.operators:
        if operator.name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            for tensor, data in _thinned(graph, operator, rng).items():
                data.flags.writeable = False
                tensors[tensor] = replace(tensors[tensor], data=data)
    return replace(graph, tensors=tuple(tensors))


def _thinned(
    graph: Graph, operator: Operator, rng: np.random.Generator
) -> dict[int, np.ndarray]:
    """Return other contents of an operator's weights and bias."""
    filters = graph.tensors[operator.inputs[1]].data
    if filters is None:
        return {}
    data = filters.copy()
    outputs_last = operator.name == "DEPTHWISE_CONV_2D"
    by_output = np.moveaxis(data, 3, 0) if outputs_last else data
    dead = rng.random(len(by_output)) < rng.choice([0.2, 0.6])
    by_output[dead] = 0
    if not outputs_last:
        data[..., rng.random(data.shape[-1]) < rng.choice([0.0, 0.3, 0.7])] = 0
    if rng.integers(3) == 0:
        data.reshape(-1)[rng.integers(data.size)] = rng.choice([-1, 1])
    found = {operator.inputs[1]: data}
    bias = operator.inputs[2] if len(operator.inputs) > 2 else -1
    values = graph.tensors[bias].data if bias >= 0 else None
    if values is not None and values.dtype == np.int32:
        loud = values.copy()
        chosen = dead & (rng.random(len(dead)) < 0.5)
        loud[chosen] = rng.choice([-LOUD, 0, LOUD], int(chosen.sum()))
        found[bias] = loud
    return found
