"""The emitter: loops of a MOVE touch the same bytes in pairs, and GATHER takes the right slices."""

from itertools import product

import numpy as np
import pytest

from eightfold import isa
from eightfold.compiler.emit import emitter as emitter_module
from eightfold.compiler.emit.emitter import LOOPS, Emitter, Loop, joined, movable
from eightfold.isa import Space
from eightfold.isa.issued import Interval
from eightfold.sim.machine.machine import Machine
from eightfold.sim.machine.tokens import check_tokens
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.gather_program import (
    DTYPES,
    SPACES,
    GatherProgram,
    new_program,
    random_tensor,
)

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, scratchpad=8192, vector_lanes=2)


def run(program: GatherProgram) -> None:
    """Run a program on the machine model, and compare."""
    program.emitter.end()
    model = bytes(program.emitter.image)
    memory = np.zeros(len(model) + program.arena, np.uint8)
    memory[: len(model)] = list(model)
    arena = memory[len(model) :]
    for offset, content in program.inputs.items():
        arena[offset : offset + len(content)] = list(content)
    check_tokens(CONFIG, program.words())
    Machine(CONFIG, memory, (0, len(model)), (len(model), len(arena))).run(program.words())
    program.check(arena)


@pytest.mark.parametrize("seed", range(20))
def test_slices_are_those_that_numpy_takes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = new_program(CONFIG)
    for _ in range(3):
        batches, outer, inner = rng.choice([1, 1, 2, 3, 5], 3).tolist()
        limit, count = int(rng.integers(1, 20)), int(rng.integers(1, 9))
        dtype = DTYPES[rng.integers(len(DTYPES))]
        indices = rng.integers(0, limit, (batches, count)).astype(dtype)
        indices.flat[rng.integers(indices.size)] = limit - 1
        x = random_tensor(rng, batches, outer, limit, inner)
        program.take(x, indices, SPACES[rng.integers(len(SPACES))])
    run(program)


def gather(emitter: Emitter, run: int, loops: list[tuple[int, int, int, int]]) -> None:
    emitter.gather(
        (Space.ARENA, 1000), (Space.SCRATCHPAD, 50), run, loops,
        indices=700, index_bytes=4, limit=10, step=20,
    )  # fmt: skip


def test_all_that_may_be_chosen_is_read() -> None:
    emitter = Emitter(CONFIG)
    gather(emitter, 5, [(2, -100, 40, 12), (3, 0, 5, 4)])
    (issued,) = emitter.issued
    assert issued.reads == (
        Interval(Space.SCRATCHPAD, 700, 700 + 12 + 8 + 4),
        Interval(Space.ARENA, 1000 - 100, 1000 + 9 * 20 + 5),
    )
    assert issued.writes == (Interval(Space.SCRATCHPAD, 50, 50 + 40 + 10 + 5),)
    assert issued.engine == isa.Engine.MOVER


def test_constants_need_no_order_but_their_indices_do() -> None:
    emitter = Emitter(CONFIG)
    local = (Space.SCRATCHPAD, 64)
    emitter.gather((Space.MODEL, 0), local, 4, indices=8, index_bytes=2, limit=3, step=4)
    assert emitter.issued[0].reads == (Interval(Space.SCRATCHPAD, 8, 10),)


def test_what_no_command_may_copy_is_never_emitted() -> None:
    emitter = Emitter(CONFIG)
    arena = (Space.ARENA, 0)
    with pytest.raises(AssertionError, match="no such GATHER"):
        emitter.gather((Space.MODEL, 0), arena, 4, indices=8, index_bytes=2, limit=3, step=4)
    with pytest.raises(AssertionError, match="no such MOVE"):
        emitter.move((Space.MODEL, 0), arena, 4)


