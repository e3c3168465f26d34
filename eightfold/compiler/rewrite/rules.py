"""The exact rules, in the order in which they are applied."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from eightfold.compiler.rewrite.clamps import clamp
from eightfold.compiler.rewrite.compaction.compact import compact
from eightfold.compiler.rewrite.constants import fold
from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.equal import merge_equal
from eightfold.compiler.rewrite.moves import tidy
from eightfold.compiler.rewrite.padding import pad
from eightfold.compiler.rewrite.rewritten import Rewritten
from eightfold.compiler.rewrite.tables import compose
from eightfold.compiler.rewrite.unused import drop_unused
from eightfold.golden.quantization import Reference
from eightfold.model import Graph


@dataclass(frozen=True)
class Rule:
    """``apply`` changes a draft wherever the rule fits; ``text`` says in a line what it does."""

    name: str
    text: str
    apply: Callable[[Draft], None]


RULES = (
    Rule("unused", "operators from which no output comes are left out", drop_unused),
    Rule("constants", "what depends on constants alone is computed once, by golden", fold),
    Rule("equal", "operators that do the same to the same are computed once", merge_equal),
    Rule("moves", "what only moves elements is dropped, merged, or moved back", tidy),
    Rule("tables", "functions of one byte that follow each other become one table", compose),
    Rule("clamps", "RELU and its like go into the requantizer before them", clamp),
    Rule("padding", "convolutions pad for the PAD or PADV2 before them", pad),
    Rule("channels", "channels that are constant or that nobody reads are not computed", compact),
)
"""Each computes the same outputs as before, bit for bit."""

NAMES = tuple(rule.name for rule in RULES)

ALL = "all"
"""Stands for every rule where rules are left out."""


def unknown_rule(names: Collection[str]) -> str | None:
    """Return what is wrong with names of rules: the first that is none, and all there are."""
    if unknown := sorted(set(names) - {*NAMES, ALL}):
        return f"there is no rule {unknown[0]!r}; rules are {', '.join((*NAMES, ALL))}"
    return None


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
