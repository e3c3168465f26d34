"""The machine model: what commands do to memory, and which streams it refuses."""

import re

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import ErrorCode, Space
from eightfold.isa.decode import CommandError
from eightfold.sim.machine.machine import Machine
from eightfold.sim.stimuli.copies import random_gather, random_move
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.command_streams import (
    Item,
    gather,
    matrix,
    move,
    parameters,
    stream,
    vector,
    weights,
)

CONFIG = AcceleratorConfig(
    lanes=4, width=3, port=4, scratchpad=4096, psum_depth=16, weight_buffer=512, vector_lanes=2
)
MODEL, ARENA = (64, 2048), (4096, 1024)
ADDRESS, ILLEGAL, TIMEOUT = ErrorCode.ADDRESS, ErrorCode.ILLEGAL_COMMAND, ErrorCode.TIMEOUT
INDEX = ErrorCode.INDEX


def new_machine(seed: int = 0) -> Machine:
    """Return a machine whose memory holds random bytes."""
    memory = np.random.default_rng(seed).integers(0, 256, 8192, dtype=np.uint8)
    return Machine(CONFIG, memory, MODEL, ARENA, seed)


def moved(machine: Machine, fields: dict[str, int]) -> dict[Space, np.ndarray]:
    """Return the spaces after a MOVE, run by run."""
    spaces = {space: contents.copy() for space, contents in machine.spaces.items()}
    counts = [fields[f"count{i}"] for i in range(4)]
    run = fields["run"]
    for i3, i2, i1, i0 in np.ndindex(*reversed(counts)):
        start = {
            side: fields[side]
            + sum(i * fields[f"{side}_stride{n}"] for n, i in enumerate((i0, i1, i2, i3)))
            for side in ("source", "target")
        }
        source = Space(fields["source_space"])
        part = (
            np.full(run, fields["fill"])
            if source == Space.FILL
            else machine.spaces[source][start["source"] : start["source"] + run]
        )
        spaces[Space(fields["target_space"])][start["target"] : start["target"] + run] = part
    return spaces


@pytest.mark.parametrize("seed", range(40))
def test_move_copies_run_by_run(seed: int) -> None:
    pairs = isa.SPACES[isa.Opcode.MOVE]
    areas = (0, 512), (512, 1024)  # nothing is written that is read
    fields = random_move(np.random.default_rng(seed), pairs[seed % len(pairs)], areas)
    machine = new_machine(seed)
    expected = moved(machine, fields)
    machine.run(stream(CONFIG, [(isa.MOVE, fields, "", "")]))
    for space, contents in expected.items():
        np.testing.assert_array_equal(machine.spaces[space], contents, err_msg=space.name)


@pytest.mark.parametrize("seed", range(40))
def test_gather_copies_run_by_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = new_machine(seed)
    pairs = isa.SPACES[isa.Opcode.GATHER]
    areas = (0, 512), (512, 1024), (2000, 2600)
    taken = np.zeros(CONFIG.scratchpad, np.bool_)
    scratchpad = machine.spaces[Space.SCRATCHPAD]
    f = random_gather(rng, pairs[seed % len(pairs)], areas, scratchpad, taken, far=False)
    expected = {space: contents.copy() for space, contents in machine.spaces.items()}
    source, target = machine.spaces[Space(f["source_space"])], expected[Space(f["target_space"])]
    for place in np.ndindex(f["count2"], f["count1"], f["count0"]):
        at, start, end = (
            f[base] + sum(i * f[f"{name}_stride{k}"] for k, i in enumerate(reversed(place)))
            for base, name in (("indices", "index"), ("source", "source"), ("target", "target"))
        )
        index = machine.spaces[Space.SCRATCHPAD][at : at + (1 << f["index_size"])]
        start += int.from_bytes(index.tobytes(), "little", signed=True) * f["step"]
        target[end : end + f["run"]] = source[start : start + f["run"]]
    machine.run(stream(CONFIG, [(isa.GATHER, f, "", "")]))
    for space, contents in expected.items():
        np.testing.assert_array_equal(machine.spaces[space], contents, err_msg=space.name)