def test_loops_that_continue_a_run_become_part_of_it_if_the_index_stays() -> None:
    emitter = Emitter(CONFIG)
    gather(emitter, 5, [(3, 0, 60, 4), (1, 7, 7, 7), (4, 15, 15, 0), (3, 5, 5, 0)])
    gather(emitter, 5, [(3, 5, 5, 4)])
    first, second = (issued.fields for issued in emitter.issued)
    assert (first["run"], first["count0"], first["index_stride0"]) == (60, 3, 4)
    assert first["count1"] == first["count2"] == 1
    assert (second["run"], second["count0"]) == (5, 3)


def test_more_than_three_loops_become_several_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    emitter = Emitter(CONFIG)
    gather(emitter, 1, [(2, 1, 40, 100), (3, 2, 9, 20), (2, 3, 4, 8), (2, 4, 2, 4)])
    assert len(emitter.issued) == 2
    first, second = (issued.fields for issued in emitter.issued)
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"source", "target", "indices"}
    assert (second["source"], second["target"], second["indices"]) == (1001, 90, 800)
    gather(emitter, 1, [((1 << 16) - 1, 0, 0, 0)])
    assert len(emitter.issued) == 3
    monkeypatch.setattr(emitter_module, "MOST_ITERATIONS", 9)
    gather(emitter, 1, [(10, 0, 0, 0)])
    assert len(emitter.issued) == 3 + 10


def pairs(source: int, target: int, run: int, loops: list[Loop]) -> list[tuple[int, int]]:
    """Return source and target of every byte."""
    steps = [*loops, (run, 1, 1)]
    return sorted(
        (
            source + sum(i * loop[1] for i, loop in zip(place, steps, strict=True)),
            target + sum(i * loop[2] for i, loop in zip(place, steps, strict=True)),
        )
        for place in product(*(range(loop[0]) for loop in steps))
    )


def random_loops(rng: np.random.Generator) -> list[Loop]:
    """Return loops that go through a target without gaps, in a random order; steps may be < 0."""
    loops = []
    step = int(rng.integers(1, 5))
    for _ in range(int(rng.integers(0, 7))):
        count = int(rng.integers(2, 5))
        near = step if rng.integers(2) else int(rng.integers(-9, 9))
        loops.append((count, near, step))
        step *= count
    return [loops[i] for i in rng.permutation(len(loops))]


@pytest.mark.parametrize("seed", range(60))
def test_joined_loops_copy_the_same_bytes(seed: int) -> None:
    loops = random_loops(np.random.default_rng(seed))
    fewer = joined(loops)
    assert len(fewer) <= len(loops)
    assert pairs(5, 7, 1, fewer) == pairs(5, 7, 1, loops)


def test_contiguous_loops_become_one() -> None:
    assert joined([(3, 8, 8), (2, 4, 4), (4, 1, 1)]) == [(24, 1, 1)]
    assert joined([(4, 1, 1), (3, 8, 16), (2, 4, 8)]) == [(4, 1, 1), (6, 4, 8)]
    assert joined([(3, 0, 4), (4, 0, 1)]) == [(12, 0, 1)]
    assert joined([(3, 4, 5), (4, 1, 1)]) == [(3, 4, 5), (4, 1, 1)]


@pytest.mark.parametrize("seed", range(60))
def test_split_programs_copy_the_same_bytes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(emitter_module, "LONGEST_RUN", 5)
    monkeypatch.setattr(emitter_module, "MOST_ITERATIONS", 3)
    loops = random_loops(rng)[:6]
    run = int(rng.integers(1, 12))
    programs = list(movable(3, 4, run, loops))
    for _, _, size, inner in programs:
        assert size <= 5
        assert len(inner) <= LOOPS
        assert all(1 < count <= 3 for count, _, _ in inner)
    found = [pair for program in programs for pair in pairs(*program[:3], list(program[3]))]
    assert sorted(found) == pairs(3, 4, run, loops)


def test_what_a_move_has_room_for_stays_whole() -> None:
    loops = [(65535, 1, 3)] * 4
    assert list(movable(1, 2, (1 << 24) - 1, loops)) == [(1, 2, (1 << 24) - 1, loops)]
    assert len(list(movable(0, 0, 1, [(65536, 1, 3)]))) == 2
    assert len(list(movable(0, 0, 1 << 24, []))) == 2
