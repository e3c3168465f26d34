"""Fifteen open designs' contracts are found by asking, and nothing is called by what is near."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters import StreamAdapter
from eightfold.conformance.adapters.adapter import UnitAdapter
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.answers import UnitAnswers
from eightfold.conformance.identify import Identification, _contracts, identify, profile_text
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.conformance.judge.forms import cases_of
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import Profile
from tests.support.command import Call
from tests.support.conformance import streams

SPEC = Profile.load("tflite")
Cases = Mapping[str, np.ndarray]

UNITS_FILE = Path(streams.__file__).with_name("open_units.v")


class Filed(StreamAdapter):
    """A combinational module of open_units.v.

    In the simulator ``files`` cases go to Icarus as files, by the bench that the kit writes.
    """

    sources = (str(UNITS_FILE),)
    clock, latency = None, 0
    outputs: ClassVar[Mapping[str, str]] = {"result": "q"}

    def __init__(self, top: str, inputs: Mapping[str, Formula], **parameters: int) -> None:
        self.top, self.inputs, self.parameters = top, inputs, parameters  # pyright: ignore

    def answer(
        self,
        cases: Mapping[str, np.ndarray],
        *,
        simulator: str,
        seed: int = 0,
        trace: Path | None = None,
    ) -> UnitAnswers:
        if simulator != "files":
            return super().answer(cases, simulator=simulator, seed=seed, trace=trace)
        with TemporaryDirectory() as name:
            streams.write_benches(Path(name), self, cases, seed)
            streams.run_icarus(Path(name), *self.sources)
            lines = Path(name, "results.hex").read_text().splitlines()
        words = [int(line, 16) for line in lines if not line.startswith("//")]
        return UnitAnswers(
            results={"result": np.array(words, np.uint8).view(np.int8).astype(np.int64)}
        )


PRODUCT: dict[str, Formula] = {"acc": "accumulator", "m": "multiplier"}
CLAMP: dict[str, Formula] = {"zp": "zero_point", "low": "low", "high": "high"}
RELU: dict[str, Formula] = {"zp": "zero_point", "relu": "low > -128", "high": "high"}
SIGNED: dict[str, Formula] = {"shift": "shift"}
RIGHT: dict[str, Formula] = {"right": "-shift"}
RIGHT_ALONE: dict[str, Formula] = {"right": "max(-shift, 0)"}
TOTAL: dict[str, Formula] = {"total": "31 - shift"}
INT8 = ((-128, 127),)

OPEN_UNITS: dict[str, tuple[Filed, str, dict[str, Any]]] = {
    "CFU-Playground mnv2_first": (Filed("both_shifts", PRODUCT | SIGNED | CLAMP), "", {}),
    "CFU-Playground hps_accel": (
        Filed("quotient_16", PRODUCT | RIGHT | CLAMP),
        "scaled_16",
        {"shift": (-12, -2)},
    ),
    "CFU-Playground kws_micro_accel": (
        Filed("five_to_nine", PRODUCT | RIGHT),
        "",
        {"shift": (-9, -5), "zero_points": (-128,), "clamp": INT8},
    ),
    "gestureflow_requant_relu": (
        Filed("relu_symmetric", PRODUCT | RIGHT_ALONE),
        "",
        {"shift": (-31, 0), "zero_points": (0,), "clamp": ((0, 127),)},
    ),
    "SIENNA tfliteRequant, double": (Filed("once_or_twice", PRODUCT | SIGNED | CLAMP), "", {}),
    "SIENNA tfliteRequant, single": (
        Filed("once_or_twice", PRODUCT | SIGNED | CLAMP, ONCE=1),
        "one_rounding_half_up",
        {},
    ),
    "mdla7 vf_conv_int8_mac": (
        Filed("nudge_and_shift", PRODUCT | SIGNED | CLAMP),
        "first_nudge_shifted",
        {},
    ),
    "tinyml-accelerator": (
        Filed("second_cut", PRODUCT | RIGHT | CLAMP),
        "second_down",
        {"shift": (-31, 0)},
    ),
    "Versal-BERT requant": (
        Filed("once_symmetric", PRODUCT | TOTAL),
        "one_rounding_half_up",
        {"zero_points": (0,), "clamp": INT8},
    ),
    "ITA ita_requantizer": (
        Filed("short_product", PRODUCT | TOTAL | {"zp": "zero_point"}),
        "one_rounding_half_up",
        {"shift": (-4, 30), "accumulator_bits": 26, "multiplier_bits": 9, "clamp": INT8},
    ),
    "INT8-Tensor-Accelerator-DV requantize": (
        Filed("away_16", PRODUCT | TOTAL | RELU),
        "one_rounding_half_away and relu_at_0",
        {"multiplier_bits": 17},
    ),
    "TinyVAD requantize": (
        Filed("second_up", PRODUCT | RIGHT_ALONE | CLAMP),
        "second_half_up",
        {"shift": (-31, 0)},
    ),
    "face-filter quantize_int8": (
        Filed("no_shift", PRODUCT | {"zp": "zero_point"}),
        "",
        {"shift": (0, 0), "clamp": INT8},
    ),
    "a VHDL post-processing unit": (
        Filed("once_relu", PRODUCT | TOTAL | RELU),
        "one_rounding_half_up and relu_at_0",
        {},
    ),
    "a course's MBQM": (
        Filed("logical_repaired", PRODUCT | SIGNED | {"zp": "zero_point"}),
        "second_logical_repaired",
        {"clamp": INT8},
    ),
    "a course's RoundingDivideByPOT": (
        Filed("odd_one_more", PRODUCT | RIGHT | CLAMP),
        "second_half_away_and_even",
        {"shift": (-31, 0)},
    ),
}
"""By the name of the design: its adapter, its contract, and the contract's limits."""


