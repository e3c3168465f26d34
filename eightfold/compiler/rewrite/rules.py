"""The exact rules, in the order in which they are applied."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from eightfold.compiler.rewrite.compaction.compact import compact
from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.rewritten import Rewritten
from eightfold.golden.quantization import Reference
from eightfold.model import Graph


@dataclass(frozen=True)
class Rule:
    """``apply`` changes a draft wherever the rule fits; ``text`` says in a line what it does."""

    name: str
    text: str
    apply: Callable[[Draft], None]


RULES = (
    Rule("channels", "channels that are constant or that nobody reads are not computed", compact),
)
"""Each computes the same outputs as before, bit for bit."""

NAMES = tuple(rule.name for rule in RULES)

ALL = "all"
"""Stands for every rule where rules are left out."""


def rewrite(
    graph: Graph, reference: Reference = "litert", *, without: Collection[str] = ()
) -> Rewritten:
    """Return a graph with the same outputs that takes less to compute.

    Parameters
    ----------
    graph
        From `eightfold.model.load_model`.
    reference
        ``litert`` or ``tflm``: whose kernels to equal where they differ.
    without
        Names of rules that are not applied, or `ALL`.
    """
    draft = Draft(graph, reference)
    for rule in RULES:
        if not {rule.name, ALL} & set(without):
            rule.apply(draft)
    return draft.rewritten()
