"""The one gate for models, named after what it does as LiteRT's kernels do: Prepare.

`rows` has one `row.Row` per operator: number of operands and results, element types, ranks,
options, and the shapes of the results, by golden's arithmetic of shapes. `gate` holds a graph
against them, `cost` says what a run would take and refuses what is beyond the limits, before
anything is allocated. Every graph from `eightfold.model.load_model` has passed, so that golden,
compiler and estimate see only graphs whose declared shapes are the computed ones. docs/models.md
says what is checked, and where LiteRT accepts more.

Imports golden, besides the graph's types; `eightfold.model`, `eightfold.execute` and
`eightfold.spec` import it.
"""

from eightfold.model.prepare.cost import Cost, Limits, check_cost, cost_of
from eightfold.model.prepare.gate import (
    Refusal,
    difference,
    misfits,
    open_operands,
    prepare,
    unsupported,
)
from eightfold.model.prepare.hollow import hollow
from eightfold.model.prepare.node import Node, window_of
from eightfold.model.prepare.rows import ROWS

__all__ = [
    "ROWS",
    "Cost",
    "Limits",
    "Node",
    "Refusal",
    "check_cost",
    "cost_of",
    "difference",
    "hollow",
    "misfits",
    "open_operands",
    "prepare",
    "unsupported",
    "window_of",
]