@pytest.mark.parametrize(
    ("index", "changes", "code", "text"),
    [
        (4, {}, INDEX, "run 1, index 4 at 508, limit 4"),
        (-1, {}, INDEX, "run 1, index -1 at 508"),
        (1 << 40, {}, INDEX, "run 1, index 1099511627776"),
        (3 + (1 << 32), {}, INDEX, "run 1, index 4294967299"),
        (-(1 << 63), {"limit": (1 << 32) - 1}, INDEX, "index -9223372036854775808"),
        (5, {"step": 1000, "limit": 6}, ADDRESS, "run 1, index 5"),
        (1 << 31, {"step": 1 << 31, "limit": (1 << 32) - 1}, ADDRESS, "run 1"),
        (0, {"target": 4095}, ADDRESS, "run 0"),
        (4, {"source_stride0": -3000}, INDEX, "run 1"),
        (4, {"target_stride0": -3000}, INDEX, "run 1"),
        (0, {"indices": 4089}, ADDRESS, "run 0, index"),
        (0, {"index_stride0": -508}, ADDRESS, "run 1, index"),
    ],
)
def test_what_a_gather_must_not_choose(
    index: int, changes: dict[str, int], code: ErrorCode, text: str
) -> None:
    """The second run's index; the first one is 0, and right unless the changes say otherwise."""
    machine = new_machine()
    fields = {"indices": 500, "index_size": 3, "count0": 2, "index_stride0": 8, "run": 2}
    fields |= {"source": 0, "target": 3000, "target_stride0": 2, "limit": 4, "step": 2}
    machine.scratchpad[500:516].view("<i8")[:] = 0, index
    before = machine.scratchpad.copy()
    with pytest.raises(CommandError, match=text) as refused:
        machine.run(stream(CONFIG, [gather(**fields | changes)]))
    assert (refused.value.code, refused.value.index) == (code, 1)
    np.testing.assert_array_equal(machine.scratchpad, before)


def test_only_the_arena_of_memory_changes() -> None:
    memory = np.random.default_rng(0).integers(0, 256, 8192, dtype=np.uint8)
    before = memory.copy()
    machine = Machine(CONFIG, memory, MODEL, ARENA)
    fill = {"source_space": Space.FILL.value, "target_space": Space.ARENA.value, "fill": 7}
    machine.run(stream(CONFIG, [move(**fill, run=ARENA[1])]))
    before[ARENA[0] : ARENA[0] + ARENA[1]] = 7
    np.testing.assert_array_equal(memory, before)


def test_a_region_outside_of_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="arena is not within the 8192 bytes"):
        Machine(CONFIG, np.zeros(8192, np.uint8), MODEL, (8000, 200))


WEIGHTS = weights(full=1)
PARAMETERS = parameters(address=2032, channels=1)
TO_TABLE = {"source_space": Space.MODEL, "target_space": Space.TABLES, "run": 4}


