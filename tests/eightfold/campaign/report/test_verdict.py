"""The verdict of a campaign: nothing less than all that was asked for is a pass."""

from pathlib import Path

import pytest

from eightfold.campaign.report import holds, summary
from lab.coverage.bins import EXCLUDED, every_bin
from tests.support.campaign.folders import Plan, broken, different, make_campaign, mixed, refused

SMALL = {"operators": ("ADD",), "columns": (("golden", ""),), "cases": 20, "together": 5}
ON_RTL = {**SMALL, "columns": (("verilator", "base"),)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        pytest.param(
            Plan(**SMALL), "passed: All 20 cases of 1 operator in 1 column passed.", id="passed"
        ),
        pytest.param(
            Plan(**SMALL, chosen={("ADD", "golden", 3): different("ADD", 3)}),
            "failed: Of 20 cases of 1 operator in 1 column, 1 failed and 19 passed.",
            id="failed",
        ),
        pytest.param(
            Plan(**SMALL, chosen={("ADD", "golden", 3): broken("ADD", 3)}),
            "failed: Of 20 cases of 1 operator in 1 column, 1 ended by an error and 19 passed.",
            id="error",
        ),
        pytest.param(
            Plan(**SMALL, lost=(2,)),
            "incomplete: 15 of 20 cases of 1 operator in 1 column have run (75%): all of them "
            "passed; 5 were lost (tried three times without an end).",
            id="lost",
        ),
        pytest.param(
            Plan(**SMALL, ends=0.25),
            "incomplete: 5 of 20 cases of 1 operator in 1 column have run (25%): "
            "all of them passed.",
            id="stopped",
        ),
        pytest.param(
            Plan(**SMALL, ends=0.0),
            "incomplete: 0 of 20 cases of 1 operator in 1 column have run (0%).",
            id="not begun",
        ),
        pytest.param(
            Plan(**SMALL, ends=0.25, chosen={("ADD", "golden", 3): different("ADD", 3)}),
            "failed: 5 of 20 cases of 1 operator in 1 column have run (25%): "
            "1 failed and 4 passed.",
            id="stopped and failed",
        ),
        pytest.param(
            Plan(**SMALL, chosen={("ADD", "golden", 3): refused("ADD", 3)}),
            "passed: Of 20 cases of 1 operator in 1 column, "
            "1 was refused (nothing to compare) and 19 passed.",
            id="refused",
        ),
        pytest.param(
            Plan(**SMALL, chosen={("ADD", "golden", s): refused("ADD", s) for s in range(20)}),
            "incomplete: Of 20 cases of 1 operator in 1 column, "
            "20 were refused (nothing to compare).",
            id="all refused",
        ),
        pytest.param(
            Plan(**ON_RTL, coverage=1.0),
            "passed: All 20 cases of 1 operator in 1 column passed; "
            "all 69 bins of functional coverage are hit.",
            id="covered",
        ),
        pytest.param(
            Plan(**ON_RTL, coverage=0.9),
            "failed: All 20 cases of 1 operator in 1 column passed; "
            "7 of 69 bins of functional coverage have no hit.",
            id="holes",
        ),
        pytest.param(
            Plan(**ON_RTL, coverage=0.9, ends=0.5),
            "incomplete: 10 of 20 cases of 1 operator in 1 column have run (50%): all of them "
            "passed; 7 of 69 bins of functional coverage have no hit.",
            id="holes so far",
        ),
    ],
)
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
