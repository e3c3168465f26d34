"""The suite of networks: odd ones among them, and findings that are made small."""

from dataclasses import replace

import numpy as np
import pytest

from eightfold.campaign.records import Case, Unit
from eightfold.campaign.suite import suites
from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE
from eightfold.operators import load_model, run_graph
from lab.suites import common, networks
from lab.suites.common import ODD_CONFIGS, random_config
from lab.suites.networks import smaller_network
from lab.suites.shrink import Budget
from tests.support.campaign.units import evidence_of, expect_passed, units_of

WRONG = "MAXIMUM"


def unit(backend: str, first: int = 0, count: int = 1) -> Unit:
    (only,) = units_of("networks", backend=backend)
    return replace(only, first=first, count=count)


def seed_with(name: str, **options) -> int:
    """Return the first seed of a network of ten operators or more, one of that name."""
    for seed in range(0, 1000, networks.ODD_EVERY):
        graph = load_model(random_network(network_rng(seed), **options)[0])
        names = [operator.name for operator in graph.operators]
        if len(names) >= 10 and names.count(name) == 1 and names[0] != name:
            return seed
    raise AssertionError


def wrong_at(graph, *arguments) -> dict[int, np.ndarray]:
    """Compute as golden does, but for the last code of one kind of operators."""
    values = run_graph(graph, *arguments)
    for operator in graph.operators:
        if operator.name == WRONG:
            (output,) = operator.outputs
            values[output] = values[output].copy()
            values[output].flat[-1] ^= 1
    return values


def check_small(case: Case, drawn: tuple[bytes, dict[int, np.ndarray]]) -> None:
    whole, given = drawn
    assert case.verdict == "failed"
    evidence = evidence_of(case)
    assert evidence.model is not None
    small, graph = load_model(evidence.model), load_model(whole)
    assert [operator.name for operator in small.operators] == [WRONG]
    assert evidence.files == {"whole.tflite": whole}
    assert set(evidence.inputs) == set(small.inputs)
    values = given | run_graph(graph, given)
    for index, array in evidence.inputs.items():
        np.testing.assert_array_equal(array, values[index])
    assert list(evidence.got) == list(small.operators[0].outputs)
    first, _, message = evidence.log.splitlines()[:3]
    assert first.startswith(f"shrunk to 1 of {len(graph.operators)} operators, which fail in the ")
    assert message.startswith(f"operator 0 {WRONG}, tensor {small.operators[0].outputs[0]} ")
    # What it was as a whole is what the report and the database say.
    (place,) = (o.index for o in graph.operators if o.name == WRONG)
    assert case.message.startswith(f"operator {place} {WRONG}, tensor ")


def test_a_network_that_is_wrong_in_golden_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "run_graph", wrong_at)
    seed = seed_with(WRONG)
    only = unit("golden", seed)
    first, second = (suites()["networks"].run(only, None).cases[0] for _ in range(2))
    check_small(first, random_network(network_rng(seed)))
    assert first.message == second.message
    one, other = evidence_of(first), evidence_of(second)
    assert (one.model, one.log) == (other.model, other.log)


def test_a_network_that_is_wrong_on_rtl_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def together(drawn, simulator, **options) -> list[list[dict[int, np.ndarray]]]:
        return [[wrong_at(each.graph, given) for given in each.batch] for each in drawn]

    monkeypatch.setattr(networks, "simulate_together", together)
    options = {"operators": HARDWARE, "lengths": (3, 12)}
    seed = seed_with(WRONG, **options)
    (case,) = suites()["networks"].run(unit("verilator", seed), None).cases
    check_small(case, random_network(network_rng(seed), **options))


