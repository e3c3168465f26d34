"""Operators whose results nobody reads go."""

import numpy as np

from eightfold.common.errors import InputError
from eightfold.compiler.rewrite.draft import Draft
from eightfold.execute.operator import UndefinedResult, run_operator
from eightfold.model import Operator
from eightfold.model.prepare import open_operands


def drop_unused(draft: Draft) -> None:
    """Remove operators from whose results no output of the model comes.

    One that the reference kernels refuse whatever it works on stays: the model is refused for it.
    """
    needed = draft.outputs()
    for operator in reversed(list(draft.operators)):
        if needed.isdisjoint(operator.outputs) and not _is_refused(draft, operator):
            draft.remove(operator)
            draft.say("unused", [operator.index], "no output comes from it")
        else:
            needed.update(operator.inputs)


def _is_refused(draft: Draft, operator: Operator) -> bool:
    """Return whether golden refuses an operator for what the file says of it."""
    if open_operands(draft.tensors, operator):
        return False
    zeros = {
        index: np.zeros(draft.tensors[index].shape, draft.tensors[index].dtype)
        for index in operator.inputs
        if index >= 0 and draft.tensors[index].data is None
    }
    try:
        run_operator(draft.graph, operator, zeros, draft.reference)
    except UndefinedResult:
        return False
    except InputError:
        return True
    return False
