"""A graph that computes the same as another one, and the other's tensors from what it computed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator
from eightfold.operators import run_graph

NAMED = 24
"""Operators that a line of `Rewritten.summary` names; their reports say all."""


@dataclass(frozen=True, eq=False)
class Held:
    """Where the elements of a source's tensor are.

    ``channels``, int64 and increasing, are those of its last axis that ``tensor`` has, in this
    order; None: all.
    """

    tensor: int
    channels: np.ndarray | None = None

    def narrowed(self, tensor: int, channels: np.ndarray) -> "Held":
        """Return where the elements are, if ``tensor`` has only these channels of this one."""
        whole = channels if self.channels is None else self.channels[channels]
        return Held(tensor, whole)


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What a rule has done: its name, the source's operators that it is about, and in words."""

    rule: str
    operators: tuple[int, ...]
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewritten:
    """A graph and the source that it was made from by exact rules.

    ``graph`` may have tensors beyond the source's. Those of the source's numbers are the source's.
    Its operators have the numbers of the source's operators whose results they compute, in
    increasing order, so that the number of an operator is not its place.

    ``held`` says of each of the source's computed tensors that the graph computes, or a part of it,
    where it is; all outputs, and what variables become, are there, whole.
    """

    source: Graph
    graph: Graph
    held: Mapping[int, Held]
    applied: tuple[Applied, ...]

    def applied_to(self, operator: int) -> list[str]:
        """Return what rules have done to one of the source's operators, in their order."""
        return [f"{a.rule}: {a.text}" for a in self.applied if operator in a.operators]

    def gone(self) -> set[int]:
        """Return the source's operators that the graph does not have."""
        return {o.index for o in self.source.operators} - {o.index for o in self.graph.operators}

    def summary(self) -> list[str]:
        """Return a line for each rule that was applied, with the source's first operators."""
        found: dict[str, set[int]] = {}
        for each in self.applied:
            found.setdefault(each.rule, set()).update(each.operators)
        lines = []
        for rule, operators in found.items():
            first = sorted(operators)[:NAMED]
            more = len(operators) - len(first)
            lines.append(
                f"rewritten by {rule}: operator{'s' * (len(operators) > 1)} "
                + ", ".join(map(str, first))
                + f" and {more} more" * (more > 0)
            )
        return lines


def rebuild(
    rewritten: Rewritten,
    values: Mapping[int, np.ndarray],
    wanted: Collection[int],
    reference: Reference = "litert",
) -> dict[int, np.ndarray]:
    """Return inputs, the values of variables and tensors of the source, by index.

    What the graph has computed is taken as it is; golden computes the rest from it, the operators
    that were rewritten one by one. Channels that were computed replace golden's, so that a
    difference in them stays to be seen. ``values``: inputs and computed tensors of the rewritten
    graph, by index; ``wanted``: computed tensors of the source, which are returned but for those
    that `eightfold.operators.run_graph` leaves out. Raises InputError, from golden.
    """
    source = rewritten.source
    known = {tensor: values[tensor] for tensor in source.given}
    parts = {}
    for tensor, held in rewritten.held.items():
        if held.tensor in values and held.channels is None:
            known[tensor] = values[held.tensor]
        elif held.tensor in values:
            parts[tensor] = (held.channels, values[held.tensor])
    for operator in _needed(rewritten, set(wanted) - known.keys(), known):
        found = run_graph(source, known, reference, [operator])
        for tensor in operator.outputs:
            if tensor in known or tensor not in found:
                continue
            known[tensor] = found[tensor]
            if tensor in parts:
                channels, computed = parts[tensor]
                known[tensor] = known[tensor].copy()
                known[tensor][..., channels] = computed
    return {tensor: known[tensor] for tensor in (*source.given, *wanted) if tensor in known}


def run_operators(
    rewritten: Rewritten,
    values: Mapping[int, np.ndarray],
    operators: Sequence[Operator],
    reference: Reference = "litert",
) -> dict[int, np.ndarray]:
    """Return ``values`` and what some of the rewritten graph's operators compute, by golden.

    Golden runs the source's operators, and leaves out the channels that the graph does not have.
    ``values``: inputs and tensors of the rewritten graph that were computed so far, by index.
    """
    results = {tensor for operator in operators for tensor in operator.outputs}
    asked = {source: held for source, held in rewritten.held.items() if held.tensor in results}
    found = rebuild(rewritten, values, asked, reference)
    computed = {
        held.tensor: found[source] if held.channels is None else found[source][..., held.channels]
        for source, held in asked.items()
    }
    return {**values, **computed}


def _needed(rewritten: Rewritten, missing: set[int], known: Collection[int]) -> list[Operator]:
    """Return the operators that golden runs to have what is missing, in order."""
    found = []
    for operator in reversed(rewritten.source.operators):
        if missing & set(operator.outputs):
            found.append(operator)
            tensors = rewritten.source.tensors
            missing |= {t for t in operator.inputs if t >= 0 and tensors[t].data is None}
            missing -= set(known)
    return found[::-1]
