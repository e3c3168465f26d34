"""What depends on constants alone is computed by golden once."""

import numpy as np

from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import REFUSED, runs
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.model import Operator
from eightfold.model.prepare import Node


def fold(draft: Draft) -> None:
    """Replace results of constants, and shapes, by constants; outputs of the model stay."""
    for operator in draft.each():
        if draft.outputs() & set(operator.outputs):
            continue
        results = _results(draft, operator)
        if results is None:
            continue
        draft.remove(operator)
        for tensor, data in zip(operator.outputs, results, strict=True):
            like = draft.tensors[tensor]
            draft.stand_in(tensor, draft.constant(like, data, like.quantization))
        draft.say("constants", [operator.index], "it depends on constants alone")


def _results(draft: Draft, operator: Operator) -> list[np.ndarray] | None:
    """Return an operator's results if they do not depend on the model's inputs."""
    node = Node(draft.tensors, operator)
    if not runs(draft.graph, operator) or operator.name not in RUNNERS:
        return None
    by_shape = operator.name == "SHAPE"
    if not by_shape and any(map(node.is_computed, range(len(node.inputs)))):
        return None
    try:
        call = OperatorCall(draft.graph, operator, reference=draft.reference)
        if by_shape:
            call = call.substituted(np.broadcast_to(np.int8(0), node.shape()))
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            results = [np.asarray(each, order="C") for each in RUNNERS[operator.name].run(call)]
    except REFUSED:
        return None
    stated = [(tensor.shape, tensor.dtype) for tensor in node.outputs]
    return results if [(each.shape, each.dtype) for each in results] == stated else None
