"""Clocks and times as the documents have them, and the axis of cycles."""

import re

import numpy as np
import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.run.report.clock import MEASURED, clock_of, time_of, times_json
from eightfold.run.report.timeline import LEFT, Axis, shares, ticks
from eightfold.target.config import PRESETS

ROOT = IMPORT_ROOT


def test_readme_and_the_page_of_synthesis_have_the_measured_clocks() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "synthesis.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `(\w+)` \|(?: [\d,]+ \|){4} (\d+) / \d+ \|", readme, re.MULTILINE)
    routed = re.findall(
        r"^\| accelerator \| (\w+) \(.*\) \| LFE5U-85F, .*? \| (\d+) / \d+ \| (\d)",
        page,
        re.MULTILINE,
    )
    assert dict(shown) == {name: f"{clock.mhz:g}" for name, clock in MEASURED.items()}
    assert {name: clock for name, clock, _ in routed} == dict(shown)
    for name, _, seeds in routed:
        how = "a single routing" if seeds == "1" else f"slowest of {seeds} routings"
        assert how in MEASURED[name].source
    without = sorted(set(PRESETS) - set(MEASURED))
    told = (ROOT / "docs" / "run-json.md").read_text(encoding="utf-8")
    names = " and ".join(f"`{name}`" for name in reversed(without))
    assert f"{names} {'has' if len(without) == 1 else 'have'} no\nmeasured" in told


@pytest.mark.parametrize("name", PRESETS)
def test_a_clock_is_that_of_the_preset_or_the_given_one(name: str) -> None:
    assert clock_of(PRESETS[name]) == MEASURED.get(name)
    given = clock_of(PRESETS[name], 50)
    assert given is not None and given.mhz == 50


def test_times_are_cycles_over_the_clock() -> None:
    clock = clock_of(PRESETS["nano"], 50)
    assert times_json(10_000, clock) == {
        "clock_mhz": 50,
        "clock_source": "given with --clock",
        "milliseconds": 0.2,
        "inferences_per_second": 5000,
    }
    assert "10,000 cycles take 0.2 ms at 50 MHz" in time_of(10_000, clock, "nano")
    assert set(times_json(10_000, None).values()) == {None}
    assert times_json(None, clock)["milliseconds"] is None
    assert time_of(10_000, None, "nano") == "nano has no measured clock; --clock MHZ gives times."


@pytest.mark.parametrize(
    ("total", "count", "base", "expected"),
    [
        (100, 5, 10, [0, 20, 40, 60, 80, 100]),
        (99, 5, 10, [0, 20, 40, 60, 80]),
        (13_930, 11, 10, list(range(0, 13_930, 2000))),
        (7, 100, 10, [0, 1, 2, 3, 4, 5, 6, 7]),
        (3072, 6, 2, [0, 512, 1024, 1536, 2048, 2560, 3072]),
        (0, 6, 2, [0]),
    ],
)
def test_ticks_are_round(total: int, count: int, base: int, expected: list[int]) -> None:
    assert list(ticks(total, count, base)) == expected


def test_cycles_have_places() -> None:
    axis = Axis(1000, 500)
    assert [axis.x(cycle) for cycle in (0, 1, 1000)] == [LEFT, LEFT + 0.5, LEFT + 500]
    assert Axis(0, 500).x(0) == LEFT
    assert list(axis.ticks()) == [(LEFT + 100.0 * i, f"{200 * i:,}") for i in range(6)]


def test_an_area_is_between_two_step_functions() -> None:
    path = Axis(4, 40).area(np.zeros(4), np.array([0, 1, 1, 0.5]), 10, 20)
    x = [LEFT + 10 * i for i in range(5)]
    assert path == (
        f"M{x[0]},30L{x[1]},30L{x[1]},10L{x[3]},10L{x[3]},20L{x[4]},20L{x[4]},30L{x[0]},30Z"
    )


def test_shares_are_counts_per_cycle() -> None:
    cycles, counts = np.array([0, 10, 20, 40]), np.array([0, 10, 10, 20])
    assert shares(cycles, counts, 40, 4).tolist() == [1, 0, 0.5, 0.5]
    assert shares(cycles, counts, 40, 1).tolist() == [0.5]
