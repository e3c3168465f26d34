"""Run one operator of a graph in numpy: operator names and options to the functions of golden."""

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall, quantization_of, window_of
from eightfold.execute.prepared import PreparedGraph
from eightfold.execute.runners import RUNNERS
from eightfold.execute.stacking import stack, stackable, unstack
from eightfold.golden.errors import SpecError
from eightfold.model.graph import Graph, Operator

__all__ = [
    "SUPPORTED",
    "quantization_of",
    "run_graph",
    "run_graphs",
    "run_operator",
    "window_of",
]

_STACKED = 16
"""Inferences computed at a time: more gain little, and every tensor of all of them is kept."""

_PREPARED: WeakKeyDictionary[Graph, dict[tuple[str, int], PreparedGraph]] = WeakKeyDictionary()


def run_graph(
    graph: Graph, inputs: Mapping[int, np.ndarray], reference: str = "litert"
) -> dict[int, np.ndarray]:
    """Return the inputs and every tensor that the graph's operators compute, by index.

    Raises
    ------
    InputError
        As `run_operator`.
    """
    return _prepared(graph, reference, 1).run(graph, inputs, run_operator)


def run_graphs(
    graph: Graph, batch: Sequence[Mapping[int, np.ndarray]], reference: str = "litert"
) -> list[dict[int, np.ndarray]]:
    """Return `run_graph` of each entry of ``batch``, as stacks where the graph allows it.

    Raises
    ------
    InputError
        As `run_operator`, for the first entry that is refused.
    """
    results: list[dict[int, np.ndarray]] = []
    for start in range(0, len(batch), _STACKED):
        part = batch[start : start + _STACKED]
        results += _stacked(graph, part, reference) or [
            run_graph(graph, inputs, reference) for inputs in part
        ]
    return results


def _stacked(
    graph: Graph, batch: Sequence[Mapping[int, np.ndarray]], reference: str
) -> list[dict[int, np.ndarray]] | None:
    """Return the results of one run on the stack; None if it has to be one by one."""
    if len(batch) == 1 or not stackable(graph):
        return None
    inputs = stack(graph, batch)
    if inputs is None:
        return None
    try:
        values = _prepared(graph, reference, len(batch)).run(graph, inputs, run_operator)
    except InputError:
        return None  # one of them is refused: which one, and why, turns out one by one
    return unstack(graph, values, len(batch))


def _prepared(graph: Graph, reference: str, stacked: int) -> PreparedGraph:
    known = _PREPARED.setdefault(graph, {})
    if (reference, stacked) not in known:
        known[reference, stacked] = PreparedGraph(graph, reference, stacked)
    return known[reference, stacked]


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
