"""The steps of consecutive operators, and their bytes: what may be a cascade, where variables are.

Each variable is in one place of the arena, before a run and after it. A stream that is given its
value and computes the next one stores the new value over the old. That is right once nothing reads
the old one any more; so where the new value is there before, or is the old value of another
variable, or where the old value is asked for too, it comes over the old one at the end of the
stream, by a copy.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from eightfold.compiler.cascade.row_wise import Image, RowWise, row_wise
from eightfold.compiler.cascade.schedule import Chain, Choice, Schedule
from eightfold.compiler.cascade.step import Cascade
from eightfold.compiler.emit.memory import Block
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.steps.movement import Copy, Movement
from eightfold.compiler.steps.step import Step, Temporary
from eightfold.model import Graph, Operator, Variable
from eightfold.target.config import AcceleratorConfig


class StepProgram:
    """Steps in order; each writes one tensor, the graph's or a temporary, and no other does.

    Tensors that share their bytes are one storage, named by the first of them. ``lowered``: what
    the graph's consecutive ``operators`` become, by index; ``owners``: the operator's index of each
    step.
    """

    def __init__(
        self, graph: Graph, operators: Sequence[Operator], lowered: Mapping[int, Lowered]
    ) -> None:
        self._graph = graph
        self._temporaries = {
            tensor: temporary
            for operator in operators
            for tensor, temporary in lowered[operator.index].temporaries.items()
        }
        self.steps: list[Step] = [s for op in operators for s in lowered[op.index].steps]
        self.owners = [op.index for op in operators for _ in lowered[op.index].steps]
        self._computed = {step.target for step in self.steps}
        self._storages: dict[int, int] = {}
        for step in self.steps:
            if step.shares is not None:
                self._storages[step.target] = self.storage(step.shares)
        given = self.inputs()
        self.steps = [step.told(given) for step in self.steps]

    def replaced(self, cascades: Mapping[int, Cascade]) -> "StepProgram":
        """Return the program with cascades, by their first step, in the place of their steps."""
        program = copy(self)
        program.steps, program.owners = [], []
        number = 0
        while number < len(self.steps):
            cascade = cascades.get(number)
            program.steps.append(cascade or self.steps[number])
            program.owners.append(self.owners[number])
            number += len(cascade.owners) if cascade else 1
        program._computed = {t for step in program.steps for t in step.targets}
        return program

    def with_copy(self, storage: int) -> tuple["StepProgram", int]:
        """Return the program with a copy of a storage behind its last step, and what has it."""
        target = 1 + max(len(self._graph.tensors), *self._temporaries, *self._computed)
        size = self.size(storage)
        program = copy(self)
        program.steps = [*self.steps, Store(target=target, copies=(Copy(storage, 0, 0, size),))]
        program.owners = [*self.owners, self.owners[-1]]
        program._temporaries = {**self._temporaries, target: Temporary(size)}
        program._computed = self._computed | {target}
        return program, target

    def image(self, tensor: int) -> Image | None:
        """Return a tensor's images and rows; None if it is no tensor of the graph of rank 4."""
        if tensor >= len(self._graph.tensors):
            return None
        kind = self._graph.tensors[tensor]
        if len(kind.shape) != 4:
            return None
        return Image.of(kind.shape, kind.dtype.itemsize)

    def storage(self, tensor: int) -> int:
        """Return the storage of a tensor."""
        return self._storages.get(tensor, tensor)

    def computed(self, tensor: int) -> bool:
        """Return whether a step writes the tensor."""
        return tensor in self._computed

    def size(self, storage: int) -> int:
        """Return a storage's bytes."""
        if storage in self._temporaries:
            return self._temporaries[storage].size
        return self._graph.tensors[storage].nbytes

    def content(self, storage: int) -> bytes | None:
        """Return the bytes of a constant; None if the storage is no constant."""
        if storage in self._temporaries:
            return self._temporaries[storage].content
        data = self._graph.tensors[storage].data
        return None if data is None else data.tobytes()

    def constant(self, storage: int) -> bool:
        """Return whether the model region has the storage's bytes."""
        held = self._temporaries.get(storage)
        return (held.content if held else self._graph.tensors[storage].data) is not None

    def room(self, number: int, outside: Collection[int], config: AcceleratorConfig) -> int | None:
        """Return the bytes that a step needs beside its tensors, if some storages are outside.

        None if any number may do, and more is better.
        """
        step = self.steps[number]
        there = [tensor for tensor in step.uses if self.storage(tensor) in outside]
        return step.room_beside(config, frozenset(there))

    def inputs(self) -> list[int]:
        """Return the tensors that must be there before: neither computed here nor constant."""
        touched = {tensor for step in self.steps for tensor in _touched(step)}
        return sorted(t for t in touched if not self.computed(t) and not self.constant(t))

    def blocks(self) -> dict[int, Block]:
        """Return size and steps of every storage, but for constants that are only copied.

        Copies read these from the model region: a place in the scratchpad would be a second copy.
        """
        return {
            storage: Block(self.size(storage), steps[0], steps[-1])
            for storage, steps in self.touching().items()
            if not self.constant(storage) or not all(self.steps[n].only_copies for n in steps)
        }

    def touching(self) -> dict[int, list[int]]:
        """Return the numbers of the steps that touch each storage."""
        found: dict[int, list[int]] = {}
        for number, step in enumerate(self.steps):
            for storage in dict.fromkeys(map(self.storage, _touched(step))):
                found.setdefault(storage, []).append(number)
        return found

    def in_place(self, blocks: Mapping[int, Block]) -> list[tuple[int, int]]:
        """Return pairs of storages where a result may take the place of its first operand."""
        pairs = []
        taken = set()
        for number, step in enumerate(self.steps):
            if step.replaceable is None:
                continue
            source, target = self.storage(step.replaceable), self.storage(step.target)
            if blocks[source].last == number and source not in taken and source != target:
                pairs.append((source, target))
                taken |= {source}
        return pairs