def check(found: Identification, contract: str, limits: Mapping[str, object]) -> Profile:
    assert found.profile is not None, found.lines
    assert found.profile.contract_text == contract
    asked = Profile(name="whole").limits
    stated = {k: v for k, v in vars(found.profile.limits).items() if v != getattr(asked, k)}
    # All multipliers are asked, not a converter's alone.
    limits = {k: v for k, v in {"multipliers": "any", **limits}.items() if v != "converter"}
    if found.profile.shifts == limits.get("shift"):
        stated["shift"] = limits["shift"]  # what the unit does not read is held
    assert stated == limits
    return found.profile


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN_UNITS)
@pytest.mark.usual(count=6)
def test_an_open_units_contract_is_identified_and_kept(name: str, tmp_path: Path) -> None:
    unit, contract, limits = OPEN_UNITS[name]
    found = check(identify(unit, SPEC, "files", "smoke"), contract, limits)
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


class Kept(UnitAdapter):
    """Keeps a contract of cases some of whose columns it reads otherwise."""

    unit = "requantizer"

    def __init__(self, contract: str, reads: Callable[[Cases], Cases] = lambda cases: {}) -> None:
        chosen = [each for rules in range(2) for each in _contracts(rules)]
        (self.contract,) = [each for each in chosen if each.name == contract]
        self.reads = reads

    def answer(
        self, cases: Cases, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        asked = cases_of("tflite", cases)
        return UnitAnswers(
            results={"result": self.contract.results({**asked, **self.reads(asked)})}
        )


def test_a_unit_whose_code_ends_the_program_is_told() -> None:
    class Ends(Kept):
        def answer(self, cases: Cases, **_: Any) -> UnitAnswers:
            raise SystemExit(0)

    with pytest.raises(InputError, match="adapter Ends: has not answered: .*SystemExit: 0"):
        identify(Ends("first_half_subtracted"), SPEC, "python", "smoke")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("contract", ["first_half_subtracted", "first_nudge_shifted"])
@pytest.mark.usual("contract")
def test_contracts_that_seldom_differ_are_told_apart(contract: str, seed: int) -> None:
    found = identify(Kept(contract), SPEC, "python", "smoke", seed)
    check(found, contract, {})
    assert found.same == ()


def test_all_contracts_that_are_left_are_named() -> None:
    found = identify(Kept("float64_half_even"), SPEC, "python", "smoke")
    assert found.profile is not None
    both = ("one_rounding_half_even", "float64_half_even")
    assert (found.contract.name, *found.same) == both
    assert re.match(
        rf"Not told apart by any of \d{{5,}} cases .*: {', '.join(both)}\. ", found.lines[0]
    )
    text = profile_text(found.profile, found.same)
    assert text.startswith("# Not told apart from float64_half_even.\nname = ")


CONVERTERS: dict[str, Callable[[Cases], Cases]] = {
    "any": lambda cases: {},
    "converter": lambda x: {"multiplier": np.where(x["multiplier"] < 1 << 30, 0, x["multiplier"])},
    "normal": lambda x: {"multiplier": np.maximum(x["multiplier"], 1 << 30)},
}


@pytest.mark.slow
@pytest.mark.parametrize("multipliers", CONVERTERS)
@pytest.mark.usual(names=["[any]"])
def test_relu_at_any_zero_point_and_the_range_of_multipliers_are_limits(multipliers: str) -> None:
    def reads(x: Cases) -> Cases:
        relu = np.where(x["low"] > -128, x["zero_point"], -128)
        return {**CONVERTERS[multipliers](x), "low": relu, "high": np.full_like(relu, 127)}

    found = identify(Kept("tflite", reads), SPEC, "python", "smoke")
    limits = {"multipliers": (1 << 30, (1 << 31) - 1) if multipliers == "normal" else multipliers}
    check(found, "", limits | {"clamp": "relu"})


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN_UNITS)
@pytest.mark.usual(names=["icarus-Versal"])
def test_an_open_units_contract_is_identified_in_simulators(name: str, simulator: str) -> None:
    unit, contract, limits = OPEN_UNITS[name]
    check(identify(unit, SPEC, simulator), contract, limits)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 15, 17])
