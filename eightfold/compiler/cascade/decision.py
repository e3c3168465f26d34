"""What was chosen, and why: the cascades of a stream beside the same steps each for itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eightfold.compiler.cascade.step import Cascade
from eightfold.model import Graph
from eightfold.target.memory import MemoryTiming


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A cascade: its operators, its strips, what becomes of its tensors.

    Tensors: ``loaded`` and ``stored`` strip by strip, ``resident`` ones whole in the scratchpad,
    ``kept`` ones whose halo stays, ``recomputed`` those whose halo is computed or loaded again.
    ``room`` is what its buffers take, in bytes; ``cycles`` by the estimate, ``alone`` those of its
    operators layer by layer.
    """

    operators: tuple[int, ...]
    strips: int
    height: int
    loaded: tuple[int, ...]
    stored: tuple[int, ...]
    resident: tuple[int, ...]
    kept: tuple[int, ...]
    recomputed: tuple[int, ...]
    room: int
    cycles: int
    alone: int


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The cascades of a stream; its cycles by the estimate, and ``alone`` without any.

    Both with the ``memory`` that it was planned for, which may be another one than that of the run:
    the plan is the best of several. Not ``estimated``: by the search's own costs, of the steps from
    the first to the last that touch tensors outside of the scratchpad.
    """

    cascades: tuple[Chosen, ...]
    cycles: int
    alone: int
    memory: MemoryTiming
    estimated: bool = True


def chosen(
    cascade: Cascade, outside: frozenset[int], cycles: Mapping[int, int], alone: Mapping[int, int]
) -> Chosen:
    """Return what is said of a cascade.

    ``outside``: the tensors that are not in the scratchpad; ``cycles`` and ``alone`` by operator.
    """
    schedule = cascade.schedule(outside)
    chain = schedule.chain
    computed = [tensor for tensor in chain.buffered if schedule.overlaps(tensor)]
    operators = tuple(dict.fromkeys(cascade.owners))
    return Chosen(
        operators=operators,
        strips=schedule.strips,
        height=cascade.choice.height,
        loaded=tuple(chain.loaded),
        stored=tuple(tensor for tensor in cascade.targets if tensor in outside),
        resident=tuple(tensor for tensor in cascade.uses if tensor not in outside),
        kept=tuple(tensor for tensor in computed if tensor not in cascade.choice.recomputed),
        recomputed=tuple(tensor for tensor in computed if tensor in cascade.choice.recomputed),
        room=schedule.buffers[1],
        cycles=sum(cycles[operator] for operator in operators),
        alone=sum(alone[operator] for operator in operators),
    )


def explain(graph: Graph, decision: Decision | None) -> Iterator[str]:
    """Yield lines that say which chains were chosen, and why."""
    if decision is None:
        yield "no cascades: every tensor fits the scratchpad, or none pays, or they are off"
        return
    source = "the estimate" if decision.estimated else "the search's costs"
    yield (
        f"{len(decision.cascades)} cascades: {decision.cycles:,} cycles by {source}, "
        f"{decision.alone:,} layer by layer, with the memory {decision.memory}"
    )
    for each in decision.cascades:
        first, last = (graph.operator(each.operators[end]) for end in (0, -1))
        yield (
            f"operators {first.index} {first.name} to {last.index} {last.name}: {each.strips} "
            f"strips of {each.height} rows, {each.room:,} bytes of buffers; {each.cycles:,} "
            f"cycles, {each.alone:,} layer by layer"
        )
        for what, tensors in (
            ("loaded strip by strip", each.loaded),
            ("stored strip by strip", each.stored),
            ("whole in the scratchpad", each.resident),
            ("halo kept", each.kept),
            ("halo again", each.recomputed),
        ):
            if tensors:
                yield f"  {what}: tensors {', '.join(map(str, tensors))}"