@pytest.mark.parametrize(
    ("items", "code", "text"),
    [
        ([move(source=4090, run=8)], ADDRESS, "reads SCRATCHPAD byte 4097, of 4096"),
        (
            [move(count0=3, target=1, target_stride0=-1, run=1)],
            ADDRESS,
            "writes SCRATCHPAD byte -1",
        ),
        ([move(target_space=Space.ARENA, target=1023, run=2)], ADDRESS, "ARENA byte 1024, of 1024"),
        (
            [move(source_space=Space.MODEL, source=2**32 - 1, run=1)],
            ADDRESS,
            "reads MODEL byte 4294967295",
        ),
        (
            [move(source_space=Space.MODEL, target_space=Space.ARENA, run=1)],
            ADDRESS,
            "no MOVE is from MODEL to ARENA",
        ),
        ([move(source_space=Space.TABLES, run=4)], ADDRESS, "from TABLES to SCRATCHPAD"),
        ([move(target_space=Space.MODEL, run=4)], ADDRESS, "from SCRATCHPAD to MODEL"),
        ([move(target_space=Space.FILL, run=4)], ADDRESS, "from SCRATCHPAD to FILL"),
        ([move(source_space=6, run=4)], ADDRESS, "source_space 6"),
        ([move(**(TO_TABLE | {"source_space": Space.FILL}))], ADDRESS, "from FILL to TABLES"),
        ([move(**TO_TABLE, target=2048)], ADDRESS, "TABLES byte 2051, of 2048"),
        ([move(**TO_TABLE, target=2)], ADDRESS, "target must be a multiple of 4"),
        ([move(**TO_TABLE, source=2)], ADDRESS, "source must be a multiple of 4"),
        ([move(**(TO_TABLE | {"run": 5}))], ADDRESS, "run must be a multiple of 4"),
        ([move(run=0)], ILLEGAL, "run must be at least 1"),
        ([move(run=1, count2=0)], ILLEGAL, "count2 must be at least 1"),
        (
            [gather(source_space=Space.ARENA, target_space=Space.ARENA, run=1)],
            ADDRESS,
            "no GATHER is from ARENA to ARENA",
        ),
        ([gather(source_space=Space.FILL, run=1)], ADDRESS, "from FILL to SCRATCHPAD"),
        ([gather(target_space=Space.TABLES, run=4)], ADDRESS, "from SCRATCHPAD to TABLES"),
        ([gather(run=0)], ILLEGAL, "run must be at least 1"),
        ([gather(run=1, count1=0)], ILLEGAL, "count1 must be at least 1"),
        ([weights(address=2, full=1)], ADDRESS, "address must be a multiple of 4"),
        ([weights(address=2048 - 16, full=2)], ADDRESS, "reads MODEL byte 2063, of 2048"),
        ([weights(partial=1, partial_lanes=5)], ILLEGAL, "partial_lanes must be in 1..4"),
        ([parameters(address=8, channels=1)], ADDRESS, "address must be a multiple of 16"),
        ([parameters(address=2032, channels=2)], ADDRESS, "reads MODEL byte 2063"),
        ([matrix(columns=3)], TIMEOUT, "takes 1 of WEIGHTS, there are 0"),
        ([WEIGHTS, matrix(columns=3)], TIMEOUT, "takes 1 of PARAMETERS, there are 0"),
        ([matrix(columns=3, base=4094)], ADDRESS, "reads SCRATCHPAD byte 4096"),
        ([matrix(target=4096)], ADDRESS, "writes SCRATCHPAD byte 4096"),
        ([matrix(target=-1)], ADDRESS, "writes SCRATCHPAD byte -1"),
        ([matrix(last_lanes=5)], ILLEGAL, "last_lanes must be in 1..4"),
        ([matrix(last_lanes=4, depthwise=1)], ILLEGAL, "last_lanes must be in 1..3"),
        ([matrix(line=2, depthwise=1)], ILLEGAL, "line must be in 3..512"),
        ([matrix(x=17, kx=2)], ILLEGAL, "more than 16 positions"),
        ([vector(source_a=-1)], ADDRESS, "reads SCRATCHPAD byte -1"),
        ([vector(target=4095, run=2)], ADDRESS, "writes SCRATCHPAD byte 4096"),
        ([vector(lookup_a=1, table_a=2)], ADDRESS, "table_a must be in 0..1"),
        ([vector(combine=9)], ILLEGAL, "combine 9"),
        ([vector(window1=0)], ILLEGAL, "window1 must be at least 1"),
        ([vector(requantize__low=1, requantize__high=0)], ILLEGAL, "above"),
        ([vector(requantize__right=40)], ILLEGAL, "right must be in 0..31"),
        ([move(run=1), WEIGHTS], ILLEGAL, "1 weight buffers are left"),
    ],
    ids=lambda value: re.sub(r"\W+", "_", value) if isinstance(value, str) else None,
)
def test_what_the_machine_refuses(items: list[Item], code: ErrorCode, text: str) -> None:
    with pytest.raises(CommandError, match=re.escape(text)) as refused:
        new_machine().run(stream(CONFIG, items))
    assert refused.value.code == code
    assert refused.value.index == len(items) + (text.endswith("left"))


def test_a_record_with_unused_bits_is_refused() -> None:
    machine = new_machine()
    machine.spaces[Space.MODEL][2032:] = 0
    machine.spaces[Space.MODEL][-1] = 1
    with pytest.raises(CommandError, match="highest bits"):
        machine.run(stream(CONFIG, [PARAMETERS]))
