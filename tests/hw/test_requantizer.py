"""The requantizer: equal to golden everywhere, a result per cycle, and every mutant is caught."""

import pytest
from amaranth.hdl import Const, Mux

from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.requantizer import Requantizer
from eightfold.isa import REQUANTIZE_LAYOUT, Rounding
from eightfold.sim.benches.requantizer_bank import RequantizerBank
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.failures import check_explained

BENCH = "eightfold.sim.benches.requantizer"

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_a_million_random_quadruples_and_all_corners_match_golden(seed):
    lanes = 8
    result = run_bench(
        lambda: RequantizerBank(lanes),
        BENCH,
        "verilator",
        parameters={"lanes": lanes, "random": 1_000_000, "corners": 1},
        seed=seed,
    )
    assert result.report["random"] == 1_000_000
    assert result.report["corners"] > 500_000
    assert result.report["latency"] == Requantizer.LATENCY


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_requantizer_matches_golden_under_stalls_on_verilator(seed):
    run_requantizer(Requantizer, "verilator", seed, random=10_000, corners=40)


@needs_icarus
@pytest.mark.parametrize("seed", [2])
def test_requantizer_matches_golden_under_stalls_on_icarus(seed):
    run_requantizer(Requantizer, "icarus", seed, random=1000, corners=400)


def run_requantizer(unit, simulator, seed, random, corners, testcase=None):
    return run_bench(
        lambda: unit(AcceleratorConfig()),
        BENCH,
        simulator,
        parameters={"lanes": 1, "random": random, "corners": corners},
        seed=seed,
        testcase=testcase,
    )


class HalfUpForHalfAway(RequantizePipeline):
    """Rounds ties away from zero like ties up."""

    def decode_rounding(self, rounding, negative):
        is_away = rounding == Rounding.HALF_AWAY
        return super().decode_rounding(Mux(is_away, Rounding.HALF_UP, rounding), negative)


class TruncatedProduct(RequantizePipeline):
    """Leaves out the product of the low parts."""

    def products(self, x, factor):
        low, cross, half, high = super().products(x, factor)
        return Const(0, len(low)), cross, half, high


class ClampBeforeZeroPoint(RequantizePipeline):
    """Clamps the quotient and adds the zero point to what is left."""

    def add_zero_point(self, quotient, zero_point, increment):
        return super().add_zero_point(quotient, Const(0, 8), increment)

    def select(self, byte, below, above, low, high):
        return (super().select(byte, below, above, low, high) + self.zero_point)[:8]


class NoSticky(RequantizePipeline):
    """Takes the guard bit for the whole remainder."""

    def shift_right(self, word, sticky, far, negative, taken, step):
        word, _, far = super().shift_right(word, sticky, far, negative, taken, step)
        return word, Const(0, 1), far


class NoWrap(RequantizePipeline):
    """Saturates where adding the zero point wraps."""

    def near_edge(self, product):
        return Const(0, 1)


class HalfLeftOut(RequantizePipeline):
    """Truncates in the SRDHM."""

    def add_half(self, part, single):
        return part


class OneBitTooFew(RequantizePipeline):
    """Does not see the highest bit that a shift by 8 drops."""

    def shift_right(self, word, sticky, far, negative, taken, step):
        shifted, sticky, seen = super().shift_right(word, sticky, far, negative, taken, step)
        if step == 8:
            kept = len(word) - step
            seen = far | (~taken & (word[kept:-1] ^ negative.replicate(step - 1)).any())
        return shifted, sticky, seen


MUTANTS = {
    HalfUpForHalfAway: "ties",
    TruncatedProduct: "random_quadruples",
    ClampBeforeZeroPoint: "random_quadruples",
    NoSticky: "ties",
    NoWrap: "wraps",
    HalfLeftOut: "random_quadruples",
    OneBitTooFew: "powers",
}
"""Broken pipelines, and the bench's test that must see it."""


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("mutant", MUTANTS)
def test_bench_catches(mutant):
    class Broken(Requantizer):
        def pipeline(self):
            return mutant()

    with pytest.raises(BenchFailed, match=f"seed 3: {MUTANTS[mutant]} failed: o: word ") as raised:
        run_requantizer(Broken, "icarus", 3, random=1000, corners=1, testcase=MUTANTS[mutant])
    assert "as int8: got" in str(raised.value)
    check_explained(str(raised.value))


def test_every_field_has_a_cycle():
    assert list(RequantizePipeline.FIELD_CYCLE) == [name for name, _ in REQUANTIZE_LAYOUT]
