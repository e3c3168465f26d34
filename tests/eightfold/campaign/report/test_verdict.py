"""The verdict of a campaign is a pass only if all asked for is; when it ran, killed or merged."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.campaign.report import facts, holds, summary
from eightfold.campaign.store import Results, Spent
from lab.coverage import EXCLUDED, every_bin
from tests.support.campaign.folders import Plan, broken, different, make_campaign, mixed, refused

SMALL: dict[str, Any] = {
    "operators": ("ADD",),
    "columns": (("golden", ""),),
    "cases": 20,
    "together": 5,
}
ON_RTL = {**SMALL, "columns": (("verilator", "base"),)}


CASES = "20 cases of 1 operator in 1 column"
RUN = "cases of 1 operator in 1 column have run"
DIFFERENT: dict[str, Any] = {"chosen": {("ADD", "golden", 3): different("ADD", 3)}}
BROKEN: dict[str, Any] = {"chosen": {("ADD", "golden", 3): broken("ADD", 3)}}
REFUSED = {("ADD", "golden", seed): refused("ADD", seed) for seed in range(20)}

SENTENCES: dict[str, tuple[Plan, str]] = {
    "passed": (Plan(**SMALL), f"passed: All {CASES} passed."),
    "failed": (Plan(**SMALL, **DIFFERENT), f"failed: Of {CASES}, 1 failed and 19 passed."),
    "error": (Plan(**SMALL, **BROKEN), f"failed: Of {CASES}, 1 ended by an error and 19 passed."),
    "lost": (
        Plan(**SMALL, lost=(2,)),
        f"incomplete: 15 of 20 {RUN} (75%): all of them passed; 5 were lost (tried three times "
        "without an end).",
    ),
    "stopped": (Plan(**SMALL, ends=0.25), f"incomplete: 5 of 20 {RUN} (25%): all of them passed."),
    "not begun": (Plan(**SMALL, ends=0.0), f"incomplete: 0 of 20 {RUN} (0%)."),
    "stopped and failed": (
        Plan(**SMALL, ends=0.25, **DIFFERENT),
        f"failed: 5 of 20 {RUN} (25%): 1 failed and 4 passed.",
    ),
    "refused": (
        Plan(**SMALL, chosen={("ADD", "golden", 3): refused("ADD", 3)}),
        f"passed: Of {CASES}, 1 was refused (nothing to compare) and 19 passed.",
    ),
    "all refused": (
        Plan(**SMALL, chosen=REFUSED),
        f"incomplete: Of {CASES}, 20 were refused (nothing to compare).",
    ),
    "refused of an operator": (
        Plan(**{**SMALL, "operators": ("ADD", "SUB")}, chosen=REFUSED),
        "incomplete: Of 40 cases of 2 operators in 1 column, 20 were refused (nothing to compare) "
        "and 20 passed; nothing of ADD was compared.",
    ),
    "covered": (
        Plan(**ON_RTL, coverage=1.0),
        f"passed: All {CASES} passed; all 69 bins of functional coverage are hit.",
    ),
    "holes": (
        Plan(**ON_RTL, coverage=0.9),
        f"failed: All {CASES} passed; 7 of 69 bins of functional coverage have no hit.",
    ),
    "holes so far": (
        Plan(**ON_RTL, coverage=0.9, ends=0.5),
        f"incomplete: 10 of 20 {RUN} (50%): all of them passed; 7 of 69 bins of functional "
        "coverage have no hit.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_one_sentence(tmp_path: Path, plan: Plan, sentence: str) -> None:
    folder = make_campaign(tmp_path / "a", plan)
    assert summary(folder) == sentence
    assert holds(folder) == sentence.startswith("passed")


def test_an_exclusion_that_was_hit_is_a_failure_even_of_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(**ON_RTL, coverage=1.0, ends=0.5)
    folder = make_campaign(tmp_path / "a", plan)
    assert summary(folder).startswith("incomplete")
    hit = next(b for b in every_bin() if b.operator == "ADD" and b not in EXCLUDED)
    monkeypatch.setitem(EXCLUDED, hit, "a wrong reason")
    assert summary(folder).startswith("failed")
    assert "1 exclusion from functional coverage" in summary(folder)


def test_operators_that_were_not_asked_for_need_no_coverage(tmp_path: Path) -> None:
    # ADD's and CONV_2D's bins alone, though there are 56 operators.
    plan = Plan(**{**ON_RTL, "operators": ("ADD", "CONV_2D")}, coverage=1.0)
    assert "all 158 bins" in summary(make_campaign(tmp_path / "a", plan))


def test_every_verdict_is_counted(tmp_path: Path) -> None:
    assert summary(mixed(tmp_path / "a")) == (
        "failed: 850 of 900 cases of 3 operators in 3 columns have run (94%): 3 failed, 1 ended by "
        "an error, 5 were refused (nothing to compare) and 841 passed; 50 were lost (tried three "
        "times without an end); 18 of 179 bins of functional coverage have no hit."
    )


def spent(ended: float, backend: str = "golden") -> Spent:
    """Return a unit that ended at a moment."""
    unit = Unit(suite="operators", operator="ADD", first=0, count=10, backend=backend)
    return Spent(unit=unit, seconds=1.5, ended=ended, worker="a")


def results(sessions: list[tuple], ended: list[float]) -> Results:
    """Return what stands in for a database."""
    found: Any = SimpleNamespace(
        sessions=lambda: sessions, spent=lambda: [spent(moment) for moment in ended]
    )
    return cast(Results, found)


@pytest.mark.parametrize(
    ("sessions", "ended", "expected"),
    [
        ([(0, 10, 1, "complete")], [], [(0, 10)]),
        ([(0, 10, 1, "interrupted"), (50, 60, 1, "complete")], [], [(0, 10), (50, 60)]),
        ([(0, 10, 1, "complete"), (5, 20, 1, "complete")], [], [(0, 20)]),
        ([(0, 30, 1, "complete"), (5, 20, 1, "complete")], [], [(0, 30)]),
        ([(0, None, 1, None)], [4, 8], [(0, 8)]),
        ([(0, None, 1, None), (50, 60, 1, "complete")], [4, 8, 55], [(0, 8), (50, 60)]),
        ([(0, None, 1, None)], [], [(0, 0)]),
        ([], [], []),
    ],
)
def test_intervals(sessions: list[tuple], ended: list[float], expected: list[tuple]) -> None:
    ran = facts.intervals(results(sessions, ended))
    assert [(interval.start, interval.end) for interval in ran] == expected
    assert facts.worked(ran) == sum(end - start for start, end in expected)


def test_the_clock_stands_still_while_nothing_runs() -> None:
    ran = facts.intervals(results([(100, 110, 1, ""), (500, 530, 1, "")], []))
    times = [facts.working_time(moment, ran) for moment in (50, 100, 104, 110, 300, 500, 501, 999)]
    assert times == [0, 0, 4, 10, 10, 10, 11, 40]


def test_the_cases_of_a_unit_are_spread_over_its_seconds() -> None:
    ran = facts.intervals(results([(0, 4, 1, "complete")], []))
    edges = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    # Ten cases each: in 1.5 to 3, and in 2.5 to 4.
    assert facts._rates([spent(3), spent(4)], ran, edges) == pytest.approx(
        [0, 10 / 3, 20 / 3 + 10 / 3, 20 / 3]
    )


def test_charts_say_their_range() -> None:
    columns = facts.by_column([spent(8), spent(900, "icarus"), spent(900)])
    assert list(columns) == ["golden", "icarus"]
    ran = facts.intervals(results([(0, 900, 1, "complete")], []))
    rate, seconds = facts.rate_chart(columns, ran), facts.seconds_chart(columns)
    assert 'aria-label="cases per second over 15.0 minutes"' in rate
    assert "minutes of running" in rate
    assert 'aria-label="seconds of 3 units, 1.5 to 1.5"' in seconds
    for svg in (rate, seconds):
        assert "var(--series-1)" in svg
        assert "var(--series-2)" in svg
