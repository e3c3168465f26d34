"""Where golden deviates from LiteRT on purpose, and how LiteRT is asked for the intended result.

A whole-model run of LiteRT is no reference for a model with such an operator: what follows it
would work on other values. `litert_tensors` runs one operator at a time instead.
"""

from collections.abc import Mapping

import numpy as np

from eightfold.model.builder import ModelBuilder
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.run.reference.oracle import Oracle

DEVIATIONS: dict[str, str] = {
    "SUM": "LiteRT's int8 kernel reads and writes the codes as uint8; its uint8 kernel is right",
}
"""Operators whose int8 reference kernel is not followed, and why."""

_TO_UINT8 = 128


def deviates(graph: Graph) -> bool:
    """Return whether a model has an operator of `DEVIATIONS`."""
    return any(operator.name in DEVIATIONS for operator in graph.operators)


def litert_tensors(
    oracle: Oracle,
    model: bytes,
    graph: Graph,
    inputs: Mapping[int, np.ndarray],
    got: Mapping[int, np.ndarray],
) -> dict[int, np.ndarray]:
    """Return LiteRT's tensors of a whole model, by index.

    With an operator of `DEVIATIONS` all that follows it would be wrong too: then each operator
    runs alone, on the tensors ``got`` that the model is known to have.

    Raises
    ------
    eightfold.run.reference.oracle.OracleError
        If LiteRT refuses the model or ends.
    """
    if not deviates(graph):
        return oracle.run(model, inputs)
    expected: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        outputs = litert_outputs(oracle, graph, operator, got)
        expected.update(zip(operator.outputs, outputs, strict=True))
    return expected


def litert_outputs(
    oracle: Oracle, graph: Graph, operator: Operator, values: Mapping[int, np.ndarray]
) -> list[np.ndarray]:
    """Return LiteRT's outputs of one operator alone, with the intended arithmetic.

    SUM runs on uint8 tensors: codes and zero points plus 128, and its output minus 128.

    Parameters
    ----------
    oracle
        LiteRT's reference kernels.
    graph, operator
        The model and one of its operators.
    values
        The tensors that are no constants, by index: what the operator is to work on.

    Raises
    ------
    eightfold.run.reference.oracle.OracleError
        If LiteRT refuses the operator or ends.
    """
    offset = _TO_UINT8 if operator.name in DEVIATIONS else 0
    builder = ModelBuilder()
    feed: dict[int, np.ndarray] = {}
    places: dict[int, int] = {-1: -1}
    for index in dict.fromkeys(operator.inputs):
        if index < 0:
            continue
        tensor = graph.tensors[index]
        array = _moved(tensor.data if tensor.data is not None else values[index], offset)
        if tensor.data is not None:
            places[index] = builder.constant(array, **_quantization(tensor, offset))
        else:
            fields = _quantization(tensor, offset)
            fields.pop("axis", None)  # an input has one scale
            places[index] = builder.input(array.shape, dtype=array.dtype, **fields)
            feed[places[index]] = array
    results = []
    for index in operator.outputs:
        tensor = graph.tensors[index]
        dtype = np.uint8 if offset and tensor.dtype == np.int8 else tensor.dtype
        results.append(builder.tensor(tensor.shape, dtype=dtype, **_quantization(tensor, offset)))
        builder.output(results[-1])
    inputs = [places[index] for index in operator.inputs]
    builder.operator(operator.name, inputs, results, operator.options)
    expected = oracle.run(builder.build(), feed)
    return [_back(expected[result], offset) for result in results]


def _moved(array: np.ndarray, offset: int) -> np.ndarray:
    """Return int8 codes as uint8, ``offset`` added; other arrays as they are."""
    if not offset or array.dtype != np.int8:
        return array
    return (array.astype(np.int16) + offset).astype(np.uint8)


def _back(array: np.ndarray, offset: int) -> np.ndarray:
    if not offset or array.dtype != np.uint8:
        return array
    return (array.astype(np.int16) - offset).astype(np.int8)


def _quantization(tensor: Tensor, offset: int) -> dict:
    if tensor.quantization is None:
        return {}
    return {
        "scale": tensor.quantization.scale,
        "zero_point": tensor.quantization.zero_point + offset,
        "axis": tensor.quantization.axis,
    }
