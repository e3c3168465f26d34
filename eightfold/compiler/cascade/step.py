"""A cascade as one step of a program."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from eightfold.compiler.cascade.row_wise import Held, RowWise
from eightfold.compiler.cascade.schedule import Act, Action, Chain, Choice, Schedule
from eightfold.compiler.emit.emitter import Buffered, Emitter
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.steps.step import Step
from eightfold.isa import Space
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Cascade(Step):
    """Consecutive steps, strip by strip; ``target`` is the last one's result.

    ``parts`` are the steps by rows, in order, ``owners`` the operator of each; ``results`` the
    tensors that are there whole afterwards: all others between the steps never are. ``sizes``:
    bytes of operands that every row needs whole.
    """

    parts: tuple[RowWise, ...]
    owners: tuple[int, ...]
    results: frozenset[int]
    sizes: Mapping[int, int]
    choice: Choice

    @property
    def uses(self) -> tuple[int, ...]:
        """Operands from before, then results, by storage."""
        made = {part.target for part in self.parts}
        read = [tensor for part in self.parts for tensor in (*part.sources, *part.whole)]
        given = dict.fromkeys(tensor for tensor in read if tensor not in made)
        last = self.parts[-1].target
        return (*given, *sorted(self.results - {last}), last)

    @cached_property
    def _schedules(self) -> dict[frozenset[int], Schedule]:
        """What `schedule` has returned so far."""
        return {}

    @property
    def targets(self) -> tuple[int, ...]:
        return tuple(tensor for tensor in self.uses if tensor in self.results)

    def schedule(self, outside: frozenset[int]) -> Schedule:
        """Return the strips if these tensors are not in the scratchpad."""
        within = outside & frozenset(self.uses)
        if within not in self._schedules:
            chain = Chain(self.parts, self.results, within, self.sizes)
            self._schedules[within] = Schedule(chain, self.choice)
        return self._schedules[within]

    def room_beside(self, config: AcceleratorConfig, outside: Collection[int]) -> int:
        return self.schedule(frozenset(outside)).buffers[1]

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, image by image and strip by strip."""
        outside = frozenset(staging.outside(self.uses))
        Strips(self, self.schedule(outside), emitter, staging).emit()


@dataclass
class Strips:
    """Emits the actions of a schedule."""

    cascade: Cascade
    schedule: Schedule
    emitter: Emitter
    staging: Staging

    def emit(self) -> None:
        """Emit the commands of all images."""
        chain, (offsets, _) = self.schedule.chain, self.schedule.buffers
        self._base = {p: self.staging.room[0] + offset for p, offset in offsets.items()}
        self.emitter.operator = self.cascade.owners[0]
        for tensor in chain.constants:
            target = (Space.SCRATCHPAD, self._base[tensor])
            self.emitter.move(self.staging.places[tensor], target, chain.sizes[tensor])
        self._used: dict[tuple[int, int, int], tuple[Held, int, int]] = {}
        actions = list(self.schedule.actions())
        begin = len(self.emitter.issued)
        images = chain.images[self.cascade.parts[-1].target].count
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
        found = [
            Buffered(
                tensor,
                held.address,
                len(held.rows) * chain.images[tensor].size,
                held.rows,
                issued[first],
                issued[last],
            )
            for (_, tensor, _), (held, first, last) in self._used.items()
            if held.rows
        ]
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
        held, start = self.schedule.rows(tensor, strip)
        address = self._base[tensor] + (held.start - start) * kind.size
        return Held(Space.SCRATCHPAD, address, held)

    def _whole(self, tensor: int) -> Held:
        """Return where a tensor is that every row needs whole."""
        if tensor in self._base:
            return Held(Space.SCRATCHPAD, self._base[tensor], range(1))
        return Held(*self.staging.places[tensor], range(1))
