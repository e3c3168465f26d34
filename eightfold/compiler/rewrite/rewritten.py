"""A graph that computes the same as another one, and what its tensors are of the other's."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.model import Graph


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
    where it is; all outputs are there, whole.
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
        """Return a line for each rule that was applied, with the source's operators."""
        found: dict[str, set[int]] = {}
        for each in self.applied:
            found.setdefault(each.rule, set()).update(each.operators)
        return [
            f"rewritten by {rule}: operator{'s' * (len(operators) > 1)} "
            + ", ".join(map(str, sorted(operators)))
            for rule, operators in found.items()
        ]
