"""A byte of the arena leads back to the command that computes it, or to what was there before."""

import numpy as np
import pytest

from eightfold.isa import Space
from eightfold.sim.machine.accesses import runs
from tests.support.hardware.command_streams import move, stream
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    assert_arena,
    changed,
    program,
    random_model,
    run_model,
)


def arena_and_model(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, ARENA_BYTES, dtype=np.uint8), random_model(rng)


def message(words, model, arena, offset):
    """Return the lines about an arena whose byte ``offset`` alone is wrong by one."""
    actual = run_model(words, model, arena)
    assert_arena(actual, words, model, arena)
    actual[offset] += 1
    with pytest.raises(AssertionError) as raised:
        assert_arena(actual, words, model, arena, "run 3: ")
    expected = (actual[offset] - 1).astype(np.uint8).view(np.int8)
    return str(raised.value).split("\n  "), int(expected)


@pytest.mark.parametrize("offset", [101, 120, 132])
def test_a_byte_leads_to_the_vector_command_that_computes_it(offset):
    arena, model = arena_and_model(1)
    lines, expected = message(program(), model, arena, offset)
    got = int(np.uint8(expected + 1 & 255).view(np.int8))
    first = f"run 3: arena: byte {offset} of {ARENA_BYTES} differs: got {got}, expected {expected}"
    assert lines[0] == f"{first}; 1 bytes differ"
    place = offset - 101 + 2050
    assert lines[1] == (
        f"command 7 MOVE writes ARENA's {offset}: run 0 copies SCRATCHPAD's {place}, {expected}"
    )
    assert lines[2] == f"command 6 VECTOR writes SCRATCHPAD's {place}"
    assert lines[-1].endswith(f" = {expected}")


def test_a_gathered_byte_leads_through_its_index():
    arena, model = arena_and_model(2)
    lines, expected = message(program(), model, arena, 209)
    assert lines[1].startswith("command 9 GATHER writes ARENA's 209: run 1 copies SCRATCHPAD's 2")
    assert lines[2].startswith("command 6 VECTOR writes SCRATCHPAD's 20")
    assert lines[-1].endswith(f" = {expected}")


def test_a_byte_that_nothing_writes():
    arena, model = arena_and_model(3)
    lines, _ = message(program(), model, arena, 0)
    assert lines[1:] == ["no command before writes byte 0 of ARENA"]


def test_a_byte_of_the_matrix_engine_has_its_products():
    arena, model = arena_and_model(4)
    words = program(**changed("store", source=1024))  # not what the VECTOR makes of it
    lines, expected = message(words, model, arena, 101 + 6)
    assert lines[2] == "command 5 MATRIX writes SCRATCHPAD's 1030"
    assert lines[4].startswith("pass 0: [")
    assert lines[-1].endswith(f" = {expected}")


def test_a_fill_is_the_end():
    arena, model = arena_and_model(5)
    items = [
        move("", "v", source_space=Space.FILL, fill=7, target=400, run=16),
        move("v", "", target_space=Space.ARENA, source=402, target=30, run=8),
    ]
    lines, expected = message(stream(CONFIG, items), model, arena, 33)
    assert expected == 7
    assert lines[1:] == [
        "command 2 MOVE writes ARENA's 33: run 0 copies SCRATCHPAD's 405, 7",
        "command 1 MOVE writes SCRATCHPAD's 405: fill 7",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_runs_have_every_byte_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts, length = rng.integers(-50, 400, rng.integers(1, 30)), int(rng.integers(1, 40))
    every = np.unique((starts[:, None] + np.arange(length)).ravel())
    np.testing.assert_array_equal(runs(starts, length), every)


def test_runs_far_apart_take_no_more_memory_than_their_bytes() -> None:
    far = np.array([0, 10**15])
    np.testing.assert_array_equal(runs(far, 2), [0, 1, 10**15, 10**15 + 1])
