"""First convolutions, part by part while their input arrives: every plan gives golden's bytes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.compiler import compile_network
from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.steps.arriving import Plan, Search, growing
from eightfold.estimate.estimate import estimate, estimate_last
from eightfold.isa import Space
from eightfold.isa.issued import Interval
from eightfold.model import Graph
from eightfold.target.config import PRESETS
from eightfold.target.memory import IDEAL, PROFILES
from tests.support.networks.layers import CONV, Layers
from tests.support.networks.machine_run import compile_stream, expect_covered, expect_golden, said

NANO, SMALL = PRESETS["nano"], PRESETS["small"]
SHAPES = [
    ((1, 9, 8, 3), (5, 3, 3, 3), 1, "SAME"),
    ((2, 9, 8, 1), (3, 4, 2, 1), 2, "SAME"),
    ((1, 12, 7, 2), (9, 5, 3, 2), 2, "VALID"),
    ((1, 3, 3, 3), (2, 7, 7, 3), 1, "SAME"),  # no window lies within the input
]
PLANS = [
    Plan(direct=0, first=1, most=1, strip=1),
    Plan(direct=0, first=1, most=1, strip=999, ahead=2),
    Plan(direct=0, first=1, most=1, strip=6, ahead=1, near=2),
    Plan(direct=0, first=1, most=1, strip=9, ahead=9, near=99),
    Plan(direct=2, first=1, most=99, strip=5, ahead=1),
    Plan(direct=99, first=1, most=16),
    Plan(direct=99, first=30, most=30, ahead=3),
]


def network(
    shape: tuple[int, ...], filters: tuple[int, ...], stride: int, padding: str, second: bool
) -> Graph:
    """Return a convolution of the input and, if there is a ``second`` reader, their pool."""
    layers = Layers(shape, seed=3)
    image = layers.top
    layers.window(CONV, filters, stride, padding=padding, scale=0.9, zero_point=4)
    if second:
        layers.out()
        layers.top = image
        layers.window("MAX_POOL_2D", (2, 1), padding="SAME")
    return layers.graph()


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(("shape", "filters", "stride", "padding"), SHAPES)
@pytest.mark.usual(count=14)
def test_every_plan_gives_goldens_bytes(
    shape: tuple[int, ...],
    filters: tuple[int, ...],
    stride: int,
    padding: str,
    second: bool,
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def best(
        self: Search, starts: list[Plan], options: dict[str, list[int]], known: list[Plan]
    ) -> list[Plan]:
        rows = starts[0].direct
        direct = min(plan.direct, rows)
        return [replace(plan, direct=direct if "strip" in options else rows)]

    monkeypatch.setattr(Search, "best", best)
    graph = network(shape, filters, stride, padding, second)
    for config in (NANO, replace(SMALL, psum_depth=16)):
        expect_covered(expect_golden(graph, config, keep=False))


@pytest.mark.slow
def test_strips_come_from_memory_where_that_is_faster() -> None:
    graph = network((1, 16, 16, 3), (8, 3, 3, 3), 1, "SAME", second=False)
    issued = compile_stream(graph, SMALL).issued
    moves = [c for c in issued if c.command.opcode == isa.Opcode.MOVE]
    assert any(
        c.fields["source_space"] == Space.ARENA.value and c.fields["run"] == 9 for c in moves
    )


def search(cycles: dict[int, int], monkeypatch: pytest.MonkeyPatch) -> Search:
    """Return a search to which plans take cycles by their ``first``, 1,000 if not given."""
    monkeypatch.setattr(Search, "cycles", lambda _, plan: cycles.get(plan.first, 1000))
    return Search(NANO, IDEAL, lambda _emitter, _plan: None, ())


def by_first(*sizes: int) -> list[Plan]:
    return [Plan(direct=9, first=size, most=99) for size in sizes]


def test_a_known_plan_hides_no_better_one_behind_another_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The known plan is the best to begin with, and nothing near it is better; 20's are."""
    cycles = {10: 90, 20: 100, 30: 100, 21: 80}
    starts, known = by_first(20, 30), by_first(10)
    sought = search(cycles, monkeypatch)
    monkeypatch.setattr(
        sought, "_descend", lambda plan, _: by_first(21)[0] if plan.first == 20 else plan
    )
    assert sought.best(starts, {}, known) == by_first(10, 21)
    assert sought.best(starts, {}) == by_first(21)


def test_a_known_plan_has_no_rival_that_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sought = search({10: 90, 20: 100, 30: 101}, monkeypatch)
    assert sought.best(by_first(20, 30), {}, by_first(10)) == by_first(10)


def test_plans_of_the_same_commands_are_estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[int]()

    def counting(*arguments: Any) -> int:
        counted.append(estimate_last(*arguments))
        return counted[-1]

    monkeypatch.setattr("eightfold.compiler.steps.arriving.estimate_last", counting)

    def emit(emitter: Emitter, plan: Plan) -> None:
        emitter.move((Space.ARENA, 0), (Space.SCRATCHPAD, 0), min(plan.first, 16))

    sought = Search(NANO, IDEAL, emit, ())
    few, same, more = (sought.cycles(plan) for plan in by_first(8, 16, 99))
    assert few < same == more
    assert counted == [few, same]


@pytest.mark.parametrize("better", [0, 1])
def test_of_two_rivals_the_network_takes_the_better(
    better: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, or row by row, each of which fetches the weights again."""
    graph = network((1, 16, 16, 3), (8, 3, 3, 3), 1, "SAME", second=False)
    good, bad = Plan(direct=16, first=64, most=64), Plan(direct=16, first=1, most=1)
    found = [good, bad] if better == 0 else [bad, good]
    slow = PROFILES["sdr-sdram-16"]

    def total(*plans: Plan) -> int:
        monkeypatch.setattr(Search, "best", lambda *_: list(plans))
        return estimate(compile_network(graph, SMALL, memory=slow).streams, slow).total

    assert total(*found) == total(good) < total(bad)


def test_growing_parts_cover_the_whole() -> None:
    parts = list(growing(range(3, 30), 2, 8))
    assert parts == [range(3, 5), range(5, 9), range(9, 17), range(17, 25), range(25, 30)]


@pytest.mark.parametrize("pitch", [4, 7])
def test_pitched_intervals_overlap_where_a_byte_is_in_both(pitch: int) -> None:
    rng = np.random.default_rng(pitch)
    offsets = np.arange(64)
    for _ in range(300):
        pair = []
        for _ in range(2):
            start, stop = np.sort(rng.choice(60, 2, replace=False)).tolist()
            size = int(rng.integers(1, pitch))
            pair.append(Interval(Space.SCRATCHPAD, start, stop, pitch, size))
        shared = bool(np.any(said(pair[0], offsets) & said(pair[1], offsets)))
        assert pair[0].overlaps(pair[1]) >= shared
        assert pair[0].overlaps(pair[1]) == pair[1].overlaps(pair[0])
