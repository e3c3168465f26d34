# amaranth: UnusedElaboratable=no
"""The reciprocal is golden's, over its whole range, in the stated time."""

import pytest
from amaranth.hdl import C

from hw.reciprocal import Product, Reciprocal
from sim.runner import BenchFailed, icarus_available, run_bench

BENCH = "sim.benches.reciprocal"


@pytest.mark.parametrize("seed", [0])
def test_matches_golden_on_verilator(seed):
    run_bench(Reciprocal, BENCH, "verilator", parameters={"count": 500}, seed=seed)


@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("seed", [1])
def test_matches_golden_on_icarus(seed):
    run_bench(Reciprocal, BENCH, "icarus", parameters={"count": 20}, seed=seed)


@pytest.mark.parametrize("seed", [2])
def test_bench_catches_a_product_without_its_highest_digits(monkeypatch, seed):
    digit = Product._digit
    monkeypatch.setattr(
        Product, "_digit", lambda self, value, high: digit(self, value, high & C(0, 1))
    )
    with pytest.raises(BenchFailed, match="reciprocal of"):
        run_bench(Reciprocal, BENCH, "verilator", parameters={"count": 20}, seed=seed)
