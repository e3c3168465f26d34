"""Run one operator of a graph in numpy: operator names and options to the functions of golden."""

from collections.abc import Mapping

import numpy as np

from eightfold.errors import InputError
from eightfold.model.graph import Graph, Operator
from eightfold.operator_call import OperatorCall, quantization_of, window_of
from eightfold.runners import RUNNERS
from golden.errors import SpecError

__all__ = ["SUPPORTED", "quantization_of", "run_graph", "run_operator", "window_of"]


def run_graph(
    graph: Graph, inputs: Mapping[int, np.ndarray], reference: str = "litert"
) -> dict[int, np.ndarray]:
    """Return the inputs and every tensor that the graph's operators compute, by index.

    Raises
    ------
    InputError
        As `run_operator`.
    """
    values = dict(inputs)
    for operator in graph.operators:
        outputs = run_operator(graph, operator, values, reference)
        values.update(zip(operator.outputs, outputs, strict=True))
    return values


def run_operator(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    reference: str = "litert",
) -> list[np.ndarray]:
    """Return the outputs of an operator, in its order.

    Parameters
    ----------
    graph
        The graph; constants are taken from it.
    operator
        One of its operators, of a name in `SUPPORTED`.
    values
        The tensors that are no constants, by index. Shapes come from the arrays, not the graph.
    reference
        ``litert`` or ``tflm``: whose kernels to equal where they differ.

    Raises
    ------
    InputError
        If the operator is not supported, its tensors do not fit, or the reference kernels would
        reject it, abort, or compute what C++ leaves undefined. Names index and operator.
    """
    if reference != "litert" and reference != "tflm":
        raise InputError(f"reference must be litert or tflm, not {reference!r}")
    if operator.name not in RUNNERS:
        raise InputError(f"{operator}: not supported; supported are {', '.join(sorted(SUPPORTED))}")
    runner = RUNNERS[operator.name]
    try:
        call = OperatorCall(graph, operator, values, reference)
        call.check_outputs(runner.outputs, runner.several)
        result = runner.run(call)
    except (SpecError, InputError) as error:
        raise InputError(f"{operator}: {error}") from None
    # Copies may be views, and a result without dimensions a scalar.
    every = result if isinstance(result, list) else [result]
    return [np.asarray(array, order="C") for array in every]


SUPPORTED: frozenset[str] = frozenset(RUNNERS)
"""Names of the operators that `run_operator` runs."""
