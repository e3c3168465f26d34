"""Which steps become cascades, how high their strips are, and which tensors stay in the scratchpad.

The shortest path through the program, in steps and chains of steps. A node of the path is a state
between two steps: which of the tensors that are needed on both sides are outside of the scratchpad.
A segment of the path costs the cycles of a step, or of a chain in the best strips that fit beside
the tensors in the scratchpad (`eightfold.compiler.cascade.trials`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from eightfold.compiler.cascade.schedule import Chain, Choice, Impossible, Schedule
from eightfold.compiler.cascade.step import Cascade, Decision, chosen
from eightfold.compiler.cascade.trials import Costs, Trials
from eightfold.compiler.emit.memory import Block, Overfull, aligned
from eightfold.compiler.exact import CompileError
from eightfold.compiler.network import Compiled
from eightfold.compiler.step_program import Chains, Proposal
from eightfold.estimate.cost import STEP_START
from eightfold.estimate.estimate import estimate_network
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

LONGEST = 24
"""Steps of a chain, at most."""

FREE = 4
"""Tensors for which both places are tried, at each place; others stay where the plan had them."""

FITTING = 1
"""Numbers of strips that are compared, from the least that fits on."""

REFINED = 6
"""The same for the chains of the cheapest plan."""

FINAL = 9
"""Ways to cut a chain that the estimate compares, if there is time."""

TRIED = 1500
"""Commands that are estimated for that: the estimate takes as long as there are many."""

LONG = 4000
"""Commands, without cascades, of a stream that is not estimated if the search's own costs say that
cascades save a tenth: each estimate takes some seconds."""

SPARE = (0, 1, 2)
"""Strips that a buffer has room for beyond what it needs; the plan is found without the last."""


def best_cascades(
    chains: Chains,
    config: AcceleratorConfig,
    attempt: Callable[[Proposal], Compiled],
    memory: MemoryTiming = IDEAL,
) -> Compiled:
    """Return a program compiled with the cascades of the cheapest plan, or with none.

    Both, and other strips for single cascades, are compared by `eightfold.estimate`, with a memory;
    of a stream of more than `LONG` commands by what the search takes for their cycles, if that
    leaves no doubt. Where all tensors fit the scratchpad, none is tried.
    """
    alone = attempt(Proposal())
    if not alone.outside:
        return alone
    search = Search(chains, config, alone.outside, memory)
    plan = search.best()
    if not plan.segments:
        return alone
    costs = search.compared() if len(alone.issued) > LONG else None
    before = costs[0] if costs else estimate_network([alone], memory)
    best = alone
    cycles = before
    used = dict[int, Cascade]()
    left = TRIED
    for proposal in _proposals(plan, used):
        if left < (len(best.issued) if used else 1):
            break
        try:
            compiled = attempt(proposal)
        except (CompileError, Overfull, Impossible):
            left -= len(alone.issued) // 4
            continue
        found = costs[1] if costs else estimate_network([compiled], memory)
        left -= len(compiled.issued)
        if sum(found.values()) < sum(cycles.values()):
            best, cycles = compiled, found
            used.update(proposal.cascades)
    if not used:
        return alone
    cascades = tuple(chosen(cascade, best.outside, cycles, before) for cascade in used.values())
    decision = Decision(
        cascades=cascades,
        cycles=sum(cycles.values()),
        alone=sum(before.values()),
        memory=memory,
        estimated=costs is None,
    )
    return replace(best, decision=decision)


def _proposals(plan: "Plan", used: Mapping[int, Cascade]) -> Iterator[Proposal]:
    """Yield the cheapest plan's cascades, then each of the dearest with other strips.

    ``used`` are those of the best proposal so far.
    """
    yield Proposal({each.steps.start: each.cascades[0] for each in plan.segments}, plan.outside)
    for each in sorted(plan.segments, key=lambda each: -each.cycles):
        for other in each.cascades[1:]:
            if each.steps.start in used:
                yield Proposal({**used, each.steps.start: other}, plan.outside)


@dataclass(frozen=True)
class Segment:
    """Steps of a plan: a chain with its choice, or one step without.

    ``outside`` are tensors that are not in the scratchpad, ``room`` the bytes beside the others;
    ``cascades``: of the best plan's chains, in several strips, those that cost least first.
    """

    steps: range
    choice: Choice | None
    cycles: int
    outside: frozenset[int] = frozenset()
    room: int = 0
    cascades: tuple[Cascade, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The cheapest way to a state: its cycles, its segments, the tensors outside at any time."""

    cycles: int = 0
    segments: tuple[Segment, ...] = ()
    outside: frozenset[int] = frozenset()


