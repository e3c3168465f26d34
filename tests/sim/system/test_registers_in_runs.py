# amaranth: UnusedElaboratable=no
"""What software writes to registers during a run is for the next one."""

from pathlib import Path

import numpy as np
import pytest

from eightfold.hw import accelerator
from eightfold.hw.accelerator import Accelerator
from eightfold.hw.control.control import Control
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from eightfold.sim.simulator.sources import Unit
from tests.support.hardware.small_program import (
    ARENA_BYTES,
    CONFIG,
    assert_arena,
    changed,
    program,
    random_model,
)

BENCH = "eightfold.sim.benches.accelerator_rewritten"

RUNS = 8


def jobs(seed):
    """Return words, model and arena of each run, which others' values would spoil."""
    rng = np.random.default_rng(seed)
    for number in range(RUNS):
        arena = rng.integers(0, 256, ARENA_BYTES + 8 * number, dtype=np.uint8)
        yield program(**changed("store", target=101 + number)), random_model(rng), arena


def rewrite(design, simulator, folder: Path, seed: int, stall: float) -> None:
    """Run the bench, and compare every arena with the machine model's."""
    every = list(jobs(seed))
    for number, (words, model, arena) in enumerate(every):
        np.savez(
            folder / f"run_{number}.npz",
            allow_pickle=False,
            words=words,
            model=np.frombuffer(model, np.uint8),
            arena=arena,
        )
    parameters = {
        "folder": str(folder),
        "runs": RUNS,
        "port": CONFIG.port,
        "stall": stall,
        "limit": 20_000,
        "timeout": 2000,
    }
    run_bench(design, BENCH, simulator, parameters=parameters, seed=seed)
    for number, (words, model, arena) in enumerate(every):
        with np.load(folder / f"result_{number}.npz", allow_pickle=False) as result:
            assert_arena(result["arena"], words, model, arena, f"run {number}: ")


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "stall"), [(0, 0.3), (1, 0.0), (2, 0.7)])
@pytest.mark.usual(names=["icarus-0"])
def test_a_run_has_the_values_of_its_doorbell(simulator, tmp_path, seed, stall):
    rewrite(Unit("accelerator", CONFIG), simulator, tmp_path, seed, stall)


class Immediate(Control):
    """Lets a run see what is written while it lasts."""

    def _of_run(self, m, control, settings):
        return settings


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.long
def test_the_bench_catches_registers_that_act_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(accelerator, "Control", Immediate)
    with pytest.raises(BenchFailed):
        rewrite(lambda: Accelerator(CONFIG), "icarus", tmp_path, 0, 0.3)
