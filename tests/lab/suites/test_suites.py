"""A suite finds what is wrong, names the case that is, and gives the same whenever it runs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from eightfold.campaign.records import Case, Unit
from eightfold.campaign.suite import suites
from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import HardwareError
from eightfold.isa import ErrorCode
from eightfold.operators import run_graph
from eightfold.run.simulate import NetworkRun
from eightfold.sim.simulator.system import Run, RunResult
from lab.suites import common, faults, networks, operators
from lab.suites.common import first_difference
from tests.support.campaign.units import evidence_of, units_of

Change = Callable[[int, dict[int, np.ndarray]], None]


def only(suite: str, backend: str, operator: str = "", count: int = 4) -> Unit:
    """Return a unit of a suite."""
    named = {"operators": operator} if operator else {}
    return units_of(suite, backend=backend, cases=count, **named)[0]


def pretend(monkeypatch: pytest.MonkeyPatch, change: Change) -> list[int]:
    """Let golden take the accelerator's place, and change what it gives; return sizes of runs."""
    sizes = []

    def simulated(graph, network, batch, **options) -> list[NetworkRun]:
        sizes.append(len(graph.operators))
        tensors = dict(run_graph(graph, batch[0]))
        change(len(graph.operators), tensors)
        return [NetworkRun(tensors=tensors)]

    monkeypatch.setattr(operators, "simulate_network", simulated)
    return sizes


def test_a_wrong_kernel_is_told_with_its_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs = random_case("ADD", case_rng("ADD", 7))

    def wrong(graph, *arguments) -> dict[int, np.ndarray]:
        values = run_graph(graph, *arguments)
        values[2] = values[2].copy()
        values[2].flat[-1] ^= 1
        return values

    monkeypatch.setattr(common, "run_graph", wrong)
    case = common.golden_case(only("operators", "golden", "ADD"), 7, model, inputs)
    assert case.verdict == "failed"
    assert case.message.startswith("operator 0 ADD, tensor 2 ")
    assert ": golden " in case.message
    assert ", LiteRT " in case.message
    evidence = evidence_of(case)
    assert evidence.model == model
    assert evidence.inputs.keys() == inputs.keys()
    (got,), (expected,) = evidence.got.values(), evidence.expected.values()
    assert np.count_nonzero(got != expected) == 1
    steps = evidence.log.splitlines()
    assert steps[0] == case.message
    assert "clamp(" in steps[-1]
    assert steps[-1].endswith(f"= {expected.flat[-1]}")


def test_the_model_that_is_wrong_is_told_among_those_of_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(count: int, tensors: dict[int, np.ndarray]) -> None:
        if count == 4:
            last = tensors[max(tensors)]
            last.flat[0] = ~last.flat[0]

    sizes = pretend(monkeypatch, change)
    cases = suites()["operators"].run(only("operators", "verilator", "ADD"), None).cases
    assert [case.verdict for case in cases] == ["passed"] * 3 + ["failed"]
    assert sizes == [4]
    # As if it had run alone: tensors have the numbers of its own model.
    assert cases[3].message.startswith("operator 0 ADD, tensor 2 ")
    assert list(evidence_of(cases[3]).got) == [2]


def test_where_a_stream_fails_each_model_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def change(count: int, tensors: dict[int, np.ndarray]) -> None:
        runs.append(count)
        if count > 1 or len(runs) == 3:  # the second of those alone
            raise HardwareError("it hung \udc80")

    pretend(monkeypatch, change)
    unit = only("operators", "verilator", "ADD")
    cases = suites()["operators"].run(unit, None).cases
    assert runs == [4, 1, 1, 1, 1]
    assert [case.verdict for case in cases] == ["passed", "error", "passed", "passed"]
    assert cases[1].message == r"HardwareError: it hung \udc80"


@pytest.mark.slow
def test_a_network_that_is_wrong_is_told_among_those_of_a_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def together(drawn, simulator, **options) -> list[list[dict[int, np.ndarray]]]:
        found = [[dict(run_graph(each.graph, given)) for given in each.batch] for each in drawn]
        second = found[2][1]
        output = drawn[2].graph.operators[-1].outputs[0]
        second[output] = ~second[output]
        return found

    monkeypatch.setattr(networks, "simulate_together", together)
    cases = suites()["networks"].run(only("networks", "verilator"), None).cases
    assert [case.verdict for case in cases] == ["passed", "passed", "failed", "passed"]


