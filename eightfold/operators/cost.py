"""What a model costs before any work is done, and its limits."""

import os
from dataclasses import dataclass
from math import prod

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph, Operator
from eightfold.operators.call import Node
from eightfold.operators.definition import WORK
from eightfold.operators.registry import OPERATORS

MAX_ELEMENTS = 1 << 23
"""Elements of a tensor, if no other limit is given: golden takes about a second for as many."""

_SHARE = 4  # of the machine's memory one part, if no other limit is given
_LEAST_MEMORY = 1 << 30  # bytes, where the machine does not say what it has


@dataclass(frozen=True)
class Limits:
    """Beyond which a model is refused, whatever else is right with it."""

    max_memory: int | None = None
    """Bytes of a run in golden or of compiling; None: a quarter of the machine's memory."""

    max_elements: int | None = None
    """Elements of a tensor; None: `MAX_ELEMENTS`."""

    def memory(self) -> int:
        """Return the limit in bytes."""
        return machine_memory() // _SHARE if self.max_memory is None else self.max_memory

    def elements(self) -> int:
        """Return the limit in elements."""
        return MAX_ELEMENTS if self.max_elements is None else self.max_elements


def machine_memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not this system's
        return _SHARE * _LEAST_MEMORY


@dataclass(frozen=True)
class Cost:
    """Bytes of a run in golden, which keeps every tensor."""

    tensors: int
    """The bytes of all tensors."""

    intermediate: int
    """The most that an operator needs besides operands and results, estimated from above."""

    operator: Operator | None
    """The operator that needs it."""


def cost_of(graph: Graph) -> Cost:
    """Return what a run of a graph takes; a matter of its shapes, so that nothing is allocated."""
    tensors = sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in graph.tensors)
    works = [(_work(Node(graph.tensors, operator)), operator) for operator in graph.operators]
    intermediate, operator = max(works, key=lambda work: work[0], default=(0, None))
    return Cost(tensors, intermediate, operator)


def _work(node: Node) -> int:
    definition = OPERATORS.get(node.operator.name)
    if definition is not None and definition.work is not None:
        return definition.work(node)
    every = [tensor for tensor in (*node.inputs, *node.outputs) if tensor is not None]
    return WORK * sum(prod(tensor.shape) for tensor in every)


def check_cost(graph: Graph, limits: Limits) -> None:
    """Refuse a graph that has passed the gate and is beyond the limits.

    The `InputError` has figures, and the option that lifts the limit.
    """
    most = limits.elements()
    for tensor in graph.tensors:
        if (elements := prod(tensor.shape)) > most:
            raise InputError(
                f"{tensor} has {elements} elements; the limit is {most}; use a smaller model, or "
                "a higher --max-elements"
            )
    cost = cost_of(graph)
    room = limits.memory()
    if cost.tensors + cost.intermediate > room:
        raise InputError(
            f"a run takes {_shown(cost.tensors)} for its tensors and up to "
            f"{_shown(cost.intermediate)} within {cost.operator}; the limit is {_shown(room)}; use "
            "a smaller model, or a higher --max-memory"
        )


def _shown(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.1f} MB"