@pytest.mark.usual
def test_limits_are_those_that_a_profile_can_state(seed: int) -> None:
    """Of few cases within few bits, more are wrong within the least bits that can be stated."""
    unit, contract, limits = OPEN_UNITS["CFU-Playground kws_micro_accel"]
    check(identify(unit, SPEC, "files", "smoke", seed), contract, limits)


@pytest.mark.slow
def test_what_no_contract_explains_is_not_called_by_the_nearest() -> None:
    unit = Filed("odd_at_127", PRODUCT | SIGNED | CLAMP)
    found = identify(unit, SPEC, "files", "smoke")
    assert found.profile is None
    assert found.lines[0].startswith("Unexplained: no contract gives all")
    assert found.lines[1].startswith("tflite gives ")
    assert "a zero point of 127" in found.lines[2]
    assert found.lines[-1].startswith("  theirs: ")


@pytest.mark.slow
def test_beyond_the_limits_the_smallest_case_is_shown() -> None:
    unit, *_ = OPEN_UNITS["ITA ita_requantizer"]
    lines = "\n".join(identify(unit, SPEC, "files", "smoke").lines)
    assert "Beyond these limits it was asked too, and differs:" in lines
    # Right shifts of the whole product by 36 or more give -1 in place of 0.
    shown = re.search(
        r"shift -(\d+), .*\n.*, half_up = 0\n  0, zero point (-?\d+) added, .* = \2\n"
        r"  theirs: (-?\d+), expected \2, difference -1$",
        lines,
    )
    assert shown is not None
    shift, zero_point, theirs = map(int, shown.groups())
    assert 31 + shift >= 36 and theirs == zero_point - 1


@pytest.mark.slow
def test_the_command_writes_a_profile_that_run_holds_the_unit_to(
    tmp_path: Path, call: Call
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
    status, said, error = call("conform", "identify", *words, "--out", profile)
    assert (status, error) == (0, "")
    assert said.startswith("second_half_up: The second rounding, of the right shift, adds half")
    assert 'contract = "second_half_up"' in profile.read_text()
    words = (*words, "--profile", profile, "--workers", 1)
    status, said, error = call("conform", "run", *words)
    assert (status, error) == (0, "")
    assert "contract (second_half_up), limits (shift [-31, 0]" in said
    assert "second_half_up differs from the spec in" in said
    status, _, error = call("conform", "identify", "--adapter", "golden")
    assert (status, error.count("\n")) == (2, 1)
    assert "is of no requantizer" in error


def test_a_profile_that_states_a_contract_has_none_to_be_found() -> None:
    unit, *_ = OPEN_UNITS["TinyVAD requantize"]
    with pytest.raises(InputError, match="without a contract, which is sought"):
        identify(unit, Profile(name="x", limits=SPEC.limits).replace(claims=("dot",)), "files")
