"""Where tensors live: in the scratchpad as far as they fit, else in the arena."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

ALIGNMENT = 64
"""The alignment of every buffer: the widest access, in bytes."""

LONGER = (2, 1)
"""Steps by which blocks keep their place beyond their last one, if all fit all the same: what comes
into a place must wait for those who read there."""


def aligned(size: int) -> int:
    """Return ``size`` rounded up to `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Block:
    """Bytes that are needed from step ``first`` to step ``last``, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: "Block") -> bool:
        """Return whether both are needed in one step."""
        return self.first <= other.last and other.first <= self.last


def allocate(
    blocks: Sequence[Block], capacity: int | None, *, every: bool = False
) -> list[int | None]:
    """Return an offset for every block; None for those that do not fit ``capacity``.

    Larger blocks go first, each to the lowest place that is free during its steps. ``every``: none
    goes anywhere behind the first one that does not fit.
    """
    offsets: list[int | None] = [None] * len(blocks)
    taken = defaultdict[int, list[tuple[int, int]]](list)  # places, by each step of their blocks
    begun = defaultdict[int, list[tuple[int, int]]](list)  # the same, by the first of these steps
    order = sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first, i))
    for index in order:
        first, last, size = blocks[index].first, blocks[index].last, aligned(blocks[index].size)
        later = (span for step in range(first + 1, last + 1) for span in begun[step])
        place = 0
        for start, stop in sorted([*taken[first], *later]):
            if place + size <= start:
                break
            place = max(place, stop)
        if capacity is None or place + blocks[index].size <= capacity:
            offsets[index] = place
            begun[first].append((place, place + size))
            for step in range(first, last + 1):
                taken[step].append((place, place + size))
        elif every:
            break
    return offsets


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The result of `plan`: scratchpad addresses of tensors and of each step's own room."""

    tensors: Mapping[int, int]
    room: Mapping[int, tuple[int, int]]


class Overfull(Exception):  # noqa: N818 - tells a search that a choice has no place
    """A step's room alone does not fit the scratchpad."""


def plan(
    tensors: Mapping[int, Block],
    together: Iterable[tuple[int, int]],
    steps: int,
    room: Callable[[int, Collection[int]], int],
    capacity: int,
    outside: Iterable[int] = (),
) -> Layout:
    """Place tensors in the scratchpad; what is left out lives in the arena.

    ``together``: pairs of tensors that may share one place: the second replaces the first in the
    same step. ``steps``: how many there are; ``room`` returns the bytes that a step of some number
    needs beside, if some tensors are outside. ``outside``: tensors that are to live in the arena in
    any case. Raises Overfull if a step's room alone does not fit the ``capacity``.
    """
    outside = set(outside)
    groups = _groups(tensors, [pair for pair in together if not outside & set(pair)])

    lives = [_merged([tensors[tensor] for tensor in group]) for group in groups]
    needs = [room(step, outside) for step in range(steps)]
    while True:
        stays = [number for number, group in enumerate(groups) if outside.isdisjoint(group)]
        resident, merged = [groups[n] for n in stays], [lives[n] for n in stays]
        own = [Block(size, step, step) for step, size in enumerate(needs) if size]
        offsets = _allocate_longer([*merged, *own], capacity)
        homeless = [i for i, offset in enumerate(offsets) if offset is None]
        if not homeless:
            break
        for group in _evicted(homeless, resident, merged, own):
            outside.update(group)
            # The others have the same places without it, while no step needs other room; those
            # that do not touch it need the same.
            touched = _merged([tensors[tensor] for tensor in group])
            around = slice(touched.first, touched.last + 1)
            found = [room(step, outside) for step in range(steps)[around]]
            if found != needs[around]:
                needs[around] = found
                break
    addresses = {
        tensor: offset
        for group, offset in zip(resident, offsets, strict=False)
        for tensor in group
        if offset is not None
    }
    rooms = {
        block.first: (offset, block.size)
        for block, offset in zip(own, offsets[len(resident) :], strict=True)
        if offset is not None
    }
    return Layout(tensors=addresses, room=rooms)


def _allocate_longer(blocks: Sequence[Block], capacity: int) -> list[int | None]:
    """Return offsets as `allocate` does: if all blocks fit, of longer lives."""
    offsets = allocate(blocks, capacity)
    for longer in () if None in offsets else LONGER:
        lives = [replace(block, last=block.last + longer) for block in blocks]
        found = allocate(lives, capacity, every=True)
        if None not in found:
            return found
    return offsets


def _evicted(
    homeless: Sequence[int], resident: Sequence[list[int]], merged: list[Block], own: list[Block]
) -> list[list[int]]:
    """Return the groups that leave the scratchpad: homeless ones, or the largest beside a room."""
    if groups := [resident[index] for index in homeless if index < len(resident)]:
        return groups
    block = own[homeless[0] - len(resident)]
    beside = [i for i, other in enumerate(merged) if other.meets(block)]
    if not beside:
        raise Overfull
    return [resident[max(beside, key=lambda i: merged[i].size)]]


def _groups(tensors: Mapping[int, Block], together: Iterable[tuple[int, int]]) -> list[list[int]]:
    group_of = {tensor: [tensor] for tensor in tensors}
    for first, second in together:
        if group_of[first] is not group_of[second]:
            group_of[first].extend(group_of[second])
            for tensor in group_of[second]:
                group_of[tensor] = group_of[first]
    return list({id(group): group for group in group_of.values()}.values())


def _merged(blocks: Sequence[Block]) -> Block:
    return Block(
        max(block.size for block in blocks),
        min(block.first for block in blocks),
        max(block.last for block in blocks),
    )
