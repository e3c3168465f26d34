"""Every error is found and named, writes nothing outside of the arena, and a soft reset heals."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.hw.control.run_control import PARAMETERS, SEQUENCER, WEIGHTS
from eightfold.isa import ErrorCode, Space
from eightfold.sim.simulator.system import Run, run_system
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    INDEX,
    INDICES,
    ITEMS,
    MODEL_BYTES,
    TABLE,
    assert_arena,
    changed,
    program,
    random_model,
)
from tests.support.hardware.small_program import PARAMETERS as RECORDS
from tests.support.hardware.small_program import WEIGHTS as BUFFERS

MOVER, MATRIX, VECTOR = (engine.value for engine in isa.Engine)
pytestmark = pytest.mark.slow

TIMEOUT = 1000


@dataclass
class Case:
    """What a run should end with, and how it differs from the good one."""

    code: ErrorCode
    engine: int
    index: int
    words: Any = None
    options: dict[str, Any] = field(default_factory=dict)


def words(place, value, mask=0):
    """Return the program with one word replaced, or with some of its bits flipped."""
    found = program()
    found[place] = found[place] ^ mask if mask else value
    return found


def address(name, engine, **fields):
    """Return a case of a command that leaves its buffers."""
    return Case(ErrorCode.ADDRESS, engine, INDEX[name], program(**changed(name, **fields)))


def index(**fields):
    """Return a case of a GATHER with an index outside of its range."""
    return Case(ErrorCode.INDEX, MOVER, INDEX["gather"], program(**changed("gather", **fields)))


def illegal(index, found):
    """Return a case of a stream that breaks a rule in a command."""
    return Case(ErrorCode.ILLEGAL_COMMAND, SEQUENCER, index, found)


def read_error(engine, index, place):
    """Return a case of an error response."""
    return Case(ErrorCode.AXI_READ, engine, index, options={"read_error": place})


def version(place, mask):
    """Return a case of a BEGIN for something else."""
    return Case(ErrorCode.VERSION, SEQUENCER, 0, words(place, 0, mask))


BEGIN = isa.BEGIN.words
END = len(ITEMS) + 1
MODEL = random_model(np.random.default_rng(0))
AT = ITEMS["gather"][1]["indices"]
HIGHEST = int(np.frombuffer(MODEL[INDICES : INDICES + 20], "<i4").max())

CASES = {
    "no_begin": Case(ErrorCode.VERSION, SEQUENCER, 0, program()[BEGIN:]),
    "version": version(1, 2),
    "configuration": version(2, 1 << 24),
    "memories": version(3, 1 << 8),
    "opcode_0": illegal(INDEX["weights"], words(BEGIN, 0)),
    "opcode_9": illegal(INDEX["weights"], words(BEGIN, 0x00010009)),
    "second_begin": illegal(INDEX["weights"], words(BEGIN, 0x00010001)),
    "index": illegal(INDEX["weights"], words(BEGIN, 0, 1 << 31)),
    "unused_bit": illegal(END, words(-1, 0, 1 << 11)),
    "token_of_a_fetcher": illegal(INDEX["weights"], words(BEGIN, 0, 1 << 8)),
    "no_end": illegal(END, program()[:-1]),
    "ends_in_a_command": illegal(INDEX["gather"], program()[:-2]),
    "empty": Case(
        ErrorCode.ILLEGAL_COMMAND, SEQUENCER, 0, options={"registers": {"COMMAND_LENGTH": 0}}
    ),
    "load_before": address("load", MOVER, source=-1 % (1 << 32)),
    "load_behind": address("load", MOVER, source=ARENA_BYTES - 31),
    "load_strides": address("load", MOVER, count1=2, source_stride1=-6 % (1 << 32) - (1 << 32)),
    "load_into_no_scratchpad": address("load", MOVER, target=CONFIG.scratchpad - 31),
    "table_source": address("table", MOVER, source=MODEL_BYTES - 1020),
    "table_target": address("table", MOVER, target=1024 * CONFIG.tables - 1020),
    "store_behind": address("store", MOVER, target=ARENA_BYTES - 31),
    "store_far_behind": address("store", MOVER, target=1 << 20),
    "store_before": address("store", MOVER, target=-8 % (1 << 32)),
    "store_from_no_scratchpad": address("store", MOVER, source=CONFIG.scratchpad - 31),
    "store_into_model": address("store", MOVER, target_space=Space.MODEL.value),
    "memory_to_memory": address("load", MOVER, target_space=Space.ARENA.value),
    "gather_memory_to_memory": address("gather", MOVER, source_space=Space.ARENA.value),
    "gather_of_fill": address("gather", MOVER, source_space=Space.FILL.value),
    "gather_into_tables": address("gather", MOVER, target_space=Space.TABLES.value),
    "gather_far_behind": address("gather", MOVER, step=1 << 20),
    "gather_target_behind": address("gather", MOVER, target=ARENA_BYTES - 31),
    "index_behind": address("gather", MOVER, count0=1, indices=CONFIG.scratchpad - 3),
    "index_before": address("gather", MOVER, count0=1, indices=-1),
    "index_at_the_limit": index(limit=HIGHEST),
    "index_below_0": index(count0=6, limit=(1 << 32) - 1),
    "index_below_0_of_64_bits": index(indices=AT + 16, index_size=3, limit=(1 << 32) - 1),
    "index_with_high_bits": index(indices=AT + 24, index_size=3, index_stride0=0),
    "matrix_target": address("matrix", MATRIX, target=CONFIG.scratchpad - 31),
    "matrix_target_before": address("matrix", MATRIX, target=-4),
    "vector_target": address("vector", VECTOR, target=CONFIG.scratchpad - 31),
    "vector_target_before": address("vector", VECTOR, target=-1),
    "weights_behind": address("weights", WEIGHTS, address=MODEL_BYTES - 8),
    "weights_far_behind": address("weights", WEIGHTS, full=(1 << 32) - 1),
    "parameters_behind": address("parameters", PARAMETERS, address=MODEL_BYTES - 48),
    "smaller_arena": Case(
        ErrorCode.ADDRESS, MOVER, INDEX["store"], options={"registers": {"ARENA_SIZE": 132}}
    ),
    "smaller_model": Case(
        ErrorCode.ADDRESS, MOVER, INDEX["table"], options={"registers": {"MODEL_SIZE": INDICES - 1}}
    ),
    "read_error_of_commands": read_error(SEQUENCER, 0, ("commands", 0, 1)),
    "read_error_of_weights": read_error(WEIGHTS, INDEX["weights"], ("model", BUFFERS, BUFFERS + 1)),
    "read_error_of_parameters": read_error(
        PARAMETERS, INDEX["parameters"], ("model", RECORDS, RECORDS + 1)
    ),
    "read_error_of_the_mover": read_error(MOVER, INDEX["table"], ("model", TABLE, TABLE + 1)),
    # The mover reads ahead; the index is that of its oldest command that is not done.
    "read_error_ahead": read_error(MOVER, INDEX["table"], ("arena", 32, 33)),
    "write_error": Case(
        ErrorCode.AXI_WRITE, MOVER, INDEX["store"], options={"write_error": ("arena", 128, 129)}
    ),
    "no_token": Case(
        ErrorCode.TIMEOUT, SEQUENCER, END, program(store=(*ITEMS["store"][:2], "va", ""))
    ),
    "no_weights": Case(ErrorCode.TIMEOUT, SEQUENCER, END, program(**changed("weights", full=0))),
    "no_parameters": Case(
        ErrorCode.TIMEOUT, SEQUENCER, END, program(**changed("matrix", groups=2, target_group=64))
    ),
}


def good_run(number):
    """Return a run that ends well."""
    arena = np.random.default_rng(number).integers(0, 256, ARENA_BYTES, dtype=np.uint8)
    return Run(inputs={0: arena})


ICARUS = [pytest.mark.icarus, pytest.mark.long]  # some thousand cycles a second: with stalls


def done_of(simulator, runs, **options):
    """Return what became of runs of the program in one simulation."""
    memory = {"model": MODEL, "arena_bytes": ARENA_BYTES}
    return run_system(CONFIG, simulator, words=program(), **memory, runs=runs, **options)


@pytest.mark.parametrize(
    ("simulator", "stall"),
    [("verilator", 0.0), ("verilator", 0.4), pytest.param("icarus", 0.4, marks=ICARUS)],
)
@pytest.mark.usual(names=["verilator-0.4"])
def test_faults(simulator, stall):
    """All cases, each with a good run after it, in one simulation."""
    runs = []
    for number, case in enumerate(CASES.values()):
        runs += [Run(words=case.words, **case.options), good_run(number)]
    done = done_of(simulator, runs, timeout=TIMEOUT, limit=10 * TIMEOUT, stall=stall)
    found = {
        name: (bad.done, bad.error, bad.engine, bad.index)
        for name, bad in zip(CASES, done[::2], strict=True)
    }
    assert found == {
        name: (False, case.code, case.engine, case.index) for name, case in CASES.items()
    }
    for name, start, good in zip(CASES, runs[1::2], done[1::2], strict=True):
        assert good.done, name
        arena = np.asarray(start.inputs[0])
        assert_arena(good.arena, program(), MODEL, arena, f"after {name}: ")


@pytest.mark.parametrize(
    ("simulator", "seed", "stall"),
    [("verilator", 0, 0.0), ("verilator", 1, 0.4), pytest.param("icarus", 1, 0.4, marks=ICARUS)],
)
@pytest.mark.usual(names=["verilator-1"])
def test_soft_reset_at_any_time(simulator, seed, stall):
    rng = np.random.default_rng(seed)
    # All of a run's first cycles, and some later ones; few on Icarus.
    first, later = (12, 20) if simulator == "verilator" else (5, 6)
    times = [*range(first), *rng.integers(first, 700, later).tolist()]
    runs = [run for time in times for run in (Run(reset_after=time), good_run(time))]
    done = done_of(simulator, runs, seed=seed, stall=stall, limit=10_000)
    for start, result in zip(runs[1::2], done[1::2], strict=True):
        assert result.done
        assert_arena(result.arena, program(), MODEL, np.asarray(start.inputs[0]))
