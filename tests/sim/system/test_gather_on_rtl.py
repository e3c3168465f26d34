"""GATHER on the accelerator: the slices that numpy takes, in the cycles that are estimated."""

import numpy as np
import pytest

from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import GATHER, Space
from eightfold.sim.simulator.system import Run, RunResult, run_system
from eightfold.sim.simulator.toolchain import Simulator
from tests.support.hardware.gather_program import (
    DTYPES,
    SPACES,
    GatherProgram,
    new_program,
    random_tensor,
)
from tests.support.hardware.twins import TWINS

pytestmark = pytest.mark.slow

LOCAL = (Space.SCRATCHPAD, Space.SCRATCHPAD)


def simulate(program: GatherProgram, preset: str, simulator: Simulator, **options) -> RunResult:
    """Run a program, and compare."""
    (done,) = run_system(
        TWINS[preset],
        simulator,
        words=program.words(),
        model=bytes(program.emitter.image),
        arena_bytes=program.arena,
        runs=[Run(inputs=program.inputs)],
        **options,
    )
    assert done.done, (done.error, done.index)
    program.check(done.arena)
    return done


@pytest.mark.parametrize(("seed", "stall"), [(0, 0.0), (1, 0.4)])
@pytest.mark.usual(names=["verilator"])
def test_takes_what_numpy_takes(simulator, seed, stall):
    rng = np.random.default_rng(seed)
    program = new_program(TWINS["nano"])
    for number in range(12):
        batches, outer, inner = rng.choice([1, 2, 3, 9], 3).tolist()
        limit, count = int(rng.integers(1, 30)), int(rng.integers(1, 20))
        dtype = DTYPES[number % len(DTYPES)]
        indices = rng.integers(0, limit, (batches, count)).astype(dtype)
        x = random_tensor(rng, batches, outer, limit, inner)
        program.take(x, indices, SPACES[number // len(DTYPES) % len(SPACES)])
    program.emitter.end()
    simulate(program, "nano", simulator, seed=seed, stall=stall)


SHAPES = {
    "rows of constants": ((1, 1, 100, 64), 50, np.int32, (Space.MODEL, Space.SCRATCHPAD)),
    "odd rows": ((1, 1, 40, 37), 60, np.int32, (Space.ARENA, Space.SCRATCHPAD)),
    "short rows": ((1, 1, 50, 3), 300, np.int32, (Space.MODEL, Space.SCRATCHPAD)),
    "single bytes": ((1, 1, 100, 1), 600, np.int16, LOCAL),
    "long indices": ((1, 1, 100, 1), 300, np.int64, LOCAL),
    "few": ((1, 1, 10, 4), 3, np.int32, LOCAL),
    "rows": ((1, 4, 20, 40), 25, np.int32, LOCAL),
    "to memory": ((1, 1, 60, 24), 60, np.int32, (Space.SCRATCHPAD, Space.ARENA)),
    "batches": ((6, 5, 9, 7), 12, np.int64, LOCAL),
}
"""Of x, how many slices are taken, the indices' type, and where."""


@pytest.mark.parametrize(
    "preset", ["nano", *(pytest.param(name, marks=pytest.mark.long) for name in ("small", "base"))]
)
def test_takes_the_estimated_cycles(preset):
    rng = np.random.default_rng(0)
    program = new_program(TWINS[preset])
    for (batches, *rest), count, dtype, spaces in SHAPES.values():
        indices = rng.integers(0, rest[1], (batches, count)).astype(dtype)
        program.take(random_tensor(rng, batches, *rest), indices, spaces)
    program.emitter.end()
    run = simulate(program, preset, "verilator")
    issued = program.emitter.issued
    estimated, end = estimate_stream(TWINS[preset], issued)
    done = {int(index): int(cycles) for engine, index, cycles, *_ in run.events if engine >= 0}
    commands = [index for index, command in enumerate(issued) if command.command is GATHER]
    # From the end of the load before it, which it waits for.
    cycles = {
        name: [times[index] - times[index - 1] for times in (estimated, done)]
        for name, index in zip(SHAPES, commands, strict=True)
    }
    assert {name: pair for name, pair in cycles.items() if pair[0] != approximately(pair[1])} == {}
    assert end == approximately(run.cycles)


def approximately(cycles):
    return pytest.approx(cycles, rel=0.05)
