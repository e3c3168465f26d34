"""A cascade as one step of a program."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from eightfold.compiler.cascade.rows import Held, RowWise
from eightfold.compiler.cascade.schedule import Act, Action, Chain, Choice, Schedule
from eightfold.compiler.emit.emitter import Buffered, Emitter
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.steps.step import Step
from eightfold.isa import Space
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Cascade(Step):
    """Consecutive steps, strip by strip; ``target`` is the last one's result.

    Parameters
    ----------
    parts
        The steps by rows, in order.
    owners
        The operator of each.
    results
        The tensors that are there whole afterwards; all others between the steps never are.
    sizes
        Bytes of operands that every row needs whole.
    choice
        How the chain is cut into strips.
    """

    parts: tuple[RowWise, ...]
    owners: tuple[int, ...]
    results: frozenset[int]
    sizes: Mapping[int, int]
    choice: Choice

    @cached_property
    def external(self) -> tuple[int, ...]:
        """Operands from before, then results, by storage."""
        made = {part.target for part in self.parts}
        read = [place for part in self.parts for place in (*part.sources, *part.whole)]
        given = dict.fromkeys(place for place in read if place not in made)
        last = self.parts[-1].target
        return (*given, *sorted(self.results - {last}), last)

    @cached_property
    def _schedules(self) -> dict[frozenset[int], Schedule]:
        """What `schedule` has returned so far."""
        return {}

    @property
    def uses(self) -> tuple[int, ...]:
        """Operands from before, then results."""
        return self.external

    @property
    def targets(self) -> tuple[int, ...]:
        """The results."""
        return tuple(place for place in self.external if place in self.results)

    def schedule(self, outside: frozenset[int]) -> Schedule:
        """Return the strips if these tensors are not in the scratchpad."""
        within = outside & frozenset(self.external)
        if within not in self._schedules:
            chain = Chain(self.parts, self.results, within, self.sizes)
            self._schedules[within] = Schedule(chain, self.choice)
        return self._schedules[within]

    def room_beside(self, config: AcceleratorConfig, outside: Collection[int]) -> int:
        """Return the bytes of all buffers."""
        return self.schedule(frozenset(outside)).buffers[1]

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, image by image and strip by strip."""
        outside = frozenset(p for p in self.external if staging.resident(p) is None)
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
        for place in chain.constants:
            target = (Space.SCRATCHPAD, self._base[place])
            self.emitter.move(self.staging.places[place], target, chain.sizes[place])
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
        chain, emitter = self.schedule.chain, self.emitter
        place, size = action.place, chain.images[action.place].size
        producer = chain.producers.get(place)
        if producer is not None:
            emitter.operator = self.cascade.owners[producer]
        else:
            emitter.operator = self.cascade.owners[chain.consumers[place][0]]
        if action.act is Act.COMPUTE:
            assert producer is not None
            step = chain.steps[producer]
            step.emit(emitter, self._held(step, action, image), image, action.rows)
        else:
            here = (Space.SCRATCHPAD, self._at(action.rows.start, action))
            there = here
            if action.act is Act.MOVE:
                there = here
                before = replace(action, start=action.before)
                here = (Space.SCRATCHPAD, self._at(action.rows.start, before))
            else:
                space, start = self.staging.places[place]
                row = image * chain.images[place].rows + action.rows.start
                outside = (space, start + row * size)
                here, there = (outside, here) if action.act is Act.LOAD else (here, outside)
            emitter.move(here, there, len(action.rows) * size)

    def _note(self, action: Action, image: int, commands: range) -> None:
        """Note which buffers the commands of an action have used."""
        chain, places = self.schedule.chain, {(action.place, action.strip)}
        if action.act is Act.COMPUTE:
            step = chain.steps[chain.producers[action.place]]
            places |= {(source, action.strip) for source in step.sources}
        if action.act is Act.MOVE:
            places.add((action.place, action.strip - 1))
        for place, strip in places:
            if place in self._base and commands:
                held = self._rows(place, strip, image)
                _, first, _ = self._used.get((image, place, strip), (held, commands[0], 0))
                self._used[image, place, strip] = held, first, commands[-1]

    def _report(self, begin: int) -> None:
        """Tell the emitter what the buffers have held; constants from before ``begin`` on."""
        issued, chain = self.emitter.issued, self.schedule.chain
        found = [
            Buffered(
                place,
                held.address,
                len(held.rows) * chain.images[place].size,
                held.rows,
                issued[first],
                issued[last],
            )
            for (_, place, _), (held, first, last) in self._used.items()
            if held.rows
        ]
        for number, place in enumerate(chain.constants):
            load = issued[begin - len(chain.constants) + number]
            size = chain.sizes[place]
            found.append(Buffered(place, self._base[place], size, None, load, issued[-1]))
        self.emitter.buffered[self.emitter.step] = found

    def _at(self, row: int, action: Action) -> int:
        """Return the address of a row in the buffer of an action's tensor."""
        size = self.schedule.chain.images[action.place].size
        return self._base[action.place] + (row - action.start) * size

    def _held(self, step: RowWise, action: Action, image: int) -> dict[int, Held]:
        """Return where the rows of a step's tensors are."""
        held = {place: self._rows(place, action.strip, image) for place in step.sources}
        held |= {place: self._whole(place) for place in step.whole}
        target = step.target
        if target in self._base:
            address = self._at(action.rows.start, action)
            held[target] = Held(Space.SCRATCHPAD, address, action.rows)
        else:
            held[target] = self._rows(target, action.strip, image)
        return held

    def _rows(self, place: int, strip: int, image: int) -> Held:
        """Return the rows of a tensor that are there in a strip."""
        kind = self.schedule.chain.images[place]
        if place not in self._base:
            space, start = self.staging.places[place]
            return Held(space, start + image * kind.rows * kind.size, range(kind.rows))
        held, start = self.schedule.rows(place, strip)
        address = self._base[place] + (held.start - start) * kind.size
        return Held(Space.SCRATCHPAD, address, held)

    def _whole(self, place: int) -> Held:
        """Return where a tensor is that every row needs whole."""
        if place in self._base:
            return Held(Space.SCRATCHPAD, self._base[place], range(1))
        return Held(*self.staging.places[place], range(1))