def test_what_cannot_be_compared_is_refused_with_the_reason() -> None:
    on_rtl = only("operators", "verilator", "QUANTIZE", 40)
    _, cases = operators.parts(on_rtl)
    assert cases
    assert {case.verdict for case in cases} == {"refused"}
    assert all("float32" in case.message for case in cases)
    _, cases = operators.parts(replace(on_rtl, operator="ADD", backend="icarus"))
    assert all("take Icarus too long" in case.message for case in cases)


@pytest.mark.parametrize("suite", ["operators", "networks"])
def test_a_unit_gives_the_same_whenever_it_runs(suite: str) -> None:
    unit = only(suite, "golden", "SOFTMAX" if suite == "operators" else "")
    first, second = (suites()[suite].run(unit, None) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_units_have_every_case_once_and_names_of_their_own() -> None:
    units = [
        unit
        for suite in suites().values()
        if suite.plan
        for backend in suite.backends
        for unit in units_of(suite.name, backend=backend, cases=430)
    ]
    names = [unit.name for unit in units]
    assert len(set(names)) == len(names)
    cases = [unit.case_name(seed) for unit in units for seed in unit.seeds]
    assert len(set(cases)) == len(cases)
    assert all(unit == Unit.from_record(unit.as_record()) for unit in units)
    golden = [u for u in units if u.suite == "operators" and u.backend == "golden"]
    assert sum(u.count for u in golden if u.operator == "ADD") == 430


def test_differences_are_of_elements_shapes_and_types() -> None:
    one = np.array([[1, 2], [3, 4]], np.int8)
    other = np.array([[1, 2], [0, 0]], np.int8)
    assert first_difference(one, one) is None
    assert first_difference(one, other) == (1, 0)
    nothing = np.array([np.nan, 1.0], np.float32)
    assert first_difference(nothing, nothing) is None
    assert first_difference(nothing, np.array([np.nan, 2.0], np.float32)) == (1,)
    for changed in (one.astype(np.int16), one.reshape(4)):
        with pytest.raises(ValueError, match="in place of"):
            first_difference(changed, one)


def ended(error: ErrorCode, done: bool | None = None) -> RunResult:
    """Return the result of a run that ended with an error, or without one."""
    return RunResult(
        arena=np.zeros(0, np.uint8),
        done=error == ErrorCode.NONE if done is None else done,
        error=error,
        engine=0,
        index=0,
        counters={},
        events=np.zeros((0, 2), np.int64),
    )


@pytest.mark.parametrize(
    ("fault", "error", "right"),
    [
        (Run(read_error=("commands", 8, 16)), ErrorCode.AXI_READ, True),
        (Run(read_error=("commands", 8, 16)), ErrorCode.NONE, False),
        (Run(read_error=("model", 8, 16)), ErrorCode.NONE, True),
        (Run(read_error=("model", 8, 16)), ErrorCode.AXI_WRITE, False),
        (Run(read_error=("arena", 0, 8), write_error=("arena", 0, 8)), ErrorCode.AXI_WRITE, True),
        (Run(registers={"COMMAND_LENGTH": 8}), ErrorCode.ILLEGAL_COMMAND, True),
        (Run(registers={"COMMAND_LENGTH": 8}), ErrorCode.NONE, False),
        (Run(reset_after=5), ErrorCode.NONE, True),
    ],
)
def test_an_end_that_does_not_suit_the_fault_is_wrong(
    fault: Run, error: ErrorCode, right: bool
) -> None:
    assert (faults.wrong_end(fault, ended(error)) == "") == right
    if fault.reset_after is None:
        assert faults.wrong_end(fault, ended(error, error != ErrorCode.NONE))


def test_a_good_run_that_is_wrong_behind_a_fault_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def system(config, simulator, *, runs, **options) -> list[RunResult]:
        return [end_of(number, run) for number, run in enumerate(runs)]

    def end_of(number: int, run: Run) -> RunResult:
        if number == 3:  # behind the second fault
            return ended(ErrorCode.AXI_READ)
        if run.registers:
            return ended(ErrorCode.ILLEGAL_COMMAND)
        of_commands = run.read_error and run.read_error[0] == "commands"
        return ended(ErrorCode.AXI_READ if of_commands else ErrorCode.NONE)

    monkeypatch.setattr(faults, "run_system", system)
    monkeypatch.setattr(common, "against_golden", lambda *_: None)
    monkeypatch.setattr(RunResult, "tensor", lambda *_: np.zeros(1, np.int8))
    unit = replace(only("networks", "verilator"), suite="faults", count=1)
    (case,) = suites()["faults"].run(unit, None).cases
    assert isinstance(case, Case)
    assert case.verdict == "failed"
    assert case.message.startswith("fault 1 of 12, ")
    assert case.message.endswith("the good run after it ended with AXI_READ")
