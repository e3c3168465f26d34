"""Whole networks: which operators the accelerator computes, where tensors live, all commands."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from eightfold.compiler.alias import Alias
from eightfold.compiler.channels import CompileError
from eightfold.compiler.emitter import Emitter, Issued
from eightfold.compiler.lowering import Lowered
from eightfold.compiler.memory import Block, allocate, plan
from eightfold.compiler.pointwise import Pointwise
from eightfold.compiler.staging import NoRoomError, Place, Staging
from eightfold.compiler.tokens import encode, hoist_tables
from eightfold.compiler.windowed import Windowed
from eightfold.config import AcceleratorConfig
from eightfold.isa import Space
from eightfold.model import Graph, Operator


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A command stream, the model region, and where the arena has inputs and results.

    ``inputs`` and ``outputs`` are arena offsets by tensor. ``searched``: per operator, the channels
    whose requantization had to be searched and proved.
    """

    config: AcceleratorConfig
    issued: tuple[Issued, ...]
    model: bytes
    arena: int
    inputs: Mapping[int, int]
    outputs: Mapping[int, int]
    operators: tuple[int, ...]
    searched: Mapping[int, int]

    @cached_property
    def words(self) -> np.ndarray:
        """The commands with their tokens, uint32."""
        return encode(self.issued)


class NoFitError(CompileError):
    """An operator's smallest part does not fit the scratchpad; ``operator`` is its index."""

    def __init__(self, operator: int, scratchpad: int) -> None:
        self.operator = operator
        super().__init__(f"its smallest part does not fit a scratchpad of {scratchpad} bytes")


def compile_operators(
    graph: Graph,
    operators: Sequence[Operator],
    lowered: Mapping[int, tuple[Lowered, int]],
    config: AcceleratorConfig,
    wanted: Collection[int],
) -> Compiled:
    """Compile consecutive operators; ``wanted`` tensors can be read from the arena afterwards.

    Raises
    ------
    NoFitError
        If an operator's smallest part does not fit the scratchpad.
    """
    return _NetworkCompiler(graph, operators, lowered, config, wanted).compile()


