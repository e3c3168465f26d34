"""Strips that were tried, for chains that are alike: they take the same room and cycles.

Networks repeat their blocks. What was found out about the strips of one block holds for all that
are like it, with other tensors.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from eightfold.compiler.cascade.cost import Costs, Work
from eightfold.compiler.cascade.rows import RowWise
from eightfold.compiler.cascade.schedule import Chain, Choice, Impossible, Schedule


@dataclass
class Trial:
    """A chain in strips: what they need and take.

    Attributes
    ----------
    size
        Bytes of the room that the buffers need.
    halo
        Whether strips keep rows of those before.

    Raises
    ------
    Impossible
        From ``cycles``, if a command has no room for its numbers.
    """

    _schedule: Schedule
    _costs: Costs

    def __post_init__(self) -> None:
        self.size = self._schedule.buffers[1]
        self.halo = any(track.halo for track in self._schedule.tracks.values())

    @cached_property
    def cycles(self) -> int:
        """The cycles of all images."""
        return self._costs.cycles(self._schedule)


@dataclass
class Trials:
    """Tries chains in strips, each kind of chain and strips once; ``costs`` knows steps' work."""

    costs: Costs
    _tried: dict[Hashable, Trial | None] = field(default_factory=dict)
    _steps: dict[int, Hashable] = field(default_factory=dict)
    _like: dict[Hashable, Schedule] = field(default_factory=dict)

    def of(self, chain: Chain) -> Callable[[Choice], Trial]:
        """Return what tries strips of a chain; it raises Impossible for impossible ones."""
        names = _numbers(chain)
        kind = self._kind(chain, names)

        def trial(choice: Choice) -> Trial:
            again = frozenset(names[place] for place in choice.again)
            key = (kind, replace(choice, again=again))
            if key not in self._tried:
                rows = (kind, *names, choice.height, choice.again)
                try:
                    schedule = Schedule(chain, choice, self._like.get(rows))
                    self._tried[key] = Trial(schedule, self.costs)
                    self._like.setdefault(rows, schedule)
                except Impossible:
                    self._tried[key] = None
            if (found := self._tried[key]) is None:
                raise Impossible
            return found

        return trial

    def _kind(self, chain: Chain, names: Mapping[int, int]) -> Hashable:
        """Return what is equal for chains whose strips need and take the same."""
        steps = []
        for step in chain.steps:
            images = tuple((names[place], image) for place, image in step.images.items())
            whole = tuple((names[place], chain.sizes[place]) for place in step.whole)
            steps.append((self._likeness(step), names[step.target], images, whole))
        places = (frozenset(names[p] for p in some) for some in (chain.results, chain.outside))
        return (*steps, *places)

    def _likeness(self, step: RowWise) -> Hashable:
        if step.target not in self._steps:
            rows = step.images[step.target].rows
            work = [self._work(step, part) for part in (range(1), range(rows // 2), range(rows))]
            self._steps[step.target] = (type(step.step), step.likeness, *work)
        return self._steps[step.target]

    def _work(self, step: RowWise, rows: range) -> Work | None:
        try:
            return self.costs.work(step, rows)
        except Impossible:
            return None


def _numbers(chain: Chain) -> dict[int, int]:
    """Return the numbers of a chain's tensors, in the order in which its steps name them."""
    places = (place for step in chain.steps for place in (*step.images, *step.whole))
    return {place: number for number, place in enumerate(dict.fromkeys(places))}
