"""The accelerator as a whole: every engine in one stream, run after run, against the model."""

from dataclasses import replace

import numpy as np
import pytest

from eightfold import isa
from eightfold.hw.accelerator import Accelerator
from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.hw.ports import BURST
from eightfold.isa import Space
from eightfold.isa.instructions import RECORD
from eightfold.sim.machine.tokens import check_tokens
from eightfold.sim.simulator.sources import source_of
from eightfold.sim.simulator.system import Run, run_system
from eightfold.target.memory import MemoryTiming
from tests.support.hardware.command_streams import matrix, move, stream
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    INDICES,
    ITEMS,
    PARAMETERS,
    TABLE,
    WEIGHTS,
    assert_arena,
    program,
    random_model,
)

pytestmark = pytest.mark.slow


def beats(start, size):
    """Return in how many beats of memory a run of bytes lies."""
    return -(-(start + size) // CONFIG.port) - start // CONFIG.port


READS = [
    (WEIGHTS, CONFIG.lanes * CONFIG.weight_word),
    (PARAMETERS, CONFIG.lanes * RECORD),
    (TABLE, 1024),
    (5, 32),
    (INDICES, 32),
]
"""Runs of bytes of model and arena that the small program reads: the first one, how many."""

WRITES = [(101, 32), *((201 + 7 * row, 4) for row in range(5))]
"""Those that it writes."""


def counters_on_icarus(config, items, model, arena_bytes):
    """Return the counters of a run of the accelerator as it is elaborated now."""
    (run,) = run_system(
        config,
        "icarus",
        words=stream(config, items),
        model=model,
        arena_bytes=arena_bytes,
        runs=[Run(inputs={})],
        limit=20_000,
        accelerator=source_of(Accelerator(config)),
    )
    assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
    return run.counters


def held_beside_a_fill():
    """Return the cycles in which a layer with a result per vector is held up, and those of the
    FILL beside it, which has more to write.
    """
    items = [
        ITEMS["weights"],
        ITEMS["parameters"],
        move("", "", source_space=Space.FILL, target=512, run=256, count0=64),
        matrix("", "", last_lanes=CONFIG.lanes, x=300, columns=CONFIG.width, target=256),
    ]
    model = random_model(np.random.default_rng(2))
    counters = counters_on_icarus(CONFIG, items, model, ARENA_BYTES)
    return counters["MATRIX_HELD"], counters["MOVER_BUSY"]


@pytest.mark.icarus
def test_results_go_before_the_movers_writes():
    held, moved = held_beside_a_fill()
    assert held == 0
    assert 0 <= moved - (64 * 256 // CONFIG.vector + 300) < 50  # it gets all other cycles


TAKEN = CONFIG.parameter_banks * CONFIG.lanes * RECORD // CONFIG.port
"""Beats of parameters that the lanes take at once."""

CONSTANTS = {
    "weights": ([(isa.WEIGHTS, {"address": 0, "full": 60}, "", "")], 0),
    "parameters": ([(isa.PARAMETERS, {"address": 0, "channels": 128}, "", "")], TAKEN),
}
"""Commands for more beats than are fetched ahead while that yields; those that the array takes."""


def cycles_of_a_load_beside(constants):
    """Return the cycles in which the mover loads 256 beats while these come from memory, too."""
    config = replace(CONFIG, weight_buffer=4096)
    size = 256 * config.port
    load = move("", "", source_space=Space.ARENA, run=size)
    return counters_on_icarus(config, [load, *constants], bytes(4096), size)["MOVER_BUSY"]


@pytest.mark.icarus
@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.usual(names=["parameters"])
@pytest.mark.long
def test_constants_yield_to_the_movers_reads(name):
    alone = cycles_of_a_load_beside([])
    constants, taken = CONSTANTS[name]
    beside = cycles_of_a_load_beside(constants)
    assert beside - alone <= taken + YIELDING + BURST


@pytest.mark.parametrize(("seed", "stall"), [(0, 0.0), (1, 0.3)])
@pytest.mark.usual("seed")
def test_runs_every_engine_twice_like_the_model(simulator, seed, stall):
    rng = np.random.default_rng(seed)
    words, model = program(), random_model(rng)
    check_tokens(CONFIG, words)
    arenas = rng.integers(0, 256, (2, ARENA_BYTES), dtype=np.uint8)
    runs = run_system(
        CONFIG,
        simulator,
        words=words,
        model=model,
        arena_bytes=ARENA_BYTES,
        runs=[Run(inputs={0: arena}) for arena in arenas],
        seed=seed,
        stall=stall,
        timeout=2000,
        limit=20_000,
    )
    for run, arena in zip(runs, arenas, strict=True):
        assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
        assert_arena(run.arena, words, model, arena)
        assert run.counters["MATRIX_ISSUE"] == ITEMS["matrix"][1]["x"]
        reads = [(0, 4 * len(words)), *READS]
        assert run.counters["READ_BEATS"] == sum(beats(*each) for each in reads)
        assert run.counters["WRITE_BEATS"] == sum(beats(*each) for each in WRITES)


LATE = {"MATRIX_WEIGHTS": isa.WEIGHTS, "MATRIX_PARAMETERS": isa.PARAMETERS}
"""By the counter of cycles in which a matrix command waits: what memory is asked for last."""

FILLS = [move(source_space=Space.FILL, target=1060 + 80 * i, run=80) for i in range(12)]
"""More than a queue holds: what is behind them in the stream comes much later."""


@pytest.mark.parametrize("counter", LATE)
def test_counts_what_the_matrix_engine_waits_for(counter):
    rng = np.random.default_rng(0)
    items = list(ITEMS.values())
    late = [item for item in items if item[0] is LATE[counter]]
    early = [item for item in items[:4] if item not in late]
    words = stream(CONFIG, [*early, *FILLS, *late, *items[4:]])
    model = random_model(rng)
    check_tokens(CONFIG, words)
    arena = rng.integers(0, 256, ARENA_BYTES, dtype=np.uint8)
    (run,) = run_system(
        CONFIG,
        "verilator",
        words=words,
        model=model,
        arena_bytes=ARENA_BYTES,
        runs=[Run(inputs={0: arena})],
        timeout=2000,
        limit=20_000,
        timing=MemoryTiming(latency=200),
    )
    assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
    assert_arena(run.arena, words, model, arena)
    waits = {name: run.counters[name] for name in LATE}
    assert waits.pop(counter) >= 100
    assert not any(waits.values())