class _NetworkCompiler:
    """Compiles one stream. Aliases share a storage, named by its first tensor."""

    def __init__(
        self,
        graph: Graph,
        operators: Sequence[Operator],
        lowered: Mapping[int, tuple[Lowered, int]],
        config: AcceleratorConfig,
        wanted: Collection[int],
    ) -> None:
        self.graph, self.operators, self.config = graph, operators, config
        self.lowered = {op.index: lowered[op.index][0] for op in operators}
        self.searched = {op.index: lowered[op.index][1] for op in operators}
        self.storage: dict[int, int] = {}
        for step in self.lowered.values():
            if isinstance(step, Alias):
                self.storage[step.target] = self._storage(step.source)
        self.wanted = {tensor for tensor in wanted if self._computed(tensor)}
        self.rooms = {op.index: config.scratchpad // 2 for op in operators}

    def compile(self) -> Compiled:
        """Return the stream; an operator without enough room gets more, and all starts again."""
        while True:
            try:
                return self._attempt()
            except _MoreRoom as more:
                if self.rooms[more.operator] == self.config.scratchpad:
                    raise NoFitError(more.operator, self.config.scratchpad) from None
                self.rooms[more.operator] = self.config.scratchpad

    def _attempt(self) -> Compiled:
        blocks, uses = self._blocks(), self._uses()
        windowed = {i: step for i, step in self.lowered.items() if isinstance(step, Windowed)}
        always = {index: step.room(self.config) for index, step in windowed.items()}
        layout = plan(
            blocks, self._in_place(blocks), self.rooms, always, uses, self.config.scratchpad
        )
        arena, arena_size = self._arena(blocks, layout.tensors)
        emitter = Emitter(self.config)
        emitter.begin()
        loaded: set[int] = set()
        for operator in self.operators:
            emitter.operator = operator.index
            step = self.lowered[operator.index]
            if not isinstance(step, Alias):
                places = self._places(emitter, step, layout.tensors, arena, loaded)
                room = layout.room.get(operator.index, (0, 0))
                try:
                    step.emit(emitter, Staging(emitter, places, room))
                except NoRoomError:
                    raise _MoreRoom(operator.index) from None
            self._store(emitter, operator, layout.tensors, arena)
        emitter.end()
        inputs = {tensor: arena[self._storage(tensor)] for tensor in self._inputs()}
        outputs = {tensor: arena[self._storage(tensor)] for tensor in sorted(self.wanted)}
        return Compiled(
            config=self.config,
            issued=tuple(hoist_tables(emitter.issued)),
            model=bytes(emitter.image),
            arena=arena_size,
            inputs=inputs,
            outputs=outputs,
            operators=tuple(operator.index for operator in self.operators),
            searched=self.searched,
        )

    def _storage(self, tensor: int) -> int:
        return self.storage.get(tensor, tensor)

    def _computed(self, tensor: int) -> bool:
        return any(tensor in operator.outputs for operator in self.operators)

    def _uses(self) -> dict[int, list[int]]:
        """Return the storages that each operator's commands touch."""
        return {
            index: [] if isinstance(step, Alias) else [self._storage(t) for t in step.uses]
            for index, step in self.lowered.items()
        }

    def _inputs(self) -> list[int]:
        """Return the tensors that must be there before: neither computed here nor constant."""
        steps = self.lowered.values()
        read = {t for s in steps for t in ((s.source,) if isinstance(s, Alias) else s.uses)}
        return sorted(
            t for t in read if not self._computed(t) and self.graph.tensors[t].data is None
        )

    def _blocks(self) -> dict[int, Block]:
        """Return size and steps of every storage."""
        spans: dict[int, list[int]] = {}
        for operator in self.operators:
            step = self.lowered[operator.index]
            touched = (step.source, step.target) if isinstance(step, Alias) else step.uses
            for tensor in touched:
                spans.setdefault(self._storage(tensor), []).append(operator.index)
        return {
            storage: Block(prod(self.graph.tensors[storage].shape), steps[0], steps[-1])
            for storage, steps in spans.items()
        }

    def _in_place(self, blocks: Mapping[int, Block]) -> list[tuple[int, int]]:
        """Return pairs of storages where a result may take the place of its first operand."""
        pairs, taken = [], set()
        for index, step in self.lowered.items():
            if not isinstance(step, Pointwise):
                continue
            source, target = self._storage(step.sources[0]), self._storage(step.target)
            same = step.shapes[0] == step.shape and step.sources.count(step.sources[0]) == 1
            if same and blocks[source].last == index and source not in taken and source != target:
                pairs.append((source, target))
                taken |= {source}
        return pairs

    def _arena(
        self, blocks: Mapping[int, Block], resident: Mapping[int, int]
    ) -> tuple[dict[int, int], int]:
        """Return arena offsets of inputs, wanted tensors and what is not in the scratchpad."""
        kept = {self._storage(tensor) for tensor in self.wanted}
        given = {self._storage(tensor) for tensor in self._inputs()}
        constant = {s for s in blocks if self.graph.tensors[s].data is not None}
        there = [s for s in blocks if s in kept | given or s not in constant | set(resident)]
        end = len(self.graph.operators)
        lives = [
            Block(
                blocks[s].size,
                -1 if s in given else blocks[s].first,
                end if s in kept else blocks[s].last,
            )
            for s in there
        ]
        offsets = allocate(lives, None)
        arena = {s: offset for s, offset in zip(there, offsets, strict=True) if offset is not None}
        return arena, max((arena[s] + blocks[s].size for s in there), default=0)

    def _places(
        self,
        emitter: Emitter,
        step: Lowered,
        resident: Mapping[int, int],
        arena: Mapping[int, int],
        loaded: set[int],
    ) -> dict[int, Place]:
        """Return where the operator's tensors are; those that were outside so far are loaded."""
        assert not isinstance(step, Alias)
        places: dict[int, Place] = {}
        for tensor in step.uses:
            storage = self._storage(tensor)
            data = self.graph.tensors[storage].data
            if data is not None:
                outside: Place = (Space.MODEL, emitter.image.add(data.tobytes()))
            else:
                outside = (Space.ARENA, arena.get(storage, 0))
            if storage not in resident:
                places[tensor] = outside
                continue
            places[tensor] = (Space.SCRATCHPAD, resident[storage])
            if storage not in loaded and not self._computed(storage):
                loaded.add(storage)
                _load(emitter, outside, resident[storage], self.graph.tensors[storage].shape)
        return places

    def _store(
        self,
        emitter: Emitter,
        operator: Operator,
        resident: Mapping[int, int],
        arena: Mapping[int, int],
    ) -> None:
        """Copy a result that is wanted to the arena, once for each storage."""
        step = self.lowered[operator.index]
        storage = self._storage(step.target)
        aliased = {self._storage(tensor) for tensor in self.wanted}
        if isinstance(step, Alias) or storage not in aliased or storage not in resident:
            return
        size = prod(self.graph.tensors[storage].shape)
        target = (Space.ARENA, arena[storage])
        emitter.move((Space.SCRATCHPAD, resident[storage]), target, size)


class _MoreRoom(Exception):  # noqa: N818 - a signal within this module, not an error
    def __init__(self, operator: int) -> None:
        self.operator = operator


LOAD = 2048
"""Bytes of an input that are loaded by one command, about: work can start on the first ones."""


def _load(emitter: Emitter, source: Place, address: int, shape: tuple[int, ...]) -> None:
    """Copy a tensor into the scratchpad, in several commands of whole rows."""
    size = prod(shape)
    for start in range(0, size, LOAD):
        place = (source[0], source[1] + start)
        target = (Space.SCRATCHPAD, address + start)
        emitter.move(place, target, min(LOAD, size - start))
