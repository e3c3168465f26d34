"""A graph while rules change it, and what comes of it, which can say the source's tensors."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator, Tensor
from eightfold.model.graph import Arrays, Quantization
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
    rewritten: Rewritten, values: Arrays, wanted: Collection[int], reference: Reference = "litert"
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
    values: Arrays,
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


class Draft:
    """Operators and tensors that rules replace, of one source; see `Rewritten`.

    ``source``: the graph as the model states it; ``reference``: whose kernels are equalled where
    they differ; ``tensors``: the source's, and those that rules have added.
    """

    def __init__(self, source: Graph, reference: Reference = "litert") -> None:
        self.source = source
        self.reference: Reference = reference
        self.tensors = list(source.tensors)
        self._operators = {operator.index: operator for operator in source.operators}
        self._order = {number: place for place, number in enumerate(self._operators)}
        self._producers: dict[int, int] = {}
        self._readers = defaultdict[int, set[int]](set)
        for operator in source.operators:
            self._link(operator)
        self._held = {t: Held(t) for operator in source.operators for t in operator.outputs}
        self._applied: list[Applied] = []

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators in the order in which they run, with the numbers of the source's."""
        return tuple(self._operators.values())

    @property
    def graph(self) -> Graph:
        """The graph as it is now."""
        return replace(
            self.source,
            tensors=tuple(self.tensors),
            operators=self.operators,
            outputs=tuple(map(self._stand_in_of, self.source.outputs)),
            variables=tuple(
                replace(variable, after=self._stand_in_of(variable.after))
                for variable in self.source.variables
            ),
        )

    def _stand_in_of(self, tensor: int) -> int:
        """Return the tensor that has the elements of one of the source's outputs or variables."""
        return self._held[tensor].tensor if tensor in self._held else tensor

    def rewritten(self) -> Rewritten:
        """Return what has become of the source."""
        there = {tensor for operator in self.operators for tensor in operator.outputs}
        there |= set(self.source.given)
        held = {source: held for source, held in self._held.items() if held.tensor in there}
        return Rewritten(
            source=self.source, graph=self.graph, held=held, applied=tuple(self._applied)
        )

    def say(self, rule: str, operators: Iterable[int], text: str) -> None:
        """Note that a rule was applied."""
        self._applied.append(Applied(rule=rule, operators=tuple(operators), text=text))

    def outputs(self) -> set[int]:
        """Return the tensors that stand for the source's outputs, and for what variables become."""
        return set(map(self._stand_in_of, self.source.results))

    def each(self, *, backwards: bool = False) -> Iterator[Operator]:
        """Yield the operators in order, as they are when their turn comes, while rules change them.

        Those that are gone by then are left out, and none comes twice.
        """
        numbers = list(self._operators)
        for number in reversed(numbers) if backwards else numbers:
            current = self.operator(number)
            if current is not None:
                yield current

    def operator(self, number: int) -> Operator | None:
        """Return the operator of a number as it is now; None if it is gone."""
        return self._operators.get(number)

    def readers(self, tensor: int) -> list[Operator]:
        """Return the operators that read a tensor, each once."""
        numbers = sorted(self._readers.get(tensor, ()), key=self._order.__getitem__)
        return [self._operators[number] for number in numbers]

    def producer(self, tensor: int) -> Operator | None:
        """Return the operator that computes a tensor; None unless only one other reads it."""
        if len(self.readers(tensor)) != 1 or tensor in self.outputs():
            return None
        number = self._producers.get(tensor)
        return None if number is None else self._operators[number]

    def merge(self, rule: str, first: Operator, merged: Operator, text: str = "") -> None:
        """Put an operator in the place of that of its number and of the one before, and say so."""
        self.remove(first)
        self.replace(self._operators[merged.index], merged)
        self.say(rule, [first.index, merged.index], text or f"one {merged.name} of both")

    def constant(
        self, like: Tensor | None, data: np.ndarray, quantization: Quantization | None = None
    ) -> int:
        """Add a constant; return its number. Its name is that of ``like``."""
        data = np.asarray(data, order="C")
        data.flags.writeable = False
        name = "" if like is None else like.name
        return self.tensor(Tensor(-1, name, data.shape, data.dtype, quantization, data))

    def tensor(self, tensor: Tensor) -> int:
        """Add a tensor; return its number."""
        self.tensors.append(replace(tensor, index=len(self.tensors)))
        return len(self.tensors) - 1

    def narrow(self, tensor: int, channels: np.ndarray) -> int:
        """Add a tensor that has some channels of a computed one, and stands for it from now on."""
        whole = self.tensors[tensor]
        number = self.tensor(replace(whole, shape=(*whole.shape[:-1], len(channels))))
        for source, held in self._held.items():
            if held.tensor == tensor:
                left = channels if held.channels is None else held.channels[channels]
                self._held[source] = Held(number, left)
        return number

    def stand_in(self, tensor: int, other: int) -> None:
        """Let ``other``, which has the same elements, be all that is left of ``tensor``."""
        for source, held in self._held.items():
            if held.tensor == tensor:
                self._held[source] = replace(held, tensor=other)
        self.read(tensor, other)

    def read(self, tensor: int, other: int) -> None:
        """Let operators read ``other``, which has the same elements, in place of ``tensor``."""
        for operator in self.readers(tensor):
            inputs = tuple(other if each == tensor else each for each in operator.inputs)
            self.replace(operator, replace(operator, inputs=inputs))

    def replace(self, old: Operator, new: Operator) -> None:
        """Put an operator of the same number in the place of another."""
        assert new.index == old.index, "an operator keeps its number"
        self._unlink(self._operators[old.index])
        self._operators[old.index] = new
        self._link(new)

    def remove(self, operator: Operator) -> None:
        """Take an operator out; its results are computed no more."""
        self._unlink(self._operators.pop(operator.index))

    def _link(self, operator: Operator) -> None:
        self._producers |= dict.fromkeys(operator.outputs, operator.index)
        for tensor in operator.inputs:
            self._readers[tensor].add(operator.index)

    def _unlink(self, operator: Operator) -> None:
        for tensor in operator.outputs:  # which may be another's by now
            if self._producers.get(tensor) == operator.index:
                del self._producers[tensor]
        for tensor in operator.inputs:
            self._readers[tensor].discard(operator.index)


def sliced(quantization: Quantization | None, axis: int, kept: np.ndarray) -> Quantization | None:
    """Return the quantization of what is left of a constant along an axis."""
    if quantization is None or len(quantization.scale) == 1 or quantization.axis != axis:
        return quantization
    return replace(
        quantization, scale=quantization.scale[kept], zero_point=quantization.zero_point[kept]
    )
