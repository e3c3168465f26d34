"""The front end: a vector goes when it may, not before, and not later."""

import pytest
from amaranth.sim import Simulator

from eightfold.config import AcceleratorConfig
from hw.issue import Issue
from hw.partial_sums import PartialSums

CONFIG = AcceleratorConfig(width=2, psum_depth=16, parameter_banks=4)
STORE = {"fire": 1, "first": 1}
ADD = {"fire": 1}


def issue_cycles(vectors, **grants):
    """Return when each vector is issued; ``grants`` are inputs that come in the given cycle."""
    dut = Issue(CONFIG)
    cycles = []

    async def bench(ctx):
        for name in ("weights_full", "parameters_ready", "credit"):
            ctx.set(getattr(dut, name), name not in grants)
        waiting = list(vectors)
        for cycle in range(40):
            for name, at in grants.items():
                ctx.set(getattr(dut, name), cycle >= at)
            ctx.set(dut.activations.valid, bool(waiting))
            if waiting:
                ctx.set(dut.activations.payload, {"bytes": [0, 0], **waiting[0]})
            if ctx.get(dut.activations.ready) and waiting:
                waiting.pop(0)
            if ctx.get(dut.step.valid):
                cycles.append(cycle)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(cycles) == len(vectors)
    return cycles


@pytest.mark.parametrize("between", [0, 1, 2, 3, 4])
def test_sum_is_read_when_it_is_old_enough_and_no_later(between):
    others = [{"slot": 8 + index, **STORE} for index in range(between)]
    cycles = issue_cycles([{"slot": 5, **STORE}, *others, {"slot": 5, **ADD}])
    assert cycles[-1] - cycles[0] == max(PartialSums.REVISIT, between + 1)


@pytest.mark.parametrize(
    "second",
    [
        {"slot": 6, **ADD},
        {"slot": 5, **STORE},
        {"slot": 5},
        {"slot": 5, "depthwise": 1},
    ],
)
def test_vectors_that_read_no_young_sum_do_not_wait(second):
    first, following = issue_cycles([{"slot": 5, **STORE}, second])
    assert following == first + 1


def test_sum_that_was_sent_out_is_not_waited_for():
    first, following = issue_cycles([{"slot": 5, "last": 1, **STORE}, {"slot": 5, **ADD}])
    assert following == first + 1


@pytest.mark.parametrize(
    ("grant", "vector"),
    [
        ("weights_full", {"next_weights": 1}),
        ("parameters_ready", {"next_parameters": 1}),
        ("credit", {"fire": 1, "last": 1}),
    ],
)
def test_vector_waits_for_what_it_needs_only(grant, vector):
    assert issue_cycles([vector], **{grant: 20}) == [21]
    assert issue_cycles([{"depthwise": 1, "last": 1}], **{grant: 20}) == [2]
