"""All that turns a model's graph into command streams: rewriting, cascades, lowering, layout.

docs/compiler.md tells of the passes in the order in which they run.
"""

from collections.abc import Collection
from dataclasses import dataclass

from eightfold.compiler.cascade.search import best_cascades
from eightfold.compiler.partition import CompiledNetwork, compile_network
from eightfold.compiler.rewrite import Rewritten, rewrite
from eightfold.config import AcceleratorConfig
from eightfold.golden.quantization import Reference
from eightfold.memory import IDEAL, MemoryTiming
from eightfold.model import Graph


@dataclass(frozen=True)
class Prepared:
    """A model ready to run: its graph as rewritten, and the ``network`` compiled from that."""

    rewritten: Rewritten
    network: CompiledNetwork


def prepare(
    graph: Graph,
    config: AcceleratorConfig,
    reference: Reference = "litert",
    *,
    fallback: bool = False,
    keep: bool = False,
    memory: MemoryTiming = IDEAL,
    no_rewrite: Collection[str] = (),
    cascade: bool = True,
) -> Prepared:
    """Rewrite a graph, and compile it.

    Parameters
    ----------
    reference, fallback, keep
        As of `compile_network`.
    memory
        For which cascades, and the parts of convolutions, are chosen.
    no_rewrite
        Names of `eightfold.compiler.rewrite.RULES` that are not applied, or ``all``.
    cascade
        Whether chains of operators may run strip by strip.

    Raises
    ------
    InputError
        If operators cannot be computed and ``fallback`` is not set.
    """
    rewritten = rewrite(graph, reference, without=no_rewrite)
    network = compile_network(
        rewritten.graph,
        config,
        reference,
        fallback=fallback,
        keep=keep,
        cascades=best_cascades if cascade else None,
        memory=memory,
    )
    return Prepared(rewritten, network)
