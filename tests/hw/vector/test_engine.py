# amaranth: UnusedElaboratable=no
"""The vector engine leaves the scratchpad that the model leaves, and every mutant is caught."""

import pytest
from amaranth.hdl import C

from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.vector import lane as vector_lane
from eightfold.hw.vector.beats import VectorBeats
from eightfold.hw.vector.engine import VectorEngine
from eightfold.hw.vector.lane import VectorLane
from eightfold.hw.vector.row_unit import RowUnit
from eightfold.hw.vector.walk import VectorWalk
from eightfold.hw.vector.writer import VectorWriter
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.failures import check_explained
from tests.support.hardware.row_cases import row_case, row_cases

BENCH = "eightfold.sim.benches.vector_engine"
NARROW = {"lanes": 4, "width": 4, "port": 4, "scratchpad": 4096}
needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def run_engine(
    simulator,
    config,
    seed,
    commands,
    latency=Scratchpad.READ_LATENCY,
    bench=BENCH,
    rows=(),
    testcase=None,
):
    return run_bench(
        lambda: VectorEngine(AcceleratorConfig(**config)),
        bench,
        simulator,
        parameters={
            "config": config,
            "commands": commands,
            "latency": latency,
            "rows": rows or row_cases(seed),
        },
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_matches_the_model_under_stalls_on_verilator(seed):
    run_engine("verilator", NARROW | {"vector_lanes": 2}, seed, 16)


# The digits run on configurations with all of these sizes in `tests/sim/system`.
@pytest.mark.parametrize(
    ("config", "latency", "seed", "commands"),
    [
        pytest.param({"vector_lanes": 1}, 2, 2, 12, marks=pytest.mark.slow),
        pytest.param(
            {"vector_lanes": 4, "tables": 4},
            Scratchpad.READ_LATENCY,
            1,
            40,
            marks=pytest.mark.long,
        ),
        pytest.param({"vector_lanes": 2, "lanes": 8}, 12, 3, 40, marks=pytest.mark.long),
        pytest.param(
            {"vector_lanes": 8, "lanes": 16, "scratchpad": 8192},
            Scratchpad.READ_LATENCY,
            4,
            40,
            marks=pytest.mark.long,
        ),
    ],
)
def test_matches_the_model_at_other_sizes_on_verilator(config, latency, seed, commands):
    run_engine("verilator", NARROW | config, seed, commands, latency)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("seed", [5])
def test_matches_the_model_under_stalls_on_icarus(seed):
    run_engine("icarus", NARROW | {"vector_lanes": 2}, seed, 10)


CYCLES = {
    "add_16384": 16384 // 8 + 50,
    "table_4096": 4096 // 8 + 50,
    "max_pool_16x16x32": 8 * 8 * 4 * 32 // 8 + 50,
    "sum_8x512": 8 * 512 // 8 + 100,
    "largest_8x512": 8 * 512 // 8 + 100,
    "softmax_12": 150,
    "softmax_8x12": 150 + 7 * 100,
}
"""Most cycles of each workload on 8 lanes."""


@pytest.mark.slow
def test_takes_the_stated_cycles():
    bench = "eightfold.sim.benches.vector_cycles"
    rows = [row_case("SOFTMAX", 0.1)]
    cycles = run_engine("verilator", {}, 0, 0, bench=bench, rows=rows).report
    assert {name: cycles[name] for name, most in CYCLES.items() if cycles[name] > most} == {}


def swap_maximum_and_minimum(self, combine, less):
    return original_takes_b(self, combine, ~less)


original_takes_b = VectorLane.takes_b


def add_without_a_sign(self, a, b, carry):
    return original_add(self, a, b, carry)[:32].as_signed()


original_add = VectorLane.add


def accept_negative_numbers(self, number, limit):
    return number[:16] < limit


def never_wait_for_the_row(self, command):
    return C(0, 2), C(0, 1)


def take_the_last_of_equals(self, x, y):
    return x <= y


original_load = VectorBeats._load


def always_free(self, m, free):
    return original_load(self, m, C(1, 1))


def any_place(self, words):
    return words.available


AT_ONCE = ("random_commands/stall=0.0/idle=0.0", 5, 16)
PAUSING = ("random_commands/stall=0.3/idle=0.0", 6, 16)
MANY = ("random_commands/stall=0.3/idle=0.0", 8, 120)
SLOWLY = ("random_commands/stall=0.7/idle=0.9", 5, 16)
MANY_SLOWLY = ("random_commands/stall=0.7/idle=0.9", 9, 120)
"""A test of the bench, a seed and a number of commands."""

MUTANTS = {
    "maximum_and_minimum_swapped": (VectorLane, "takes_b", swap_maximum_and_minimum, MANY),
    "sums_without_a_sign": (VectorLane, "add", add_without_a_sign, PAUSING),
    "negative_rows_exist": (VectorWalk, "_below", accept_negative_numbers, AT_ONCE),
    "softmax_without_phases": (VectorWalk, "first_phase", never_wait_for_the_row, PAUSING),
    "products_of_18_bits": (vector_lane, "PRODUCT_BITS", 18, PAUSING),
    "last_of_equal_extremes": (RowUnit, "less", take_the_last_of_equals, MANY),
    "chunks_cut_short": (VectorBeats, "_load", always_free, PAUSING),
    "one_result_too_many": (VectorWriter, "_room", any_place, MANY_SLOWLY),
    "restart_a_cycle_late": (VectorLane, "REDUCE_CYCLE", VectorLane.REDUCE_CYCLE + 1, PAUSING),
    "done_before_it_is_written": (Bypass, "_waits", lambda self, full: C(0), SLOWLY),
    "result_a_cycle_early": (VectorLane, "LATENCY", VectorLane.LATENCY - 1, PAUSING),
}
"""What is broken, how, and the bench's test that sees it."""


def run_one(testcase, seed, commands):
    config = NARROW | {"vector_lanes": 2}
    run_engine("icarus", config, seed, commands, testcase=testcase)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("bench", [AT_ONCE, PAUSING, MANY, SLOWLY, MANY_SLOWLY])
def test_bench_passes_what_is_not_broken(bench):
    run_one(*bench)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("mutant", MUTANTS)
def test_bench_catches(monkeypatch, mutant):
    *broken, bench = MUTANTS[mutant]
    monkeypatch.setattr(*broken)
    with pytest.raises(BenchFailed, match="differs: got|is not done") as raised:
        run_one(*bench)
    check_explained(str(raised.value))
