"""The MAC array: exact and in order under any stalls, as fast as it says, and every bug is seen."""

import pytest
from amaranth.hdl import Const

import eightfold.hw.array.lane
import eightfold.hw.array.mac_array
from eightfold.hw.array.issue import Issue
from eightfold.hw.array.lane import Lane
from eightfold.hw.array.mac_array import MacArray, latency
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.array.weights import WeightBuffer
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.failures import check_explained

pytestmark = pytest.mark.slow

BENCH = "eightfold.sim.benches.mac_array"

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def small_memories(lanes, width, style):
    """Return a configuration whose slots, banks and result queue fill up and wrap around."""
    return AcceleratorConfig(
        lanes=lanes,
        width=width,
        psum_depth=32,
        parameter_banks=8,
        output_depth=64 if width == 16 else 32,
        line_depth=16,
        multiplier=style,
    )


def run(config, simulator, seed, passes):
    return run_bench(
        lambda: MacArray(config),
        BENCH,
        simulator,
        parameters={"config": config.as_dict(), "passes": passes},
        seed=seed,
    )


@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"),
    [
        (4, 4, "rows", 1),
        pytest.param(4, 4, "infer", 0, marks=pytest.mark.slow),
        pytest.param(3, 5, "rows", 2, marks=pytest.mark.slow),
        pytest.param(8, 8, "rows", 3, marks=pytest.mark.long),
        pytest.param(8, 4, "infer", 4, marks=pytest.mark.slow),
        pytest.param(4, 16, "rows", 5, marks=pytest.mark.long),
        # As long as all others, which have their sizes, lanes or width, and their styles.
        pytest.param(16, 16, "rows", 6, marks=pytest.mark.long),
        pytest.param(16, 16, "infer", 7, marks=pytest.mark.long),
    ],
)
def test_matches_model_and_keeps_its_promises_of_time_on_verilator(lanes, width, style, seed):
    config = small_memories(lanes, width, style)
    report = run(config, "verilator", seed, passes=60).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


@needs_icarus
@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"),
    [
        (4, 4, "infer", 10),
        (3, 5, "rows", 12),
        pytest.param(4, 4, "rows", 11, marks=pytest.mark.slow),
        pytest.param(1, 2, "infer", 13, marks=pytest.mark.slow),
        pytest.param(8, 8, "rows", 14, marks=pytest.mark.long),
    ],
)
def test_matches_model_and_keeps_its_promises_of_time_on_icarus(lanes, width, style, seed):
    config = small_memories(lanes, width, style)
    report = run(config, "icarus", seed, passes=25).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 21, 22, 23])
def test_matches_model_for_more_seeds(seed):
    run(small_memories(4, 4, "infer"), "verilator", seed, passes=300)


def test_latency_does_not_depend_on_the_multiplier_style():
    infer, rows = (AcceleratorConfig(multiplier=style) for style in ("infer", "rows"))
    assert latency(infer) == latency(rows) == 30


class NeverSwaps(WeightBuffer):
    def _swaps(self):
        return Const(0)


class AlwaysAdds(PartialSums):
    def _clears(self):
        return Const(0)


class WindowTooFar(Lane):
    def _younger(self, operands, d):
        return operands[d - 2] if d > 1 else self.window[0]


class NoInterlock(Issue):
    def _reads(self, vector, stored, slot):
        return Const(0)


class IgnoresCredits(Issue):
    def _left_credit(self):
        return Const(1)


class IgnoresBanks(Issue):
    def _left_parameters(self):
        return self.weights.one | self.credit.one


MUTANTS = [
    (eightfold.hw.array.lane, WeightBuffer, NeverSwaps),
    (eightfold.hw.array.lane, PartialSums, AlwaysAdds),
    (eightfold.hw.array.mac_array, Lane, WindowTooFar),
    (eightfold.hw.array.mac_array, Issue, NoInterlock),
    (eightfold.hw.array.mac_array, Issue, IgnoresCredits),
    (eightfold.hw.array.mac_array, Issue, IgnoresBanks),
]


@needs_icarus
@pytest.mark.parametrize(
    ("module", "original", "mutant"), MUTANTS, ids=[m[2].__name__ for m in MUTANTS]
)
def test_the_bench_catches(module, original, mutant, monkeypatch):
    monkeypatch.setattr(module, original.__name__, mutant)
    with pytest.raises(BenchFailed, match="differs: got|no transfer") as raised:
        run(small_memories(4, 4, "infer"), "icarus", 30, passes=25)
    check_explained(str(raised.value))
