"""Exact rules on the graph: the same outputs, bit for bit, by fewer or cheaper operators.

`rules` is the list; each rule is in the module that has its idea. A rule changes a `draft.Draft`,
from which comes a `draft.Rewritten`: the graph that is compiled, and what its tensors are of the
source's. `draft.rebuild` has the source's tensors from what the accelerator has computed.
"""
