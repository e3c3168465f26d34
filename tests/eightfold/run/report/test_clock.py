"""Clocks and times: one table of what was measured, which the documents agree with."""

import re

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.run.report.clock import MEASURED, clock_of, time_of, times_json
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
    assert f"{' and '.join(f'`{name}`' for name in reversed(without))} have no\nmeasured" in told


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
