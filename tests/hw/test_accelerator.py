"""The accelerator as a whole: every engine in one stream, run after run, against the model."""

from dataclasses import replace

import numpy as np
import pytest

from eightfold import isa
from eightfold.hw.accelerator import Accelerator
from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.hw.ports import BURST
from eightfold.isa import REQUANTIZE_LAYOUT, Space
from eightfold.isa.instructions import RECORD
from eightfold.isa.shapes import pack
from eightfold.sim.machine.tokens import check_tokens
from eightfold.sim.simulator.sources import source_of
from eightfold.sim.simulator.system import Run, run_system
from eightfold.target.memory import MemoryTiming
from tests.support.hardware.command_streams import matrix, move, stream, vector
from tests.support.hardware.small_program import CONFIG, assert_arena

pytestmark = pytest.mark.slow

PIXELS = 20

ARENA = 512

LOADED, STORED = (3, PIXELS * CONFIG.width), (301, PIXELS * CONFIG.lanes)
"""Bytes of the arena that `every_engine` reads and writes: the first one, how many."""


def beats(start, size):
    """Return in how many beats of memory a run of bytes lies."""
    return -(-(start + size) // CONFIG.port) - start // CONFIG.port


def model_bytes(rng):
    """Return a buffer of weights, then a bank of parameters."""
    weights = rng.integers(-128, 128, CONFIG.lanes * CONFIG.weight_word, dtype=np.int8).tobytes()
    fields = {
        "bias": rng.integers(-1000, 1000, CONFIG.lanes),
        "left": 0,
        "multiplier": rng.integers(1 << 30, 1 << 31, CONFIG.lanes),
        "single": rng.integers(0, 2, CONFIG.lanes),
        "right": rng.integers(6, 9, CONFIG.lanes),
        "rounding": 0,
        "zero_point": rng.integers(-128, 128, CONFIG.lanes),
        "low": -128,
        "high": 127,
    }
    fields["right"] += 31 * fields["single"]
    records = pack(REQUANTIZE_LAYOUT, fields)
    return weights + b"".join(record.to_bytes(16, "little") for record in records)


def every_engine():
    """Return a 1x1 convolution of the arena's first pixels, plus 7."""
    (loaded, bytes_in), (stored, bytes_out) = LOADED, STORED
    weight_bytes = CONFIG.lanes * CONFIG.weight_word
    rescale = {"requantize.multiplier": 1 << 30, "requantize.single": 1, "requantize.right": 30}
    return [
        (isa.WEIGHTS, {"address": 0, "full": 1}, "", ""),
        (isa.PARAMETERS, {"address": weight_bytes, "channels": CONFIG.lanes}, "", ""),
        move("", "a", source_space=Space.ARENA, source=loaded, target=17, run=bytes_in),
        move("", "v", source_space=Space.FILL, fill=7, target=400, run=bytes_out),
        matrix(
            "o",
            "v",
            last_lanes=CONFIG.lanes,
            x=PIXELS,
            x_step=CONFIG.width,
            base=17,
            columns=bytes_in,
            target=601,
            target_x=CONFIG.lanes,
        ),
        vector(
            "oa",
            "o",
            combine=isa.Combine.ADD,
            source_a=601,
            source_b=400,
            target=900,
            run=bytes_out,
            **rescale,
        ),
        move("v", "", target_space=Space.ARENA, source=900, target=stored, run=bytes_out),
    ]


def counters_on_icarus(config, items, model, arena_bytes):
    """Return the counters of a run of the accelerator as it is elaborated now."""
    result = run_system(
        config,
        "icarus",
        words=stream(config, items),
        model=model,
        arena_bytes=arena_bytes,
        runs=[Run(inputs={})],
        limit=20_000,
        accelerator=source_of(Accelerator(config)),
    )
    (run,) = result.runs
    assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
    return run.counters


def held_beside_a_fill():
    """Return the cycles in which a layer with a result per vector is held up, and those of the
    FILL beside it, which has more to write.
    """
    rng = np.random.default_rng(2)
    lanes, width = CONFIG.lanes, CONFIG.width
    items = [
        (isa.WEIGHTS, {"address": 0, "full": 1}, "", ""),
        (isa.PARAMETERS, {"address": lanes * CONFIG.weight_word, "channels": lanes}, "", ""),
        move("", "", source_space=Space.FILL, target=512, run=256, count0=64),
        matrix("", "", last_lanes=lanes, x=300, columns=width, target=256),
    ]
    counters = counters_on_icarus(CONFIG, items, model_bytes(rng), ARENA)
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
    words = stream(CONFIG, every_engine())
    model = model_bytes(rng)
    check_tokens(CONFIG, words)
    arenas = rng.integers(0, 256, (2, ARENA), dtype=np.uint8)
    result = run_system(
        CONFIG,
        simulator,
        words=words,
        model=model,
        arena_bytes=ARENA,
        runs=[Run(inputs={0: arena}) for arena in arenas],
        seed=seed,
        stall=stall,
        timeout=2000,
        limit=20_000,
    )
    for run, arena in zip(result.runs, arenas, strict=True):
        assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
        assert_arena(run.arena, CONFIG, words, model, arena)
        assert run.counters["MATRIX_ISSUE"] == PIXELS
        reads = [(0, 4 * len(words)), (0, len(model)), LOADED]
        assert run.counters["READ_BEATS"] == sum(beats(*each) for each in reads)
        assert run.counters["WRITE_BEATS"] == beats(*STORED)


LATE = {"MATRIX_WEIGHTS": isa.WEIGHTS, "MATRIX_PARAMETERS": isa.PARAMETERS}
"""By the counter of cycles in which a matrix command waits: what memory is asked for last."""

FILLS = [move(source_space=Space.FILL, target=1600 + 200 * i, run=200) for i in range(12)]
"""More than a queue holds: what is behind them in the stream comes much later."""


@pytest.mark.parametrize("counter", LATE)
def test_counts_what_the_matrix_engine_waits_for(counter):
    rng = np.random.default_rng(0)
    items = every_engine()
    late = [item for item in items if item[0] is LATE[counter]]
    early = [item for item in items[:4] if item not in late]
    words = stream(CONFIG, [*early, *FILLS, *late, *items[4:]])
    model = model_bytes(rng)
    check_tokens(CONFIG, words)
    arena = rng.integers(0, 256, ARENA, dtype=np.uint8)
    (run,) = run_system(
        CONFIG,
        "verilator",
        words=words,
        model=model,
        arena_bytes=ARENA,
        runs=[Run(inputs={0: arena})],
        timeout=2000,
        limit=20_000,
        timing=MemoryTiming(latency=200),
    ).runs
    assert (run.done, run.error) == (True, isa.ErrorCode.NONE)
    assert_arena(run.arena, CONFIG, words, model, arena)
    waits = {name: run.counters[name] for name in LATE}
    assert waits.pop(counter) >= 100
    assert not any(waits.values())
