"""All that turns a model's graph into command streams: rewriting, cascades, lowering, layout.

docs/compiler.md tells of the passes in the order in which they run.
"""

import gc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eightfold.compiler.cascade.search import best_cascades
from eightfold.compiler.partition import CompiledNetwork, compile_network
from eightfold.compiler.rewrite import Rewritten, rewrite
from eightfold.execute.known import settled
from eightfold.golden.quantization import Reference
from eightfold.model import Graph
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming


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
    graph
        From `eightfold.model.load_int8`, which says of other element types how to convert them.
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
        As `compile_network`.
    """
    settled(graph, reference)  # before rules go by the shapes that the file declares
    with _rare_collections():
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


COLLECTED = 100_000
"""Objects after which cycles of references are looked for while compiling."""


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles seldom: compiling makes millions of objects, nearly none in one.

    Python's usual 700 objects took a tenth of the time of a network of 100 operators.
    """
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], COLLECTED) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
