"""A program that uses every engine, with any memory, on every simulator, against the model."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa import COUNTERS, Engine
from eightfold.sim.simulator.memory_image import CHANNELS, END, SAMPLE, WORK
from eightfold.sim.simulator.system import Run, run_system
from eightfold.target.memory import MemoryTiming
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    INDEX,
    assert_arena,
    program,
    random_model,
)

pytestmark = pytest.mark.slow


def run(simulator, seed, count=4, **options):
    """Run the program on random data, compare with the machine model, and return the results."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    arenas = rng.integers(0, 256, (count, ARENA_BYTES), dtype=np.uint8)
    done = run_system(
        CONFIG,
        simulator,
        words=program(),
        model=model,
        arena_bytes=ARENA_BYTES,
        runs=[Run(inputs={0: arena}) for arena in arenas],
        seed=seed,
        timeout=5000,
        limit=50_000,
        **options,
    )
    for arena, result in zip(arenas, done, strict=True):
        assert result.done
        assert_arena(result.arena, program(), model, arena)
    return done


MEMORIES = [
    (0, 20, 0.0),
    (1, 1, 0.0),
    (2, 100, 0.0),
    (3, 20, 0.5),
    (4, 1, 0.9),
    *((5 + number, 5, {channel: 0.8}) for number, channel in enumerate(CHANNELS)),
]
"""Seed, latency, and stalls of all channels or of one."""


ON_ICARUS = [pytest.param("icarus", *MEMORIES[n], marks=pytest.mark.icarus) for n in (4, 0, 5)]


@pytest.mark.parametrize(
    ("simulator", "seed", "latency", "stall"),
    [*(("verilator", *memory) for memory in MEMORIES), *ON_ICARUS],
)
@pytest.mark.usual("simulator", count=2)
def test_matches_the_machine_model(simulator, seed, latency, stall):
    run(simulator, seed, timing=MemoryTiming(latency=latency), stall=stall)


@pytest.mark.parametrize(("seed", "stall"), [(21, 0.3), (20, 0.0), (22, 0.7)])
@pytest.mark.usual(names=["verilator-21"])
@pytest.mark.long
def test_runs_between_independent_bus_models(simulator, seed, stall):
    run(simulator, seed, count=2, stall=stall, memory="cocotbext")


@pytest.mark.icarus
@pytest.mark.parametrize(("seed", "stall"), [(30, 0.0), (31, 0.5)])
@pytest.mark.usual(names=["0.5"])
def test_takes_the_same_cycles_on_both_simulators(seed, stall):
    first, second = (run(name, seed, stall=stall) for name in ("verilator", "icarus"))
    for one, other in zip(first, second, strict=True):
        assert one.counters == other.counters
        np.testing.assert_array_equal(one.events, other.events)


def test_events_are_the_commands_of_each_engine_in_order(simulator):
    (result,) = run(simulator, 40, count=1)
    by_engine = {
        Engine.MOVER: ["table", "load", "store", "indices", "gather"],
        Engine.MATRIX: ["matrix"],
        Engine.VECTOR: ["vector"],
    }
    engines = result.events[:, 0]
    for engine, names in by_engine.items():
        found = result.events[engines == engine.value, 1].tolist()
        assert found == [INDEX[name] for name in names]
    assert engines[-1] == END
    counted = {name: 2 + place for place, (name, _) in enumerate(COUNTERS)}
    sampled = result.events[engines == SAMPLE, counted["CYCLES"]]
    assert sampled.tolist() == list(range(16, result.cycles + 1, 16))
    assert result.cycles < 4096  # from there on every 32 cycles
    for engine in Engine:
        own = (engines == engine.value) | (engines == WORK) & (result.events[:, 1] == engine.value)
        first = result.events[own][0]
        assert first[0] == WORK
        assert first[[counted[name] for name in isa.WORK[engine]]].sum() == 1
    assert (np.diff(result.events[:, 2:], axis=0) >= 0).all()
    assert result.events[-1, 2:].tolist() == list(result.counters.values())
