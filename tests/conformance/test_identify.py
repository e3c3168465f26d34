"""Fifteen open designs' contracts are found by asking, and nothing is called by what is near."""

import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.answers import UnitAnswers
from eightfold.conformance.identify import Identification, identify, profile_text
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import Profile
from tests.eightfold.cli.test_cli import call
from tests.support.conformance.open_units import (
    CLAMP,
    OPEN_UNITS,
    PRODUCT,
    SIGNED,
    UNITS_FILE,
    Filed,
)

SPEC = Profile.load("tflite")


def check(found: Identification, contract: str, limits: dict[str, object]) -> Profile:
    assert found.profile is not None, found.lines
    assert found.profile.contract_text == contract
    asked = Profile(name="whole").limits
    stated = vars(found.profile.limits)
    beside = ("shift", "multipliers")  # all multipliers are asked, not a converter's alone
    assert {k: v for k, v in stated.items() if v != getattr(asked, k) and k not in beside} == {
        k: v for k, v in limits.items() if k not in beside
    }
    assert found.profile.shifts == limits.get("shift", SPEC.shifts)
    return found.profile


@pytest.mark.parametrize("name", OPEN_UNITS)
def test_an_open_units_contract_is_identified_and_kept(name: str, tmp_path: Path) -> None:
    unit, contract, limits = OPEN_UNITS[name]
    # A nudge that is shifted differs from a half that is subtracted in a case of ten thousand.
    level = "standard" if contract == "first_nudge_shifted" else "smoke"
    found = check(identify(unit, SPEC, "files", level), contract, limits)
    # The profile as a file is what the unit is held to, with other cases.
    path = tmp_path / "mine.toml"
    path.write_text(profile_text(found))
    profile = Profile.load(path)
    assert profile == found
    cases = contract_cases("requantizer", profile, "smoke", seed=99)
    answers = unit.answer(cases.inputs, simulator="files")
    defined = np.flatnonzero(cases.kinds != "wrap")
    kept = UnitAnswers(results={"result": answers.results["result"][defined]})
    finding = judge_unit("requantizer", profile, cases.take(defined), kept)
    assert finding.right, finding.diagnosis
    assert bool(finding.contract) == bool(contract)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN_UNITS)
def test_an_open_units_contract_is_identified_in_simulators(name: str, simulator: str) -> None:
    unit, contract, limits = OPEN_UNITS[name]
    check(identify(unit, SPEC, simulator), contract, limits)


def test_what_no_contract_explains_is_not_called_by_the_nearest() -> None:
    unit = Filed("odd_at_127", PRODUCT | SIGNED | CLAMP)
    found = identify(unit, SPEC, "files", "smoke")
    assert found.profile is None
    assert found.lines[0].startswith("Unexplained: no contract gives all")
    assert found.lines[1].startswith("tflite gives ")
    assert "a zero point of 127" in found.lines[2]
    assert found.lines[-1].startswith("  theirs: ")


def test_beyond_the_limits_the_smallest_case_is_shown() -> None:
    unit, *_ = OPEN_UNITS["ITA ita_requantizer"]
    lines = "\n".join(identify(unit, SPEC, "files", "smoke").lines)
    assert "Beyond these limits it was asked too, and differs:" in lines
    assert re.search(r"theirs: (-?\d+), expected -?\d+, difference -1$", lines)


def test_the_command_writes_a_profile_that_run_holds_the_unit_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = PRODUCT | {"right": "-shift"} | CLAMP
    (tmp_path / "mine.py").write_text(
        "from eightfold.conformance.adapters import StreamAdapter\n\n\n"
        "class Mine(StreamAdapter):\n"
        f"    sources, top = [{str(UNITS_FILE)!r}], 'second_up'\n"
        f"    clock, latency, inputs = None, 0, {inputs!r}\n"
        "    outputs = {'result': 'q'}\n"
    )
    mine, profile = f"{tmp_path / 'mine.py'}:Mine", tmp_path / "mine.toml"
    words = ("--adapter", mine, "--backend", "icarus")
    status, said, error = call("conform", "identify", *words, "--out", profile, capsys=capsys)
    assert (status, error) == (0, "")
    assert said.startswith("second_half_up: The second rounding, of the right shift, adds half")
    assert 'contract = "second_half_up"' in profile.read_text()
    words = (*words, "--profile", profile, "--workers", 1)
    status, said, error = call("conform", "run", *words, capsys=capsys)
    assert (status, error) == (0, "")
    assert "contract (second_half_up), limits (shift [-31, 0]" in said
    assert "second_half_up differs from the spec in" in said
    status, _, error = call("conform", "identify", "--adapter", "golden", capsys=capsys)
    assert (status, error.count("\n")) == (2, 1)
    assert "is of no requantizer" in error


def test_a_profile_that_states_a_contract_has_none_to_be_found() -> None:
    unit, *_ = OPEN_UNITS["TinyVAD requantize"]
    with pytest.raises(InputError, match="without a contract, which is sought"):
        identify(unit, Profile(name="x", limits=SPEC.limits).replace(claims=("dot",)), "files")