@dataclass
class Search:
    """The search for one program, whose ``chains`` it is about.

    ``outside``: storages that are outside of the scratchpad if every step is done for itself.
    """

    chains: Chains
    config: AcceleratorConfig
    outside: frozenset[int]
    memory: MemoryTiming = IDEAL
    _choices: dict[tuple, tuple[int, Choice] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.costs = Costs(self.config, self.memory)
        self.trials = Trials(self.costs, self.chains.schedules)
        self.blocks = {
            storage: block
            for storage, block in self.chains.program.blocks().items()
            if not self.chains.program.constant(storage)
        }

    @cached_property
    def region(self) -> range:
        """The steps from the first to the last that touch something outside, and some more."""
        blocks = [self.blocks[storage] for storage in self.outside if storage in self.blocks]
        if not blocks:
            return range(0)
        last = max(block.last for block in blocks) + 3
        return range(min(b.first for b in blocks), min(last, len(self.chains.parts)))

    @cached_property
    def cuts(self) -> list[int]:
        """Where chains may begin and end: where less is needed on both sides than at the next."""
        region = self.region
        sizes = {at: sum(self._size(s) for s in self._live(at)) for at in range(region.stop + 2)}
        found = [region.start, region.stop]
        for at in range(region.start + 1, region.stop):
            single = [self.chains.parts[at - 1], self.chains.parts[at]]
            if None in single or sizes[at] <= min(sizes[at - 1], sizes[at + 1]):
                found.append(at)
        return sorted(set(found))

    def _size(self, storage: int) -> int:
        return aligned(self.blocks[storage].size)

    @cached_property
    def _during(self) -> list[list[int]]:
        """What is needed in each step or around it."""
        found: list[list[int]] = [[] for _ in self.chains.parts]
        for storage, block in self.blocks.items():
            for number in range(block.first, block.last + 1):
                found[number].append(storage)
        return found

    def _needed(self, steps: range) -> list[int]:
        """Return what is needed in any of some steps or around it."""
        return list(dict.fromkeys(s for number in steps for s in self._during[number]))

    def _live(self, at: int) -> list[int]:
        """Return what is needed before and behind the begin of a step."""
        return [s for s, block in self.blocks.items() if block.first < at <= block.last]

    @cached_property
    def plan(self) -> Plan | None:
        """The cheapest way through the region."""
        region = self.region
        plans: dict[int, dict[frozenset[int], Plan]] = {at: {} for at in (*region, region.stop)}
        before = frozenset(self._live(region.start)) & self.outside
        plans[region.start][before] = Plan(outside=before)
        for at in range(region.start + 1, region.stop + 1):
            for steps in self._segments_to(at):
                if not self._extend(plans, steps) and len(steps) > 1:
                    break  # longer ones have smaller strips still
        return min(plans[region.stop].values(), key=lambda plan: plan.cycles, default=None)

    def best(self) -> Plan:
        """Return the cheapest plan, of its segments only the chains, as cascades."""
        plan = self.plan or Plan()
        chains = []
        for segment in plan.segments:
            if segment.choice is not None:
                choices = self.refine(segment)
                cascades = tuple(self.chains.cascade(segment.steps, each) for each in choices)
                chains.append(replace(segment, cascades=cascades))
        return replace(plan, segments=tuple(chains))

    def compared(self) -> tuple[dict[int, int], dict[int, int]] | None:
        """Return the region's cycles without cascades, and those of the cheapest plan.

        By operator, those of a chain as of its first one. None if a step alone has no room, or if
        the plan does not save a tenth: costs are about right, no more.
        """
        if self.plan is None:
            return None
        alone = [
            self._segment(range(number, number + 1), self.outside & set(self._during[number]))
            for number in self.region
        ]
        owners = self.chains.program.owners
        before, after = (dict.fromkeys(owners, 0) for _ in range(2))
        for segments, found in ((alone, before), (self.plan.segments, after)):
            for segment in segments:
                if segment is None:
                    return None
                found[owners[segment.steps.start]] += segment.cycles
        return (before, after) if 10 * sum(after.values()) < 9 * sum(before.values()) else None

    def _extend(self, plans: Mapping[int, dict[frozenset[int], Plan]], steps: range) -> bool:
        """Extend all plans that end in front of some steps by these; return whether that pays."""
        better = False
        for state, plan in plans[steps.start].items():
            for end, segment, outside in self._outcomes(steps, state):
                cycles = plan.cycles + segment.cycles
                known = plans[steps.stop].get(end)
                if known is None or cycles < known.cycles:
                    segments = (*plan.segments, segment)
                    plans[steps.stop][end] = Plan(cycles, segments, plan.outside | outside)
                    better = True
        return better

    def _segments_to(self, stop: int) -> Iterator[range]:
        """Yield the step in front of a place, and chains that end with it, short ones first."""
        yield range(stop - 1, stop)
        if stop in self.cuts:
            for cut in reversed(self.cuts):
                steps = range(cut, stop)
                if 1 < len(steps) <= LONGEST and self.chains.is_feasible(steps):
                    yield steps

    def _outcomes(
        self, steps: range, state: frozenset[int]
    ) -> Iterator[tuple[frozenset[int], Segment, frozenset[int]]]:
        """Yield what is outside behind some steps, their segment, and what is outside of theirs.

        For each choice of what they bring, or touch first.
        """
        chain = len(steps) > 1
        results = self.chains.results(steps) if chain else frozenset[int]()
        new = []
        fixed = set(state)
        for storage in self._needed(steps):
            block = self.blocks[storage]
            if not steps.start <= block.first < steps.stop:
                continue
            if chain and storage in self.chains.produced(steps):
                if storage not in results:
                    continue
                if block.last < steps.stop:  # only kept
                    fixed.add(storage)
                    continue
            new.append(storage)
        new.sort(key=lambda s: -self.blocks[s].size)
        free = new[:FREE]
        fixed |= set(new[FREE:]) & self.outside
        for count in range(len(free) + 1):
            for some in combinations(free, count):
                outside = frozenset(fixed | set(some))
                segment = self._segment(steps, outside)
                if segment is not None:
                    live = {s for s in outside if self.blocks[s].last >= steps.stop}
                    yield frozenset(live), segment, outside

    def _segment(self, steps: range, outside: frozenset[int]) -> Segment | None:
        """Return the steps as a segment if what is not outside fits; None if not."""
        room = self.config.scratchpad
        chain = len(steps) > 1
        inner = self.chains.produced(steps) - self.chains.results(steps) if chain else frozenset()
        loaded = 0
        for storage in self._needed(steps):
            if storage in inner or storage in outside:
                continue
            block = self.blocks[storage]
            room -= self._size(storage)
            if not self.chains.program.computed(storage) and block.first >= steps.start:
                loaded += block.size // self.config.port
        room -= self._in_place(steps, outside)
        if room < 0:
            return None
        if not chain:
            cycles = self._step_cycles(steps.start, outside, room)
            return None if cycles is None else Segment(steps, None, cycles + loaded)
        found = self.choice(steps, outside, room)
        if found is None:
            return None
        return Segment(steps, found[1], found[0] + loaded, outside, room)

    def _in_place(self, steps: range, outside: frozenset[int]) -> int:
        """Return the bytes, negative, that a result saves in the place of its operand."""
        step = self.chains.program.steps[steps.start]
        if len(steps) > 1 or step.replaceable is None:
            return 0
        storage = self.chains.program.storage
        source, target = storage(step.replaceable), storage(step.target)
        if source in outside or target in outside or source == target:
            return 0
        block = self.blocks.get(source, Block(0, 0, -1))
        return -self._size(source) if block.last == steps.start else 0

    def _step_cycles(self, number: int, outside: frozenset[int], room: int) -> int | None:
        """Return the cycles of a step for itself; None if it lacks room."""
        program = self.chains.program
        step = program.steps[number]
        part = self.chains.parts[number]
        there = frozenset(program.storage(t) for t in step.uses) & outside
        moved = sum(self.blocks[s].size for s in there) // self.config.port
        needed = program.room(number, there, self.config)
        if (self.config.scratchpad // 2 if needed is None else needed) > room:
            return None
        if part is None:
            return moved
        if step.cycles is not None:
            return step.cycles + moved + STEP_START
        image = part.images[part.target]
        try:
            work = image.count * self.costs.work(part, range(image.rows)).cycles
        except Impossible:  # in one piece; the step itself goes by parts
            work = 0
        return work + moved + STEP_START

    def choice(self, steps: range, outside: frozenset[int], room: int) -> tuple[int, Choice] | None:
        """Return the cycles of a chain in the best strips that fit, and these; None without any.

        Halos are kept; few heights are compared.
        """
        chain = self.chains.chain(steps, outside)
        key = (steps, chain.outside, room)
        if key not in self._choices:
            recomputed = frozenset(chain.loaded)
            found = [
                each
                for prefetch in (False, True)
                for each in self._feasible(chain, recomputed, prefetch, room, FITTING)
            ]
            self._choices[key] = min(found, key=_order, default=None)
        return self._choices[key]

    def _feasible(
        self, chain: Chain, recomputed: frozenset[int], prefetch: bool, room: int, count: int
    ) -> Iterator[tuple[int, Choice]]:
        """Yield cycles and strips of the largest heights that fit, ``count`` of them."""
        rows = chain.images[chain.steps[-1].target].rows
        spares = SPARE if count > FITTING else SPARE[:2]
        trial = self.trials.of(chain)
        heights = list(dict.fromkeys(-(-rows // strips) for strips in range(2, rows + 1)))
        while heights and count:
            height = heights.pop(0)
            needed = 0
            for spare_strips in spares:
                choice = Choice(height, recomputed, prefetch, spare_strips)
                try:
                    tried = trial(choice)
                    needed = needed or tried.size
                    if tried.size <= room:
                        yield tried.cycles, choice
                except Impossible:
                    break
                if not tried.halo:
                    break
            if 0 < needed <= room:
                count -= 1
            elif needed and heights:  # buffers are about as large as strips are high
                most = max(height * room // needed + 1, heights[-1])
                heights = [height for height in heights if height <= most]

    def refine(self, segment: Segment) -> list[Choice]:
        """Return strips for a chain of the plan, the best first: halos recomputed, one by one."""
        assert segment.choice is not None
        chain = self.chains.chain(segment.steps, segment.outside)
        loaded = frozenset(chain.loaded)
        found = [(segment.cycles, segment.choice)]
        for prefetch in (False, True):
            for recomputed in (loaded, frozenset(chain.buffered), frozenset[int]()):
                found += self._feasible(chain, recomputed, prefetch, segment.room, REFINED)
        tracks = Schedule(chain, replace(segment.choice, recomputed=loaded)).tracks
        for tensor in [tensor for tensor, track in tracks.items() if track.halo]:
            best = min(found, key=_order)[1]
            recomputed = best.recomputed ^ {tensor}
            found += self._feasible(chain, recomputed, best.prefetch, segment.room, FITTING)
        choices: dict[tuple[int, bool, int], Choice] = {}
        for _, choice in sorted(found, key=_order):
            choices.setdefault((choice.height, choice.prefetch, choice.spare_strips), choice)
        return list(choices.values())[:FINAL]


def _order(found: tuple[int, Choice]) -> tuple[int, int, bool, int, int]:
    """Return what makes the choice the same each time."""
    cycles, choice = found
    return cycles, -choice.height, choice.prefetch, choice.spare_strips, len(choice.recomputed)