def test_what_two_operators_need_is_shrunk_to_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, whose values for parts golden cannot give."""
    seed = seed_with(WRONG)
    graph = load_model(random_network(network_rng(seed))[0])
    needed = {graph.operators[1].name, WRONG}

    def raises(graph, *arguments) -> dict[int, np.ndarray]:
        if needed <= {operator.name for operator in graph.operators}:
            raise ValueError(f"no room for {len(graph.operators)} operators")
        return run_graph(graph, *arguments)

    for module in (common, networks):
        monkeypatch.setattr(module, "run_graph", raises)
    (case,) = suites()["networks"].run(unit("golden", seed), None).cases
    said = f"ValueError: no room for {len(graph.operators)} operators"
    assert (case.verdict, case.message) == ("error", said)
    model = evidence_of(case).model
    assert model is not None
    small = load_model(model)
    assert len(small.operators) == 2
    assert {operator.name for operator in small.operators} == needed


def test_another_failure_of_fewer_operators_is_not_the_finding() -> None:
    model, inputs = random_network(network_rng(0))
    message = "operator 3 ADD, tensor 7: 1 of 4 differ"
    whole = Case(seed=0, verdict="failed", message=message)
    for other in (
        Case(seed=0, verdict="failed", message="operator 3 SUB, tensor 7: 1 of 4 differ"),
        Case(seed=0, verdict="error", message=message),
        Case(seed=0, verdict="refused", message=message),
    ):

        def judge(part: bytes, given, other: Case = other) -> Case:
            return other

        assert smaller_network(whole, model, inputs, judge, Budget()) is whole
    fewer = replace(whole, message="operator 0 ADD, tensor 7: 2 of 9 differ")
    found = smaller_network(whole, model, inputs, lambda part, given: fewer, Budget())
    assert found.message == message
    assert fewer.message in evidence_of(found).log


def test_without_a_budget_the_network_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "run_graph", wrong_at)
    seed = seed_with(WRONG)
    case = networks.in_golden(unit("golden"), seed, Budget(trials=0))
    assert case.verdict == "failed"
    assert evidence_of(case).model == random_network(network_rng(seed))[0]
    assert not evidence_of(case).files


def test_one_of_four_is_odd_and_runs_as_commands_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def differs(graph, values, seed, reference) -> None:
        seen.append(seed)

    monkeypatch.setattr(networks, "differs_on_machine", differs)
    expect_passed(unit("golden", count=8))
    assert seen == [3, 7]


def test_commands_that_are_wrong_in_an_odd_configuration_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(compiled, graph, inputs, seed) -> dict[int, np.ndarray]:
        tensors = {index: inputs[index].copy() for index in compiled.outputs}
        for tensor in tensors.values():
            tensor.flat[0] ^= 1
        return tensors

    monkeypatch.setattr(networks, "run_compiled", wrong)
    (case,) = suites()["networks"].run(unit("golden", 7), None).cases
    assert case.verdict == "failed"
    assert ": commands for " in case.message
    evidence = evidence_of(case)
    assert "AcceleratorConfig(lanes=" in evidence.log
    assert evidence.model is not None
    names = [operator.name for operator in load_model(evidence.model).operators]
    assert len(names) == 1 or names == ["READ_VARIABLE", "ASSIGN_VARIABLE"]


def test_odd_configurations_are_legal_and_of_all_kinds() -> None:
    drawn = [random_config(np.random.default_rng([0x0DD, seed])) for seed in range(200)]
    assert {config.port for config in drawn} == {4, 8, 16, 32, 64}
    assert any(config.lanes % 2 and config.lanes > 1 for config in drawn)
    assert any(config.port < min(config.lanes, config.width) for config in drawn)
    assert any(config.port > max(config.lanes, config.width) for config in drawn)
    assert {config.vector_lanes for config in drawn} >= {1, 2, 4, 8, 16, 32, 64}


def test_odd_configurations_come_by_turns_and_a_seed_tells_which() -> None:
    asked = {"backend": "verilator", "config": "odd"}
    units = units_of("networks", **asked, cases=45, seed=17)
    assert [seed for unit in units for seed in unit.seeds] == list(range(17, 62))
    assert {unit.config for unit in units} == set(ODD_CONFIGS)
    for each in units:
        assert each.configuration() == ODD_CONFIGS[each.config]
        for seed in each.seeds:
            (alone,) = units_of("networks", **asked, seed=seed)
            assert alone.config == each.config


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 100])
def test_micro_is_not_asked_for_what_it_lacks(first: int) -> None:
    only = replace(unit("golden", first, count=8), reference="tflm")
    cases = suites()["networks"].run(only, None).cases
    assert {case.verdict for case in cases} <= {"passed", "refused"}, cases
    assert sum(case.verdict == "passed" for case in cases) >= 4
