"""All that turns a model's graph into command streams: rewriting, cascades, lowering, layout.

A network is a sequence of command streams, operators at its edges that the host computes and, where
allowed, operators left to golden.
docs/compiler.md tells of the passes in the order in which they run.
"""

import gc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from eightfold.common.errors import InputError
from eightfold.compiler.cascade.search import best_cascades
from eightfold.compiler.lower.lowering import Lowered, lower
from eightfold.compiler.network import (
    Compiled,
    CompileError,
    OperatorError,
    Strategy,
    compile_operators,
)
from eightfold.compiler.rewrite.draft import Rewritten
from eightfold.compiler.rewrite.rules import rewrite
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator
from eightfold.operators import host_operators
from eightfold.operators.folding import with_folded_operands
from eightfold.operators.run import require_supported
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Operators that run together: one command stream, or in numpy if ``compiled`` is None."""

    operators: tuple[Operator, ...]
    compiled: Compiled | None


@dataclass(frozen=True, kw_only=True)
class CompiledNetwork:
    """The segments in order, and by index what is not on the accelerator.

    ``reasons`` says why operators are left to golden, ``host`` what those at the edges convert.
    """

    segments: tuple[Segment, ...]
    reasons: dict[int, str]
    host: dict[int, str]

    @property
    def streams(self) -> list[Compiled]:
        """What the accelerator runs, in order."""
        return [segment.compiled for segment in self.segments if segment.compiled]

    @property
    def searched(self) -> dict[int, int]:
        """Per operator, the channels whose requantization had to be searched and proved."""
        return {index: count for each in self.streams for index, count in each.searched.items()}


def compile_network(
    graph: Graph,
    config: AcceleratorConfig,
    reference: Reference = "litert",
    *,
    fallback: bool = False,
    keep: bool = False,
    cascades: Strategy | None = best_cascades,
    memory: MemoryTiming = IDEAL,
) -> CompiledNetwork:
    """Compile a network.

    ``reference``, ``litert`` or ``tflm``: whose kernels to equal where they differ. ``fallback``
    leaves operators that the accelerator does not compute to golden; ``keep`` keeps every tensor in
    the arena, not only the network's outputs. ``cascades`` chooses chains of operators that run
    strip by strip; None: every operator runs for itself. These, and the parts of convolutions, are
    chosen for ``memory``.

    Raises InputError if operators but those of `eightfold.operators.host_operators` cannot be
    computed and ``fallback`` is not set, or not even in golden: all of them, each with the reason.
    Or if the graph contradicts itself, see `eightfold.operators.folding.with_folded_operands`; or
    if a region is larger than the configuration reaches.
    """
    known = with_folded_operands(graph, reference)
    lowered: dict[int, Lowered] = {}
    reasons: dict[int, str] = {}
    host = host_operators(graph)
    for operator in graph.operators:
        if operator.index in host:
            continue
        try:
            lowered[operator.index] = lower(known, operator, config, reference)
        except CompileError as error:
            reasons[operator.index] = str(error)

    def segment(operators: tuple[Operator, ...], on_accelerator: bool) -> Segment:
        if not on_accelerator:
            return Segment(operators=operators, compiled=None)
        wanted = {tensor for operator in operators for tensor in operator.outputs}
        if not keep:
            here = {operator.index for operator in operators}
            others = (op for op in graph.operators if op.index not in here)
            wanted &= {t for operator in others for t in operator.inputs} | set(graph.results)
        compiled = compile_operators(graph, operators, lowered, config, wanted, cascades, memory)
        if (size := max(compiled.arena, len(compiled.model))) > 1 << config.memory_bits:
            raise InputError(
                f"the network needs a region of {size:,} bytes, and the configuration reaches "
                f"{1 << config.memory_bits:,} of one: leave wide_strides in"
            )
        return Segment(operators=operators, compiled=compiled)

    while True:
        require_supported(graph, [op for op in graph.operators if op.index in host | reasons])
        if reasons and not fallback:
            raise InputError(_unsupported(graph, reasons))
        try:
            segments = tuple(
                segment(operators, on_accelerator)
                for operators, on_accelerator in _runs(graph, set(reasons), set(host))
            )
        except OperatorError as error:
            reasons[error.operator] = str(error)
            continue
        return CompiledNetwork(segments=segments, reasons=reasons, host=host)


def _unsupported(graph: Graph, reasons: dict[int, str]) -> str:
    listed = "; ".join(f"{graph.operator(i)}: {reason}" for i, reason in sorted(reasons.items()))
    count = f"{len(reasons)} operator" + "s" * (len(reasons) > 1)
    return f"the accelerator cannot compute {count}; use --fallback golden: {listed}"


def _runs(
    graph: Graph, golden: set[int], host: set[int]
) -> Iterator[tuple[tuple[Operator, ...], bool]]:
    """Yield runs of operators, and whether the accelerator computes them, not golden or the host.

    The host's come first and last, wherever the file has them, so that they part no stream.
    """

    def runner(operator: Operator) -> tuple[bool, int]:
        edge = (operator.name == "DEQUANTIZE") - (operator.name == "QUANTIZE")
        at_edge = operator.index in host
        return at_edge or operator.index in golden, edge if at_edge else 0

    ordered = sorted(graph.operators, key=lambda operator: runner(operator)[1])
    for (in_numpy, _), run in groupby(ordered, runner):
        yield tuple(run), not in_numpy


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
    """Rewrite a graph, and compile it; as `compile_network`, which also says what is raised.

    ``graph`` is from `eightfold.operators.load_int8`, which says of other element types how to
    convert them. ``no_rewrite``: names of `eightfold.compiler.rewrite.rules.RULES` that are not
    applied, or ``all``; ``cascade``: whether chains of operators may run strip by strip.
    """
    with_folded_operands(graph, reference)  # before rules go by the shapes that the file declares
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
