"""Multiply-accumulates of an operator: the work that utilisation is measured against."""

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.model.graph import Graph, Operator


def count_macs(graph: Graph, operator: Operator) -> int:
    """Return the operator's multiply-accumulates, padding taps included.

    As the operator's row in `eightfold.execute.runners` counts them; 0 for an operator without
    weights, and for one that golden does not compute.
    """
    runner = RUNNERS.get(operator.name)
    if runner is None or runner.macs is None or not operator.outputs:
        return 0
    return runner.macs(OperatorCall(graph, operator))
