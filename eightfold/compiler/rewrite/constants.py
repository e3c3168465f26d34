"""What depends on constants alone is computed by golden once."""

import numpy as np

from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import REFUSED, runs
from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.model import Operator
from eightfold.model.prepare import Node, prepare


def fold(draft: Draft) -> None:
    """Let constants be read for results of constants, and shapes; outputs of the model stay.

    Raises
    ------
    InputError
        If an operand that is known by now contradicts the model, such as a shape that RESHAPE is
        told and the shape that its result is declared with.
    """
    for operator in draft.each():
        results = _results(draft, operator)
        if results is None:
            continue
        is_output = draft.outputs() & set(operator.outputs)
        if is_output and not any(map(draft.readers, operator.outputs)):
            continue
        for tensor, data in zip(operator.outputs, results, strict=True):
            like = draft.tensors[tensor]
            constant = draft.constant(like, data, like.quantization)
            if is_output:
                draft.read(tensor, constant)
            else:
                draft.stand_in(tensor, constant)
        if not is_output:
            draft.remove(operator)
        draft.say("constants", [operator.index], "it depends on constants alone")
    _, refusals = prepare(draft.graph)
    if refusals:
        raise InputError(str(refusals[0]))


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
