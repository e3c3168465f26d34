"""Faults of control are named by what they give, and only where they give every answer.

A register that holds one case is simulated here, cycle by cycle, with pauses of both sides: the
same as lying_stream.v, so that many seeds cost nothing.
"""

from collections.abc import Callable

import numpy as np
import pytest

from eightfold.conformance.answers import (
    MISSING,
    Simulation,
    UnitAnswers,
    join_units,
    pack_unit,
    unpack_unit,
)
from eightfold.conformance.judge.contracts import requantizer
from eightfold.conformance.judge.forms import cases_of
from eightfold.conformance.judge.sequences import (
    ALONE,
    UNPAUSED,
    Row,
    Times,
    control_sentences,
    faults_of,
)
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.registry import unit_cases
from eightfold.golden.fixed_point import Integers

TFLITE = PROFILES["tflite"]
COUNT = 600
SUBJECT = requantizer("tflite")
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))]


def simulated(seed: int, fault: str) -> tuple[np.ndarray, list[int], list[int]]:
    """Return the digits of the handshakes, of which case each answer is, and how long it waited."""
    rng = np.random.default_rng(seed)
    digits, numbers, waits = [], list[int](), list[int]()
    held: int | None = None
    offered = waited = 0
    again = False
    while len(digits) < 8 * COUNT and len(numbers) < COUNT:
        in_valid, out_ready = offered < COUNT and rng.random() < 0.8, rng.random() < 0.7
        twice = fault == "answer_doubled" and waited > 0 and not again
        in_ready = fault == "answer_lost" or held is None or (out_ready and not twice)
        digits.append(8 * (held is not None) + 4 * out_ready + 2 * in_valid + in_ready)
        push, pop = in_valid and in_ready, held is not None and out_ready
        if pop:
            assert held is not None
            stale = fault == "answer_repeated" and waited > 0 and numbers
            if len(numbers) < offered + push:  # what nobody has asked for yet does not count
                numbers.append(numbers[-1] if stale else held)
                waits.append(waited)
            again = twice
            held = held if twice else None
        waited = waited + 1 if digits[-1] & 12 == 8 else 0
        if push:
            held = None if fault == "valid_dropped" and pop else offered
            offered += 1
    return np.array(digits, np.uint8), numbers, waits


def row(seed: int, fault: str = "", again: dict[str, tuple[int, int]] | None = None) -> Row:
    """Return cases in a row, with what a unit with this fault answers."""
    drawn = unit_cases("requantizer", TFLITE, "smoke", seed)
    columns = {name: values[:COUNT].astype(np.int64) for name, values in drawn.inputs.items()}
    cases = cases_of("tflite", columns)
    expected = SUBJECT.compute(cases, ())
    digits, numbers, waits = simulated(seed, fault)
    computed = VALUES[fault](cases, np.array(waits)) if fault in VALUES else expected
    results = np.full(COUNT, MISSING)
    results[: len(numbers)] = computed[numbers]
    simulation = Simulation(COUNT, digits, again or {})
    return Row(SUBJECT, cases, expected, results, simulation, Times.of(simulation))


def parameters(place: Callable[[Integers], Integers]) -> Callable[[dict, Integers], Integers]:
    fields = ("multiplier", "shift", "zero_point", "low", "high")

    def results(cases: dict, waits: Integers) -> Integers:
        source = place(np.arange(COUNT))
        return SUBJECT.compute({**cases, **{field: cases[field][source] for field in fields}}, ())

    return results


def sticky(cases: dict, waits: Integers) -> Integers:
    expected = SUBJECT.compute(cases, ())
    first = 40 + int(np.argmax(expected[40:] == cases["high"][40:]))
    return np.where(np.arange(COUNT) > first, cases["high"], expected)


