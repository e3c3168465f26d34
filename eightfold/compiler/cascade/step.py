"""A cascade as one step of a program; which were chosen, and why."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from eightfold.compiler.cascade.row_wise import Held, RowWise
from eightfold.compiler.cascade.schedule import Act, Action, Chain, Choice, Schedule
from eightfold.compiler.emit.emitter import Buffered, Emitter
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.steps.step import Step
from eightfold.isa import Space
from eightfold.model import Graph
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


@dataclass(frozen=True, kw_only=True)
class Cascade(Step):
    """Consecutive steps, strip by strip; ``target`` is the last one's result.

    ``chain`` has the steps by rows, as if all their tensors were in the scratchpad, ``owners`` the
    operator of each step. Tensors between the steps that are no results are never there whole.
    """

    chain: Chain
    owners: tuple[int, ...]
    choice: Choice

    @property
    def uses(self) -> tuple[int, ...]:
        """Operands from before, then results, by storage."""
        chain = self.chain
        read = [tensor for step in chain.steps for tensor in (*step.sources, *step.whole)]
        given = dict.fromkeys(tensor for tensor in read if tensor not in chain.producers)
        return (*given, *sorted(chain.results - {self.target}), self.target)

    @cached_property
    def _schedules(self) -> dict[frozenset[int], Schedule]:
        """What `schedule` has returned so far."""
        return {}

    @property
    def targets(self) -> tuple[int, ...]:
        return tuple(tensor for tensor in self.uses if tensor in self.chain.results)

    def schedule(self, outside: frozenset[int]) -> Schedule:
        """Return the strips if these tensors are not in the scratchpad."""
        within = outside & frozenset(self.uses)
        if within not in self._schedules:
            self._schedules[within] = Schedule(replace(self.chain, outside=within), self.choice)
        return self._schedules[within]

    def room_beside(self, config: AcceleratorConfig, outside: Collection[int]) -> int:
        return self.schedule(frozenset(outside)).buffers[1]

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        Strips(self, self.schedule(frozenset(staging.outside(self.uses))), emitter, staging).emit()


@dataclass
class Strips:
    """Emits the actions of a schedule."""

    cascade: Cascade
    schedule: Schedule
    emitter: Emitter
    staging: Staging

    def emit(self) -> None:
        chain, (offsets, _) = self.schedule.chain, self.schedule.buffers
        self._base = {p: self.staging.room[0] + offset for p, offset in offsets.items()}
        self.emitter.operator = self.cascade.owners[0]
        for tensor in chain.constants:
            target = (Space.SCRATCHPAD, self._base[tensor])
            self.emitter.move(self.staging.places[tensor], target, chain.sizes[tensor])
        self._used: dict[tuple[int, int, int], tuple[Held, int, int]] = {}
        actions = list(self.schedule.actions())
        begin = len(self.emitter.issued)
        images = chain.images[self.cascade.target].count
        for image in range(images):
            for action in actions:
                first = len(self.emitter.issued)
                self._act(action, image)
                self._note(action, image, range(first, len(self.emitter.issued)))
        self._report(begin)

    def _act(self, action: Action, image: int) -> None:
        chain = self.schedule.chain
        emitter = self.emitter
        tensor = action.tensor
        size = chain.images[action.tensor].size
        producer = chain.producers.get(tensor)
        owner = chain.consumers[tensor][0] if producer is None else producer
        emitter.operator = self.cascade.owners[owner]
        if action.act is Act.COMPUTE:
            assert producer is not None
            step = chain.steps[producer]
            step.emit(emitter, self._held(step, action, image), image, action.rows)
        else:
            here = (Space.SCRATCHPAD, self._at(action.rows.start, action))
            there = here
            if action.act is Act.MOVE:
                before = action._replace(start=action.before)
                here = (Space.SCRATCHPAD, self._at(action.rows.start, before))
            else:
                space, start = self.staging.places[tensor]
                row = image * chain.images[tensor].rows + action.rows.start
                outside = (space, start + row * size)
                here, there = (outside, here) if action.act is Act.LOAD else (here, outside)
            emitter.move(here, there, len(action.rows) * size)

    def _note(self, action: Action, image: int, commands: range) -> None:
        """Note which buffers the commands of an action have used."""
        chain = self.schedule.chain
        tensors = {(action.tensor, action.strip)}
        if action.act is Act.COMPUTE:
            step = chain.steps[chain.producers[action.tensor]]
            tensors |= {(source, action.strip) for source in step.sources}
        if action.act is Act.MOVE:
            tensors.add((action.tensor, action.strip - 1))
        for tensor, strip in tensors:
            if tensor in self._base and commands:
                held = self._rows(tensor, strip, image)
                _, first, _ = self._used.get((image, tensor, strip), (held, commands[0], 0))
                self._used[image, tensor, strip] = held, first, commands[-1]

    def _report(self, begin: int) -> None:
        """Tell the emitter what the buffers have held; constants from before ``begin`` on."""
        issued = self.emitter.issued
        chain = self.schedule.chain
        found = []
        for (_, tensor, _), (held, first, last) in self._used.items():
            if held.rows:
                size = len(held.rows) * chain.images[tensor].size
                ends = issued[first], issued[last]
                found.append(Buffered(tensor, held.address, size, held.rows, *ends))
        for number, tensor in enumerate(chain.constants):
            load = issued[begin - len(chain.constants) + number]
            size = chain.sizes[tensor]
            found.append(Buffered(tensor, self._base[tensor], size, None, load, issued[-1]))
        self.emitter.buffered[self.emitter.step] = found

    def _at(self, row: int, action: Action) -> int:
        """Return the address of a row in the buffer of an action's tensor."""
        size = self.schedule.chain.images[action.tensor].size
        return self._base[action.tensor] + (row - action.start) * size

    def _held(self, step: RowWise, action: Action, image: int) -> dict[int, Held]:
        """Return where the rows of a step's tensors are."""
        held = {tensor: self._rows(tensor, action.strip, image) for tensor in step.sources}
        held |= {tensor: self._whole(tensor) for tensor in step.whole}
        if step.target in self._base:
            made = Held(Space.SCRATCHPAD, self._at(action.rows.start, action), action.rows)
        else:
            made = self._rows(step.target, action.strip, image)
        return held | {step.target: made}

    def _rows(self, tensor: int, strip: int, image: int) -> Held:
        """Return the rows of a tensor that are there in a strip."""
        kind = self.schedule.chain.images[tensor]
        if tensor not in self._base:
            space, start = self.staging.places[tensor]
            return Held(space, start + image * kind.rows * kind.size, range(kind.rows))
        track = self.schedule.tracks[tensor]
        held = track.held[strip]
        address = self._base[tensor] + (held.start - track.starts[strip]) * kind.size
        return Held(Space.SCRATCHPAD, address, held)

    def _whole(self, tensor: int) -> Held:
        """Return where a tensor is that every row needs whole."""
        if tensor in self._base:
            return Held(Space.SCRATCHPAD, self._base[tensor], range(1))
        return Held(*self.staging.places[tensor], range(1))


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A cascade: its operators, its strips, what becomes of its ``tensors``, in words.

    ``room`` is what its buffers take, in bytes; ``cycles`` by the estimate, ``alone`` those of its
    operators layer by layer.
    """

    operators: tuple[int, ...]
    strips: int
    height: int
    tensors: Mapping[str, Sequence[int]]
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
    chain, again = schedule.chain, cascade.choice.recomputed
    halos = [tensor for tensor in chain.buffered if schedule.overlaps(tensor)]
    operators = tuple(dict.fromkeys(cascade.owners))
    return Chosen(
        operators=operators,
        strips=schedule.strips,
        height=cascade.choice.height,
        tensors={
            "loaded strip by strip": chain.loaded,
            "stored strip by strip": [tensor for tensor in cascade.targets if tensor in outside],
            "whole in the scratchpad": [tensor for tensor in cascade.uses if tensor not in outside],
            "halo kept": [tensor for tensor in halos if tensor not in again],
            "halo again": [tensor for tensor in halos if tensor in again],
        },
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
        for what, tensors in each.tensors.items():
            if tensors:
                yield f"  {what}: tensors {', '.join(map(str, tensors))}"
