"""The verdict of a campaign: nothing less than all that was asked for is a pass."""

from pathlib import Path
from typing import Any

import pytest

from eightfold.campaign.report import holds, summary
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