VALUES: dict[str, Callable[[dict, Integers], Integers]] = {
    "parameters_before": parameters(lambda place: np.maximum(place - 1, 0)),
    "parameters_after": parameters(lambda place: np.minimum(place + 1, COUNT - 1)),
    "channel_before": parameters(lambda place: place // 4 * 4 + (place - 1) % 4),
    "nudge_per_stall": lambda cases, waits: SUBJECT.compute({**cases, "second_nudges": waits}, ()),
    "zero_point_per_stall": lambda cases, waits: SUBJECT.compute(
        {**cases, "zero_point": cases["zero_point"] * (1 + waits)}, ()
    ),
    "sticky_flag": sticky,
}
ORDERS = ("answer_repeated", "answer_lost", "answer_doubled", "valid_dropped")


def names(found: Row) -> list[str]:
    return list(dict.fromkeys(name for name, _ in faults_of(found)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", [*ORDERS, *VALUES])
@pytest.mark.slow
def test_a_fault_of_control_is_named_and_no_other_before_it(fault: str, seed: int) -> None:
    assert names(row(seed, fault))[:1] == [fault]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_right_or_in_no_row_has_no_name(seed: int) -> None:
    assert names(row(seed)) == []
    mixed = row(seed)
    rng = np.random.default_rng(seed)
    wrong = rng.random(COUNT) < 0.1
    mixed.results[wrong] = rng.integers(-128, 128, int(wrong.sum()))
    assert names(mixed) == []


@pytest.mark.parametrize("fault", [*ORDERS, *VALUES])
@pytest.mark.slow
def test_a_fault_that_does_not_give_one_answer_has_no_name(fault: str) -> None:
    found = row(3, fault)
    known = np.flatnonzero((found.results != MISSING) & (np.arange(COUNT) > 300))
    place = known[len(known) // 2]
    found.results[place] = -found.results[place] - 1
    assert names(found) == []


def test_a_fault_of_stalls_is_none_where_it_shows_without_pauses() -> None:
    assert names(row(1, "answer_repeated", {UNPAUSED: (9, 9)})) == ["answer_repeated"]
    assert names(row(1, "answer_repeated", {UNPAUSED: (9, 8)})) == []


def test_arithmetic_that_is_right_alone_is_said_to_be() -> None:
    first, second = control_sentences({ALONE: (2, 2), UNPAUSED: (9, 4)})
    assert first == "Arithmetic right, control wrong: alone each failing case is right."
    assert second.endswith(
        "2 of 2 are right alone or behind themselves, 4 of 9 are right without pauses."
    )
    assert len(control_sentences({ALONE: (2, 1)})) == 1
    assert control_sentences({}) == []


def test_a_mistake_of_arithmetic_is_named_unless_its_cases_are_right_alone() -> None:
    cases = unit_cases("requantizer", TFLITE, "smoke", 0)
    columns = cases_of("tflite", cases.inputs)
    (mistake,) = [each for each in SUBJECT.mistakes if each.name == "second_half_up"]
    results = {"result": SUBJECT.compute(columns, (mistake,))}
    for right, expected in ((1, "second_half_up"), (2, "sticky_flag")):
        asked = (Simulation(len(cases), again={ALONE: (2, right)}),)
        finding = judge_unit(
            "requantizer", TFLITE, cases, UnitAnswers(results=results, simulations=asked)
        )
        assert finding.mistakes == (expected,)
        assert finding.diagnosis[0].startswith("Arithmetic right") is (right == 2)


def test_what_is_known_of_simulations_is_kept_with_the_answers() -> None:
    digits = np.array([8, 15, 3], np.uint8)
    one = UnitAnswers(
        results={"result": np.arange(3)}, simulations=(Simulation(3, digits, {ALONE: (2, 1)}),)
    )
    (kept,) = unpack_unit(pack_unit(one), {"result": np.arange(3)}).simulations
    assert (kept.cases, kept.again) == (3, {ALONE: (2, 1)})
    np.testing.assert_array_equal(kept.handshakes, digits)
    joined = join_units([one, UnitAnswers(results={"result": np.arange(5)})])
    assert [each.cases for each in joined.simulations] == [3, 5]
