"""Checks on a graph as a whole."""

import numpy as np

from eightfold.errors import InputError
from eightfold.model.graph import Graph

_HARDWARE_DTYPES = {np.dtype(kind) for kind in (np.int8, np.int32, np.int64, np.bool_)}
_SHOWN = 3  # tensors that a message names


def check_order(graph: Graph) -> None:
    """Check that the operators can run one after the other, each tensor produced once.

    Raises
    ------
    InputError
        If an operator reads a tensor that nothing before it produces (so also for a cycle), a
        tensor is produced twice, or the graph's inputs or outputs are repeated or never produced.
    """
    tensors = graph.tensors
    for kind, indices in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        if len(set(indices)) != len(indices):
            raise InputError(f"the graph's {kind} name a tensor twice; each can be named once")
    available = {tensor.index for tensor in tensors if tensor.data is not None}
    if constant := available & set(graph.inputs):
        raise InputError(
            f"{tensors[min(constant)]} is both a constant and an input of the graph; "
            "remove it from the inputs"
        )
    available |= set(graph.inputs)
    for operator in graph.operators:
        for index in operator.inputs:
            if index != -1 and index not in available:
                raise InputError(
                    f"{operator} reads {tensors[index]}, which is no input or constant and which "
                    "no earlier operator produces; sort the operators, without cycles"
                )
        for index in operator.outputs:
            if index in available:
                raise InputError(
                    f"{operator} produces {tensors[index]}, which is an input, a constant or "
                    "already produced; give it a tensor of its own"
                )
            available.add(index)
    for index in graph.outputs:
        if index not in available:
            raise InputError(
                f"the graph's output {tensors[index]} is never produced; remove it from the outputs"
            )


def require_int8(graph: Graph) -> None:
    """Check that every tensor in use is int8, or int32, int64 or bool beside it.

    Reading accepts other element types, because operators that quantize or dequantize may stand
    at the edges of a model; the hardware does not.

    Raises
    ------
    InputError
        If a tensor that an operator or the graph's inputs or outputs name has another dtype.
    """
    used = {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        used.update(operator.inputs, operator.outputs)
    wrong = [
        f"{tensor} is {tensor.dtype.name}"
        for tensor in graph.tensors
        if tensor.index in used and tensor.dtype not in _HARDWARE_DTYPES
    ]
    if wrong:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"not an int8 model: {', '.join(wrong[:_SHOWN])}{more}; "
            "convert it with full integer quantization to int8, inputs and outputs included"
        )
