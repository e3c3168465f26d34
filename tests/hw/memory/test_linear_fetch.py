# amaranth: UnusedElaboratable=no
"""Runs of memory: every beat, in order, without a pause, never more than the queue holds."""

import pytest

from eightfold.hw.memory.linear_fetch import LinearFetch
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


def run(port, depth, simulator, seed, testcase=None, component=LinearFetch):
    config, more = AcceleratorConfig(port=port), {"port": port, "depth": depth}
    return run_unit(
        lambda: component(config, depth), "linear_fetch", simulator, seed, testcase, **more
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("port", "depth", "seed"), [(16, 128, 0), (4, 32, 1), (32, 128, 2), (64, 64, 3)]
)
@pytest.mark.usual(names=["icarus-16"])
def test_matches_memory_under_stalls(port, depth, seed, simulator):
    run(port, depth, simulator, seed)


class TakesRequestsBack(LinearFetch):
    """Withdraws a request that has begun."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.yields):
            m.d.comb += self.memory.request.valid.eq(0)
        return m


@pytest.mark.slow
@pytest.mark.icarus
def test_bench_catches_requests_that_are_taken_back():
    testcase = "a_request_stays_when_it_is_to_yield"
    with pytest.raises(BenchFailed, match="valid dropped"):
        run(4, 128, "icarus", 4, testcase, TakesRequestsBack)


@pytest.mark.parametrize("depth", [0, 16, 48])
def test_rejects_a_depth_that_is_no_power_of_two_of_two_bursts(depth):
    with pytest.raises(ValueError, match=f"power of two of at least 32, not {depth}"):
        LinearFetch(AcceleratorConfig(), depth)
