# amaranth: UnusedElaboratable=no
"""Runs of memory: every beat, in order, without a pause, never more than the queue holds."""

import pytest
from amaranth.hdl import C

from eightfold.hw.memory.linear_fetch import LinearFetch
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.linear_fetch"


def run(port, depth, simulator, seed, testcase=None, component=LinearFetch):
    return run_bench(
        lambda: component(AcceleratorConfig(port=port), depth),
        BENCH,
        simulator,
        parameters={"port": port, "depth": depth},
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.parametrize(("port", "depth", "seed"), [(16, 128, 0)])
def test_matches_memory_under_stalls(port, depth, seed, simulator):
    run(port, depth, simulator, seed)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize(("port", "depth", "seed"), [(4, 32, 1), (32, 128, 2), (64, 64, 3)])
def test_matches_memory_at_other_sizes(port, depth, seed):
    run(port, depth, "icarus", seed)


class CrossesBursts(LinearFetch):
    """Asks for full bursts from wherever the run starts."""

    def _boundary(self, beat):
        return super()._boundary(0)


class ForgetsRoom(LinearFetch):
    """Asks whether the queue has room or not."""

    def _fits(self, room, burst):
        return room == room


class NeverYields(LinearFetch):
    """Fetches as far ahead as there is room, whoever waits behind it."""

    def _holds_back(self, room):
        return C(0)


class YieldsForEver(LinearFetch):
    """Asks for nothing while another client reads, even if its own beats are waited for."""

    def _holds_back(self, room):
        return self.yields


class TakesRequestsBack(LinearFetch):
    """Withdraws a request that has begun."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.yields):
            m.d.comb += self.memory.request.valid.eq(0)
        return m


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize(
    ("mutant", "testcase", "message"),
    [
        (NeverYields, "yields_to_another_client_and_goes_on", "1[0-9]+ beats ahead"),
        (YieldsForEver, "yields_to_another_client_and_goes_on", "only 0 beats ahead"),
        (TakesRequestsBack, "a_request_stays_when_it_is_to_yield", "valid dropped"),
    ],
)
def test_bench_watches_yields(mutant, testcase, message):
    with pytest.raises(BenchFailed, match=message):
        run(4, 128, "icarus", 4, testcase, mutant)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("mutant", [CrossesBursts, ForgetsRoom])
def test_bench_catches(mutant):
    with pytest.raises(BenchFailed, match="crosses|assert|differs: got|no transfer"):
        run(4, 32, "icarus", 4, component=mutant)


@pytest.mark.parametrize("depth", [0, 16, 48])
def test_rejects_a_depth_that_is_no_power_of_two_of_two_bursts(depth):
    with pytest.raises(ValueError, match=f"power of two of at least 32, not {depth}"):
        LinearFetch(AcceleratorConfig(), depth)
