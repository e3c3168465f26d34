"""Which consecutive steps of a program can be a cascade."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from eightfold.compiler.cascade.row_wise import RowWise, row_wise
from eightfold.compiler.cascade.schedule import Chain, Choice, Schedule
from eightfold.compiler.cascade.step import Cascade
from eightfold.compiler.step_program import StepProgram


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
        self._last: dict[int, int] = {}
        for number, step in enumerate(program.steps):
            touched = step.uses if step.shares is None else (step.shares,)
            self._last |= {program.storage(tensor): number for tensor in touched}

    def runs(self) -> Iterator[range]:
        """Yield the longest runs of steps that can be one cascade, two steps at least."""
        first = 0
        for behind in range(1, len(self.parts) + 1):
            if behind == len(self.parts) or not self.is_feasible(range(first, behind + 1)):
                if behind - first > 1 and self.is_feasible(range(first, behind)):
                    yield range(first, behind)
                first = behind

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
