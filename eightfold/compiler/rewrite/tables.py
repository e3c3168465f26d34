"""Functions of one byte, one after the other, are one function of one byte.

A table has all 256 codes, so that the composition is checked by being computed: entry by entry with
golden's own function of each operator.
"""

from dataclasses import replace

import numpy as np

from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import TABLE, UNARY, Function, function_of
from eightfold.model import Operator


def compose(draft: Draft) -> None:
    """Make a table of functions of one byte that follow each other, and of those with a constant.

    MUL by a constant, then SUB of one, reads every byte once in place of four times.
    """
    for operator in draft.each():
        function = function_of(draft.graph, operator, draft.reference)
        if function is None:
            continue
        before = _function_before(draft, function)
        if before is not None:
            first, inner = before
            table = function.table[inner.table.astype(np.int64) + 128]
            draft.remove(first)
            draft.replace(operator, as_table(operator, Function(inner.source, table)))
            draft.say("tables", [first.index, operator.index], "one table of both")
        elif operator.name not in UNARY | {TABLE}:
            draft.replace(operator, as_table(operator, function))
            draft.say("tables", [operator.index], "its constant becomes a table")


def as_table(operator: Operator, function: Function) -> Operator:
    """Return an operator that has another one's result, as a table."""
    options = {"table": function.table}
    return replace(operator, name=TABLE, inputs=(function.source,), options=options)


def _function_before(draft: Draft, function: Function) -> tuple[Operator, Function] | None:
    """Return the operator whose result only this function reads, if it is one of a byte too."""
    if not draft.between(function.source):
        return None
    first = draft.producers()[function.source]
    inner = function_of(draft.graph, first, draft.reference)
    return None if inner is None else (first, inner)
