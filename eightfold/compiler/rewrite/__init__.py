"""Exact rules on the graph: the same outputs, bit for bit, by fewer or cheaper operators.

`rules` is the list; each rule is in the module that has its idea. A rule changes a `draft.Draft`,
from which comes a `draft.Rewritten`: the graph that is compiled, and what its tensors are of the
source's. `rebuild` has the source's tensors from what the accelerator has computed.
"""

from eightfold.compiler.rewrite.draft import Applied, Held, Rewritten, rebuild, run_operators
from eightfold.compiler.rewrite.rules import ALL, NAMES, RULES, rewrite, unknown_rule

__all__ = [
    "ALL",
    "NAMES",
    "RULES",
    "Applied",
    "Held",
    "Rewritten",
    "rebuild",
    "rewrite",
    "run_operators",
    "unknown_rule",
]
