"""Where variables are: each in one place of the arena, before a run and after it.

A stream that is given a variable's value and computes the next one stores the new value over the
old. That is right once nothing reads the old one any more; so where the new value is there before,
or is the old value of another variable, or where the old value is asked for too, it comes over the
old one at the end of the stream, by a copy.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from eightfold.compiler.step_program import StepProgram
from eightfold.compiler.steps.movement import Copy, Movement
from eightfold.compiler.steps.step import Temporary
from eightfold.model import Variable
from eightfold.target.config import AcceleratorConfig


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


def local(program: StepProgram, variables: Sequence[Variable]) -> list[Variable]:
    """Return the variables of which a program is given the value, and has the next one."""
    given = set(program.inputs())
    return [
        variable
        for variable in variables
        if variable.before in given
        and (program.computed(variable.after) or variable.after == variable.before)
    ]


def placed(program: StepProgram, variables: Sequence[Variable], wanted: Collection[int]) -> Placed:
    """Return a program that leaves ``wanted`` tensors in the arena, new values over the old ones.

    ``program``: steps, and cascades; ``variables``: those of `local`.
    """
    extension = _Extension(program)
    after = {variable.before: variable.after for variable in variables}
    places = {tensor: program.storage(tensor) for tensor in wanted if program.computed(tensor)}
    for tensor, storage in places.items():
        if storage in after and after[storage] not in (tensor, storage):
            places[tensor] = extension.copy(storage)
    touching = extension.program().touching()
    homes: dict[int, int] = {}
    for old, tensor in after.items():
        storage = places.get(tensor, old)
        if storage == old:  # nothing changes it
            continue
        own = program.computed(storage) and storage not in homes
        if not own or _is_read_later(touching[old], touching[storage]):
            places[tensor] = storage = extension.copy(storage)
        homes[storage] = old
    return Placed(
        program=_stored(extension.program(), homes), places=places, homes=homes, region=[*after]
    )


def _is_read_later(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether an old value is touched in the step in which the new one begins, or later."""
    return old[-1] >= new[0]


class _Extension:
    """Copies behind the steps of a program."""

    def __init__(self, program: StepProgram) -> None:
        self._program = program
        self._steps: list[Store] = []
        self._sizes: dict[int, Temporary] = {}

    def copy(self, storage: int) -> int:
        """Add a copy of a storage; return the tensor that it makes."""
        size = self._sizes[storage].size if storage in self._sizes else self._program.size(storage)
        target = self._program.spare + len(self._sizes)
        self._sizes[target] = Temporary(size)
        self._steps.append(Store(target=target, copies=(Copy(storage, 0, 0, size),)))
        return target

    def program(self) -> StepProgram:
        return self._program.extended(self._steps, self._sizes)


def _stored(program: StepProgram, homes: Collection[int]) -> StepProgram:
    """Return the program with simple copies to the places of variables as stores."""
    steps = [
        Store(target=step.target, copies=step.copies)
        if type(step) is Movement
        and program.storage(step.target) in homes
        and not any(copy.loops or copy.source is None for copy in step.copies)
        else step
        for step in program.steps
    ]
    changed = copy(program)
    changed.steps = steps
    return changed
