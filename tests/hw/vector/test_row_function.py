# amaranth: UnusedElaboratable=no
"""A row's function is golden's over its whole range, in the stated time."""

import pytest
from amaranth.hdl import C, Cat

from eightfold.hw.vector.fixed_point_product import FixedPointProduct
from eightfold.hw.vector.row_arithmetic import RowArithmetic
from eightfold.hw.vector.row_function import RowFunction
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench

BENCH = "eightfold.sim.benches.row_function"
needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_matches_golden_on_verilator(seed):
    run_bench(RowFunction, BENCH, "verilator", parameters={"count": 1000}, seed=seed)


@needs_icarus
@pytest.mark.parametrize("seed", [1])
def test_matches_golden_on_icarus(seed):
    run_bench(RowFunction, BENCH, "icarus", parameters={"count": 20}, seed=seed)


def never_the_high_digit(self, value, high):
    return original_digit(self, value, high & C(0, 1))


original_digit = FixedPointProduct._digit


def ignore_conditions(self, m, total):
    return C(1, 1)


def complete_nothing(self, source):
    return C(0, 32)


def double_without_saturation(self, value):
    return Cat(C(0, 1), value[:30])


MUTANTS = {
    "products_of_low_digits": (FixedPointProduct, "_digit", never_the_high_digit),
    "addend_too_early": (FixedPointProduct, "OPERAND_CYCLES", 3),
    "conditions_ignored": (RowArithmetic, "_holds", ignore_conditions),
    "addends_incomplete": (RowArithmetic, "_completion", complete_nothing),
    "unsaturated": (RowFunction, "doubled", double_without_saturation),
}


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("seed", [2])
@pytest.mark.parametrize("mutant", MUTANTS)
def test_bench_catches(monkeypatch, mutant, seed):
    monkeypatch.setattr(*MUTANTS[mutant])
    with pytest.raises(BenchFailed, match="(RECIPROCAL|LOGARITHM|INVERSE_ROOT) of"):
        run_bench(RowFunction, BENCH, "icarus", parameters={"count": 20}, seed=seed)
