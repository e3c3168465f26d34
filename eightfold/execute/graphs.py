"""Run graphs in numpy, one inference or many."""

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.common.errors import InputError
from eightfold.execute.prepared import PreparedGraph
from eightfold.execute.stacking import stack, stackable, unstack
from eightfold.model.graph import Graph, Operator

_STACKED = 16
"""Inferences computed at a time: more gain little, and every tensor of all of them is kept."""

_PREPARED: WeakKeyDictionary[Graph, dict[tuple[str, int], PreparedGraph]] = WeakKeyDictionary()


def run_graph(
    graph: Graph,
    inputs: Mapping[int, np.ndarray],
    reference: str = "litert",
    operators: Sequence[Operator] | None = None,
) -> dict[int, np.ndarray]:
    """Return the inputs and every tensor that the graph's operators compute, by index.

    Not there is what no output of the graph comes from, if no number is the result.

    Parameters
    ----------
    graph, reference
        As `eightfold.execute.run_operator` takes them.
    inputs
        The graph's inputs by index; with ``operators``, every tensor that these read.
    operators
        Run only these operators of the graph, in this order; all of them if None.

    Raises
    ------
    InputError
        As `eightfold.execute.run_operator`.
    """
    return _prepared(graph, reference, 1).run(graph, inputs, operators)


def run_graphs(
    graph: Graph, batch: Sequence[Mapping[int, np.ndarray]], reference: str = "litert"
) -> list[dict[int, np.ndarray]]:
    """Return `run_graph` of each entry of ``batch``, as stacks where the graph allows it.

    Raises
    ------
    InputError
        As `eightfold.execute.run_operator`, for the first entry that is refused.
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
        values = _prepared(graph, reference, len(batch)).run(graph, inputs)
    except InputError:
        return None  # one of them is refused: which one, and why, turns out one by one
    return unstack(graph, values, len(batch))


def _prepared(graph: Graph, reference: str, stacked: int) -> PreparedGraph:
    known = _PREPARED.setdefault(graph, {})
    if (reference, stacked) not in known:
        known[reference, stacked] = PreparedGraph(graph, reference, stacked)
    return known[reference, stacked]
