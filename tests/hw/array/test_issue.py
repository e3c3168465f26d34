"""The front end: a vector goes when it may, not before, and not later."""

import random

import pytest

from eightfold.hw.array.issue import Issue
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate

CONFIG = AcceleratorConfig(width=2, psum_depth=16, parameter_banks=4)
STORE = {"fire": 1, "first": 1}
ADD = {"fire": 1}
NEEDS = [
    ("weights", {"next_weights": 1}),
    ("parameters", {"next_parameters": 1}),
    ("credit", {"fire": 1, "last": 1}),
]
"""Inputs of the front end, and a vector that needs one."""


def issue_cycles(vectors, comes=0, **grants):
    """Return when each vector is issued; ``grants`` are inputs that come in the given cycle, as
    ``comes`` is that of the last vector."""
    dut = Issue(CONFIG)
    cycles = []

    async def bench(ctx):
        for name in ("weights", "parameters", "credit"):
            ctx.set(getattr(dut, name), {"one": name not in grants, "two": name not in grants})
        waiting = list(vectors)
        for cycle in range(400):
            for name, at in grants.items():
                ctx.set(getattr(dut, name).one, cycle >= at)
            offered = waiting and (len(waiting) > 1 or cycle >= comes)
            ctx.set(dut.activations.valid, bool(offered))
            if waiting:
                ctx.set(dut.activations.payload, {"bytes": [0, 0], **waiting[0]})
            if ctx.get(dut.activations.ready) and offered:
                waiting.pop(0)
            if ctx.get(dut.step.valid):
                cycles.append(cycle)
            await ctx.tick()

    simulate(dut, bench)
    assert len(cycles) == len(vectors)
    return cycles


@pytest.mark.parametrize("between", [0, 1, 2, 3, 4])
def test_sum_is_read_when_it_is_old_enough_and_no_later(between):
    others = [{"slot": 8 + index, **STORE} for index in range(between)]
    cycles = issue_cycles([{"slot": 5, **STORE}, *others, {"slot": 5, **ADD}])
    assert cycles[-1] - cycles[0] == max(PartialSums.REVISIT, between + 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(({}, other) for other in ({"slot": 6, **ADD}, STORE, {}, {"depthwise": 1})),
        pytest.param({"last": 1}, ADD, id="sent out"),
    ],
)
def test_vectors_that_read_no_young_sum_do_not_wait(first, second):
    stored, following = issue_cycles([{"slot": 5, **STORE, **first}, {"slot": 5, **second}])
    assert following == stored + 1


@pytest.mark.parametrize(("grant", "vector"), NEEDS)
def test_vector_waits_for_what_it_needs_only(grant, vector):
    assert issue_cycles([vector], **{grant: 20}) == [22]
    assert issue_cycles([{"depthwise": 1, "last": 1}], **{grant: 20}) == [3]
    # A second one does not get what the first one uses up.
    assert issue_cycles([vector, vector, {}], **{grant: 20}) == [22, 24, 25]


@pytest.mark.parametrize("comes", range(15, 25))
@pytest.mark.parametrize(("slot", "distance"), [(6, 1), (5, PartialSums.REVISIT)])
def test_a_vector_behind_one_that_waits_goes_after_it(comes, slot, distance):
    vectors = [{"slot": 5, **STORE, "next_weights": 1}, {"slot": slot, **ADD}]
    assert issue_cycles(vectors, comes=comes, weights=20) == [22, max(22 + distance, comes + 3)]


@pytest.mark.parametrize("seed", range(8))
def test_random_vectors_go_as_early_as_their_sums_allow(seed):
    rng = random.Random(seed)
    vectors = []
    expected = []
    stored = {}
    latest = 2
    for index in range(60):
        slot = rng.randrange(3)
        kind = rng.choice([STORE, ADD, {}, {**ADD, "last": 1}])
        vectors.append({"slot": slot, **kind})
        latest = max(latest + 1, index + 3)
        if kind.get("fire") and not kind.get("first"):
            latest = max(latest, stored.get(slot, -9) + PartialSums.REVISIT)
        if kind.get("fire") and not kind.get("last"):
            stored[slot] = latest
        expected.append(latest)
    assert issue_cycles(vectors) == expected