def _touched(step: Step) -> tuple[int, ...]:
    """Return the tensors whose bytes must be there during a step."""
    return step.uses if step.shares is None else (step.shares, step.target)


@dataclass(frozen=True)
class Proposal:
    """Cascades by the number of their first step, and storages that are to live in the arena."""

    cascades: Mapping[int, Cascade] = field(default_factory=dict)
    outside: frozenset[int] = frozenset()


class Chains:
    """What of a program without cascades can be done row by row.

    ``kept``: storages that can be read from the arena afterwards; ``parts``: of each step, how it
    works by rows, None if it does not; ``schedules``: what searches have found out about strips,
    the same whatever the memory.
    """

    def __init__(self, program: StepProgram, kept: Collection[int]) -> None:
        self.program, self.kept = program, kept
        self.parts = [row_wise(step, program.storage, program.image) for step in program.steps]
        self.schedules: dict[Hashable, Schedule | None] = {}
        self._last = {storage: steps[-1] for storage, steps in program.touching().items()}

    def is_feasible(self, steps: range) -> bool:
        """Return whether consecutive steps can be one cascade."""
        parts = self.parts[steps.start : steps.stop]
        return None not in parts and Chain(self._parts(steps)).is_feasible

    def _parts(self, steps: range) -> tuple[RowWise, ...]:
        """Return how steps work by rows, all of which do."""
        return tuple(part for part in self.parts[steps.start : steps.stop] if part is not None)

    def results(self, steps: range) -> frozenset[int]:
        """Return what steps compute that is needed later."""
        produced = [part.target for part in self._parts(steps)]
        later = {p for p in produced if self._last.get(p, -1) >= steps.stop or p in self.kept}
        return frozenset(later | {produced[-1]})

    def produced(self, steps: range) -> frozenset[int]:
        """Return what steps compute."""
        return frozenset(part.target for part in self._parts(steps))

    def chain(self, steps: range, outside: frozenset[int]) -> Chain:
        """Return consecutive sound steps as a chain."""
        parts = self._parts(steps)
        sizes = {tensor: self.program.size(tensor) for part in parts for tensor in part.whole}
        chain = Chain(parts, self.results(steps), frozenset(), sizes)
        return replace(chain, outside=outside & {*chain.images, *sizes})

    def cascade(self, steps: range, choice: Choice) -> Cascade:
        """Return consecutive sound steps as one."""
        chain = self.chain(steps, frozenset())
        owners = tuple(self.program.owners[steps.start : steps.stop])
        return Cascade(target=chain.steps[-1].target, chain=chain, owners=owners, choice=choice)


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A program with the copies at its end, and where what is asked for lies.

    ``places``: the storage of each tensor that is asked for; ``homes``: by storage of a new value
    that of the old one, which has the same place; ``region``: the storages of old values, in the
    order in which they lie in the arena.
    """

    program: StepProgram
    places: Mapping[int, int]
    homes: Mapping[int, int]
    region: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Store(Movement):
    """A copy to memory, which needs room only if it is from memory too."""

    def room_beside(self, config: AcceleratorConfig, outside: Collection[int]) -> int | None:
        """Return the bytes of scratchpad needed: any number may do from memory to memory."""
        return None if {*self.uses} <= {*outside} else 0


def local_variables(program: StepProgram, variables: Sequence[Variable]) -> list[Variable]:
    """Return the variables of which a program is given the value, and has the next one."""
    given = set(program.inputs())
    return [
        variable
        for variable in variables
        if variable.before in given
        and (program.computed(variable.after) or variable.after == variable.before)
    ]


def with_variables(
    program: StepProgram, variables: Sequence[Variable], wanted: Collection[int]
) -> Placed:
    """Return a program that leaves ``wanted`` tensors in the arena, new values over the old ones.

    ``program``: steps, and cascades; ``variables``: those of `local_variables`.
    """
    extended = program
    after = {variable.before: variable.after for variable in variables}
    places = {tensor: program.storage(tensor) for tensor in wanted if program.computed(tensor)}
    for tensor, storage in places.items():
        if storage in after and after[storage] not in (tensor, storage):
            extended, places[tensor] = extended.with_copy(storage)
    touching = extended.touching()
    homes: dict[int, int] = {}
    for old, tensor in after.items():
        storage = places.get(tensor, old)
        if storage == old:  # nothing changes it
            continue
        own = program.computed(storage) and storage not in homes
        if not own or _is_read_later(touching[old], touching[storage]):
            extended, storage = extended.with_copy(storage)
            places[tensor] = storage
        homes[storage] = old
    stored = copy(extended)
    stored.steps = [_as_store(step, extended.storage, homes) for step in extended.steps]
    return Placed(program=stored, places=places, homes=homes, region=[*after])


def _is_read_later(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether an old value is touched in the step in which the new one begins, or later."""
    return old[-1] >= new[0]


def _as_store(step: Step, storage: Callable[[int], int], homes: Collection[int]) -> Step:
    """Return a step that only copies to the place of a variable as a store, others as they are."""
    if type(step) is not Movement or storage(step.target) not in homes:
        return step
    if any(copy.loops or copy.source is None for copy in step.copies):
        return step
    return Store(target=step.target, copies=step.copies)
