"""Where tensors lie, and from when to when: every command works in what is placed then."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

from eightfold.cases.networks import DRAWN, network_rng, random_network
from eightfold.compiler import Compiled
from eightfold.compiler.emit import memory
from eightfold.compiler.emit.memory import ALIGNMENT, Block, allocate
from eightfold.compiler.lower.lowering import HARDWARE
from eightfold.isa import Space
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE as DIGITS
from tests.support.models.single import one_operator
from tests.support.networks.cascades import Forced, block_model
from tests.support.networks.machine_run import compile_stream

PLACED = (Space.SCRATCHPAD, Space.ARENA)


def outside(stream: Compiled) -> list[int]:
    """Return the commands that touch a byte of scratchpad or arena that is not placed then.

    What a command is said to read may end with a whole access, up to `ALIGNMENT` bytes too far.
    """
    found = []
    for index, command in enumerate(stream.issued):
        places = [place for place in stream.placements if place.first <= index <= place.last]
        reads = [(interval, ALIGNMENT) for interval in command.reads]
        writes = [(interval, 0) for interval in command.writes]
        for interval, beyond in reads + writes:
            if interval.space not in PLACED:
                continue
            free = np.ones(interval.stop, bool)
            for place in places:
                stop = place.offset + place.size
                if place.space == interval.space and interval.start < stop:
                    free[place.offset : stop + beyond] = False
            if free[interval.start :].any():
                found.append(index)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("scratchpad", [4096, 1 << 15])
def test_commands_touch_what_is_placed(scratchpad: int, keep: bool) -> None:
    config = replace(PRESETS["nano"], scratchpad=scratchpad, weight_buffer=512)
    stream = compile_stream(DIGITS, config, keep=keep)
    assert outside(stream) == []
    ends = [p.offset + p.size for p in stream.placements if p.space == Space.ARENA]
    assert max(ends) == stream.arena
    last = len(stream.issued) - 1
    for place in stream.placements:
        assert 0 <= place.first <= place.last <= last
        if place.space == Space.SCRATCHPAD:
            assert place.offset + place.size <= scratchpad


@pytest.mark.parametrize("seed", range(4))
def test_commands_of_random_networks_touch_what_is_placed(seed: int) -> None:
    model, _ = random_network(network_rng(seed), operators=HARDWARE & DRAWN)
    assert outside(compile_stream(model, PRESETS["nano"])) == []


@pytest.mark.parametrize("height", [1, 3, 7])
def test_strips_are_placed_with_their_rows(height: int) -> None:
    forced = Forced(height, "ahead spare", outside=True)
    stream = compile_stream(block_model(), PRESETS["nano"], cascades=forced)
    assert forced.made
    assert outside(stream) == []
    strips = [place for place in stream.placements if place.rows is not None]
    assert {place.tensor for place in strips} >= {0, 3, 6}
    rows = {row for place in strips if place.tensor == 3 for row in place.rows or ()}
    assert rows == set(range(13))


def test_inputs_and_results_are_placed_from_begin_or_to_end() -> None:
    stream = compile_stream(DIGITS, PRESETS["nano"])
    arena = {p.tensor: p for p in stream.placements if p.space == Space.ARENA}
    assert {tensor: arena[tensor].offset for tensor in stream.inputs} == stream.inputs
    assert {tensor: arena[tensor].offset for tensor in stream.outputs} == stream.outputs
    assert {arena[tensor].first for tensor in stream.inputs} == {0}
    assert {arena[tensor].last for tensor in stream.outputs} == {len(stream.issued) - 1}


def test_a_tensor_that_is_forgotten_is_noticed() -> None:
    stream = compile_stream(DIGITS, PRESETS["nano"])
    for missing in stream.placements:
        left = tuple(place for place in stream.placements if place != missing)
        assert outside(replace(stream, placements=left))


@pytest.mark.slow
def test_many_tensors_that_do_not_fit_leave_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, with all others placed anew, a PACK of 1,000 inputs took minutes."""
    calls = []

    def counted(
        blocks: Sequence[Block], capacity: int | None, *, every: bool = False
    ) -> list[int | None]:
        calls.append(len(blocks))
        return allocate(blocks, capacity, every=every)

    monkeypatch.setattr(memory, "allocate", counted)
    many = {"scales": (0.5,) * 600, "zero_points": (0,) * 600, "options": {"values_count": 600}}
    packed = one_operator("PACK", [(64,)] * 600, (600, 64), **many)
    assert len(compile_stream(packed, PRESETS["nano"]).outside) > 80
    assert len(calls) < 20


def test_a_step_is_asked_for_its_room_again_only_if_a_tensor_of_it_leaves() -> None:
    """All were, for each tensor that left: of 1,000 steps that took half a minute."""
    asked = []

    def room(step: int, outside: Collection[int]) -> int:
        asked.append(step)
        return 64 * sum(tensor in outside for tensor in (step - 1, step))

    assert not memory.plan({t: Block(640, t, t + 1) for t in range(99)}, (), 100, room, 700).tensors
    assert len(asked) < 400


@pytest.mark.parametrize("seed", range(8))
def test_each_block_has_the_lowest_place_that_larger_ones_leave(seed: int) -> None:
    rng = np.random.default_rng(seed)
    begins = rng.integers(-1, 30, 60).tolist()
    blocks = [Block(int(rng.integers(300)), b, b + int(rng.integers(9))) for b in begins]
    known: list[tuple[int, int, Block]] = []
    offsets = allocate(blocks, 900)
    for index in sorted(range(60), key=lambda i: (-blocks[i].size, blocks[i].first, i)):
        block, size = blocks[index], memory.aligned(blocks[index].size)
        met = [(start, stop) for start, stop, other in known if other.meets(block)]
        place = next(p for p in range(0, 20000, 64) if all(p + size <= a or b <= p for a, b in met))
        assert offsets[index] == (place if place + block.size <= 900 else None)
        known += [(place, place + size, block)] if offsets[index] is not None else []
