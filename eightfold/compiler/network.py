"""Whole networks: where tensors live, all commands."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, chain

import numpy as np

from eightfold.compiler.beside import beside
from eightfold.compiler.cascade.step import Decision
from eightfold.compiler.emit.emitter import Buffered, Emitter
from eightfold.compiler.emit.memory import Block, Layout, aligned, allocate, plan
from eightfold.compiler.emit.staging import Arrival, NoRoomError, Place, Staging
from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.planes import with_planes
from eightfold.compiler.step_program import (
    Chains,
    Placed,
    Proposal,
    StepProgram,
    Store,
    local_variables,
    with_variables,
)
from eightfold.compiler.steps.step import Step
from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import Space
from eightfold.isa.issued import Issued, Stream, encode, hoist_tables
from eightfold.isa.shapes import FieldError
from eightfold.model import Graph, Operator
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, PROFILES, MemoryTiming

EXTREMES = (IDEAL, PROFILES["sdr-sdram-16"])
"""Memories for which plans are made where cascades are sought, which takes long: a near and wide
one, and a narrow one. Elsewhere a plan is made for each of `PROFILES`. These are the same whatever
the memory of a run is, so that no profile's plan is worse than that of another."""

MANY = 80
"""Steps of a program beyond which a plan is made for the memory of the run alone."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """``size`` bytes from ``offset`` of a space, in use from command ``first`` to ``last``.

    Both are indices of commands of engines, or of BEGIN and END where the bytes hold an input or
    a result. ``tensor`` is the graph's; None for what only the commands of ``operator`` see: its
    temporaries, and room to work through tensors in parts. A RESHAPE's result is where its operand
    is, and has no placement of its own. ``rows`` are those of a strip, within its image; None for
    all of the tensor.
    """

    space: Space
    offset: int
    size: int
    first: int
    last: int
    tensor: int | None
    operator: int
    rows: range | None = None


@dataclass(frozen=True, kw_only=True)
class Compiled(Stream):
    """A command stream, the model region, and where the arena has inputs and results.

    ``inputs`` and ``outputs`` are arena offsets by tensor. ``state``: of variables that are in one
    place, the tensor of the value before a run, and of that after it. ``searched``: per operator,
    the channels whose requantization had to be searched and proved. ``placements``: which bytes of
    scratchpad and arena are in use for what, and from when to when. ``outside``: tensors, the
    graph's and temporaries, that are not in the scratchpad; ``decision``: which cascades were
    chosen.
    """

    model: bytes
    arena: int
    inputs: Mapping[int, int]
    outputs: Mapping[int, int]
    searched: Mapping[int, int]
    state: Mapping[int, int] = field(default_factory=dict)
    placements: tuple[Placement, ...] = ()
    outside: frozenset[int] = frozenset()
    decision: Decision | None = None

    @cached_property
    def words(self) -> np.ndarray:
        """The commands with their tokens, uint32."""
        return encode(self.config, self.issued)


class OperatorError(CompileError):
    """No commands compute an operator, for reasons of size; ``operator`` is its index."""

    def __init__(self, operator: int, reason: str) -> None:
        self.operator = operator
        super().__init__(reason)


def compile_operators(
    graph: Graph,
    operators: Sequence[Operator],
    lowered: Mapping[int, Lowered],
    config: AcceleratorConfig,
    wanted: Collection[int],
    strategy: "Strategy | None" = None,
    memory: MemoryTiming = IDEAL,
) -> Compiled:
    """Compile consecutive operators; ``wanted`` tensors can be read from the arena afterwards.

    ``strategy`` chooses cascades; without one every step is done for itself. ``memory`` is the one
    for which they are chosen, and the parts of convolutions: of the plans for several memories the
    one that takes fewest cycles with it. Raises OperatorError if an operator's smallest part does
    not fit the scratchpad, or if a command that it takes has a field without room for its number.
    """
    program = StepProgram(graph, operators, lowered)
    kept = {program.storage(tensor) for tensor in wanted if program.computed(tensor)}
    searched = {operator.index: lowered[operator.index].searched for operator in operators}
    variables = local_variables(program, graph.variables)

    chains = Chains(program, kept)
    undecided = set[MemoryTiming]()

    def attempt(proposal: Proposal, planned: MemoryTiming, second: bool) -> Compiled:
        placed = with_variables(program.replaced(proposal.cascades), variables, wanted)
        compiler = _NetworkCompiler(placed, config, planned, proposal.outside, second)
        emitter, places = compiler.compile()
        undecided.update([planned] if emitter.undecided else [])
        offsets = places.arena.offsets
        issued = tuple(hoist_tables(emitter.issued))
        return Compiled(
            config=config,
            issued=issued,
            model=bytes(emitter.image),
            arena=places.arena.size,
            inputs={tensor: offsets[program.storage(tensor)] for tensor in program.inputs()},
            outputs={t: offsets[storage] for t, storage in sorted(placed.places.items())},
            operators=tuple(searched),
            searched=searched,
            state={variable.before: variable.after for variable in variables},
            placements=tuple(_placements(placed.program, places, issued, len(graph.tensors))),
            outside=frozenset(set(places.blocks) - {*places.layout.tensors, *placed.homes}),
        )

    def plan(planned: MemoryTiming, second: bool = False) -> Compiled:
        tried = partial(attempt, planned=planned, second=second)
        if strategy is None:
            return tried(Proposal())
        return strategy(chains, config, tried, planned)

    if len(program.steps) > MANY:
        return _beside(plan(memory), memory)
    first = plan(IDEAL)
    slow = first.outside or first.decision
    planned = [*(EXTREMES if slow else PROFILES.values())]
    if memory not in PROFILES.values():
        planned.append(memory)
    plans = [first, *(plan(each) for each in planned if each != IDEAL)]
    if not slow:
        plans += [plan(each, second=True) for each in planned if each in undecided]
    return _best(plans, memory)


def _best(plans: Sequence[Compiled], memory: MemoryTiming) -> Compiled:
    """Return the plan that takes fewest cycles with a memory, the first of equal ones."""
    different = {tuple(each.instruction for each in plan.issued): plan for plan in reversed(plans)}
    found = [_beside(plan, memory) for plan in reversed(different.values())]
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda plan: estimate_stream(plan.config, plan.issued, memory)[1])


def _beside(compiled: Compiled, memory: MemoryTiming) -> Compiled:
    """Return the program with commands in pieces that are done beside each other.

    Strips of cascades are so already.
    """
    if any(place.rows for place in compiled.placements):
        return compiled
    issued = tuple(beside(compiled.config, compiled.issued, memory))
    places: dict[int, list[int]] = {}
    for index, command in enumerate(issued):
        if not command.loads_table:
            places.setdefault(command.step, []).append(index)
    steps = [command.step for command in compiled.issued]
    placements = tuple(
        replace(place, first=min(places[steps[place.first]]), last=max(places[steps[place.last]]))
        for place in compiled.placements
    )
    return replace(compiled, issued=issued, placements=placements)


Strategy = Callable[
    [Chains, AcceleratorConfig, Callable[[Proposal], Compiled], MemoryTiming], Compiled
]
"""Returns the best of what it attempts: proposals of cascades among the chains of a program."""


@dataclass(frozen=True)
class _Arena:
    """Offsets by storage, the steps in which each is in use, and the bytes of all."""

    offsets: Mapping[int, int]
    lives: Mapping[int, Block]
    size: int


@dataclass(frozen=True)
class _Memory:
    """Where everything is: ``blocks`` are the storages, ``layout`` those in the scratchpad."""

    blocks: Mapping[int, Block]
    layout: Layout
    arena: _Arena
    buffered: Mapping[int, Sequence[Buffered]]


def _placements(
    program: StepProgram, memory: _Memory, issued: Sequence[Issued], tensors: int
) -> Iterator[Placement]:
    """Yield the memory in use by commands; of storages, those below ``tensors`` are the graph's."""
    # Loads of tables move to other steps' commands.
    kept = [
        index
        for index, command in enumerate(issued)
        if index in (0, len(issued) - 1) or (command.engine is not None and not command.loads_table)
    ]
    steps = [issued[index].step for index in kept]
    blocks = [
        (Space.SCRATCHPAD, offset, memory.blocks[storage], storage)
        for storage, offset in memory.layout.tensors.items()
    ]
    blocks += [
        (Space.SCRATCHPAD, offset, Block(size, step, step), tensors)
        for step, (offset, size) in memory.layout.room.items()
        if step not in memory.buffered
    ]
    blocks += [
        (Space.ARENA, memory.arena.offsets[storage], life, storage)
        for storage, life in memory.arena.lives.items()
    ]
    for space, offset, block, storage in blocks:
        first = bisect_left(steps, block.first)
        last = bisect_right(steps, block.last) - 1
        if first <= last:
            yield Placement(
                space=space,
                offset=offset,
                size=block.size,
                first=kept[first],
                last=kept[last],
                tensor=storage if storage < tensors else None,
                operator=program.owners[max(block.first, 0)],
            )
    places = {id(command): index for index, command in enumerate(issued)}
    for strip in chain.from_iterable(memory.buffered.values()):
        yield Placement(
            space=Space.SCRATCHPAD,
            offset=strip.offset,
            size=strip.size,
            first=places[id(strip.first)],
            last=places[id(strip.last)],
            tensor=strip.tensor if strip.tensor < tensors else None,
            operator=strip.first.operator,
            rows=strip.rows,
        )


class _NetworkCompiler:
    """Plans memory by steps, and emits their commands."""

    def __init__(
        self,
        placed: Placed,
        config: AcceleratorConfig,
        memory: MemoryTiming,
        outside: Collection[int] = (),
        second: bool = False,
    ) -> None:
        program = placed.program
        self.program, self.config = program, config
        self.memory, self.second = memory, second
        self.kept = set(placed.places.values())
        self.homes, self.region = placed.homes, placed.region
        stored = {step.target for step in program.steps if isinstance(step, Store)}
        self.outside = {*outside, *(stored & {*placed.homes})}
        self.rooms = dict.fromkeys(range(len(program.steps)), config.scratchpad // 2)

    def compile(self) -> tuple[Emitter, _Memory]:
        """Return the stream; a step without enough room gets more, and all starts again."""
        while True:
            emitter = Emitter(self.config, self.memory, second=self.second)
            try:
                return emitter, self._attempt(emitter)
            except (CompileError, FieldError) as error:
                raise OperatorError(emitter.operator, str(error)) from None
            except _MoreRoom as more:
                room = self.config.scratchpad
                if self.rooms[more.step] == room:
                    operator = self.program.owners[more.step]
                    reason = f"its smallest part does not fit a scratchpad of {room} bytes"
                    raise OperatorError(operator, reason) from None
                self.rooms[more.step] = room

    def _attempt(self, emitter: Emitter) -> _Memory:
        """Emit everything; return where it is."""
        program, config = self.program, self.config
        blocks = program.blocks()
        together = program.in_place(blocks)
        layout = plan(
            blocks, together, len(program.steps), self._room, config.scratchpad, self.outside
        )
        arena = self._arena(blocks, layout.tensors)
        steps = with_planes(program, config, self.memory, layout.tensors, self.kept)
        emitter.operator = program.owners[0]
        emitter.begin()
        loaded: set[int] = set()
        later: list[tuple[int, int, Staging]] = []
        for number, step in enumerate(steps):
            if step.shares is not None:
                continue
            emitter.operator = program.owners[number]
            emitter.step = number
            places, arrivals = self._places(emitter, step, layout.tensors, arena, loaded)
            staging = Staging(emitter, places, layout.room.get(number, (0, 0)), arrivals)
            if arrivals and step.awaits:
                later.append((len(emitter.issued), number, staging))
            else:
                staging.arrive_all()
                self._emit(emitter, step, staging)
            for storage in map(program.storage, step.targets):  # copied as soon as it is there
                if storage in self.kept and storage in layout.tensors:
                    here = (Space.SCRATCHPAD, layout.tensors[storage])
                    emitter.move(here, (Space.ARENA, arena.offsets[storage]), program.size(storage))
        for place, number, staging in reversed(later):
            # What follows is known now: it is fetched while operands arrive.
            staging.following = emitter.issued[place:]
            del emitter.issued[place:]
            emitter.operator = program.owners[number]
            emitter.step = number
            self._emit(emitter, steps[number], staging)
            for tensor in staging.arrivals:
                if blocks[program.storage(tensor)].last > number:
                    staging.arrive(tensor)
            emitter.issued += staging.following
        emitter.operator = program.owners[-1]
        emitter.step = len(steps)
        emitter.end()
        return _Memory(blocks, layout, arena, emitter.buffered)

    def _emit(self, emitter: Emitter, step: Step, staging: Staging) -> None:
        """Emit the commands of a step."""
        try:
            step.emit(emitter, staging)
        except NoRoomError:
            raise _MoreRoom(emitter.step) from None

    def _room(self, number: int, outside: Collection[int]) -> int:
        room = self.program.room(number, outside, self.config)
        return self.rooms[number] if room is None else room

    def _arena(self, blocks: Mapping[int, Block], resident: Mapping[int, int]) -> _Arena:
        """Return arena offsets of inputs, kept tensors and what is not in the scratchpad."""
        given = {self.program.storage(tensor) for tensor in self.program.inputs()}
        constant = {storage for storage in blocks if self.program.constant(storage)}
        there = [
            s
            for s in blocks
            if s not in self.homes and (s in self.kept | given or s not in constant | set(resident))
        ]
        there.sort(key=lambda s: s not in self.region)
        end = len(self.program.steps)
        lives = [
            Block(
                blocks[s].size,
                -1 if s in given else blocks[s].first,
                end if s in self.kept or s in self.region else blocks[s].last,
            )
            for s in there
        ]
        count = len(self.region)
        offsets = [*accumulate((aligned(life.size) for life in lives[:count]), initial=0)]
        start = offsets.pop()
        offsets += [start + (offset or 0) for offset in allocate(lives[count:], None)]
        arena = dict(zip(there, offsets, strict=True))
        size = max((arena[s] + blocks[s].size for s in there), default=0)
        arena |= {new: arena[old] for new, old in self.homes.items()}
        return _Arena(arena, dict(zip(there, lives, strict=True)), size)

    def _places(
        self,
        emitter: Emitter,
        step: Step,
        resident: Mapping[int, int],
        arena: _Arena,
        loaded: set[int],
    ) -> tuple[dict[int, Place], dict[int, Arrival]]:
        """Return where the step's tensors are, and those that are still to be loaded."""
        program = self.program
        places = dict[int, Place]()
        arrivals = dict[int, Arrival]()
        for tensor in step.uses:
            storage = program.storage(tensor)
            content = program.content(storage)
            if content is not None:
                outside: Place = (Space.MODEL, emitter.image.add(content))
            else:
                outside = (Space.ARENA, arena.offsets.get(storage, 0))
            if storage not in resident:
                places[tensor] = outside
                continue
            places[tensor] = (Space.SCRATCHPAD, resident[storage])
            if storage not in loaded and not program.computed(storage):
                loaded.add(storage)
                arrivals[tensor] = Arrival(outside, resident[storage], program.size(storage))
        return places, arrivals


class _MoreRoom(Exception):  # noqa: N818 - a signal within this module, not an error
    def __init__(self, step: int) -> None:
        self.step = step
