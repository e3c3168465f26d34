"""Shares of a run: the cycles of each operator, and how long engines worked for it."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import accelerator_case, case_rng
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import estimate
from eightfold.isa import Engine, Space
from eightfold.isa.issued import Issued
from eightfold.isa.shares import Work, shares, vectors, work
from eightfold.operators import load_model
from eightfold.run.report.result import hardware_reports
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE as DIGITS
from examples.mobilenet import mobilenet_model
from examples.operators import operators_model
from tests.support.figures import expect_honest_figures
from tests.support.models.mlperf_tiny import NETWORKS, mlperf_tiny
from tests.support.networks.redundant import redundant_model
from tests.support.networks.sparse import sparse_model

MODELS = {
    "digits": DIGITS.read_bytes,
    "operators": operators_model,
    "mobilenet": lambda: mobilenet_model(0.35, 64),
    **{f"sparse {seed}": lambda seed=seed: sparse_model(seed) for seed in (2, 7)},
    **{f"redundant {seed}": lambda seed=seed: redundant_model(seed) for seed in (1, 4)},
    **{f"network {n}": lambda n=n: random_network(network_rng(n))[0] for n in range(8)},
    **{
        f"{name} {seed}": lambda name=name, seed=seed: accelerator_case(name, case_rng(name, seed))[
            0
        ]
        for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
        for seed in range(4)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "config"),
    [(n, c) for n in MODELS for c in ("nano", "base") if (n, c) != ("mobilenet", "nano")],
)
@pytest.mark.usual("name")
def test_cycles_add_up_and_no_multiplier_does_more_than_it_can(name: str, config: str) -> None:
    expect_honest_estimate(MODELS[name](), config)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usual(names=["ad01", "kws"])
def test_cycles_of_mlperf_tiny_add_up(name: str) -> None:
    expect_honest_estimate(mlperf_tiny(name).read_bytes(), "base")


def expect_honest_estimate(model: bytes, config: str) -> None:
    graph = load_model(model)
    prepared = prepare(graph, PRESETS[config], fallback=True)
    found = estimate(prepared.network.streams)
    reports = hardware_reports(graph, prepared, PRESETS[config], found.cycles, found.work)
    expect_honest_figures(reports, found.total)


def commands() -> list[Issued]:
    """Return the digits' commands of engines on `nano`."""
    (stream,) = prepare(load_model(DIGITS), PRESETS["nano"]).network.streams
    return [command for command in stream.issued if command.engine is not None]


def test_cycles_of_several_engines_count_once_and_gaps_do_not() -> None:
    issued = commands()
    operator = issued[0].operator
    mover = [n for n, each in enumerate(issued) if each.engine is Engine.MOVER][:3]
    issued = [
        Issued(instruction=each.instruction, operator=operator) if n in mover else each
        for n, each in enumerate(issued)
    ]
    spans = [(mover[0], 10, 30), (mover[1], 20, 40), (mover[2], 60, 65)]
    assert work(issued, spans) == {operator: Work(engines=35)}


def test_a_command_takes_its_vectors_even_behind_the_results_of_another_one() -> None:
    issued = commands()
    index = next(n for n, each in enumerate(issued) if each.engine is Engine.MATRIX)
    operator, count = issued[index].operator, vectors(issued[index])
    assert count > 3
    assert work(issued, [(index, 100, 103)]) == {operator: Work(count, count)}
    longer = work(issued, [(index, 100, 105 + count)])
    assert longer == {operator: Work(count + 5, count + 5)}


@pytest.mark.slow
def test_only_matrix_commands_have_vectors() -> None:
    counted = np.array([vectors(command) > 0 for command in commands()])
    matrix = np.array([command.engine is Engine.MATRIX for command in commands()])
    np.testing.assert_array_equal(counted, matrix)


MOVE = isa.Move(
    source_space=Space.FILL, target_space=Space.SCRATCHPAD, source=0, target=0, run=1, fill=0
)


def stream(*places: tuple[int, int]) -> list[Issued]:
    """Return a command for each (step, operator)."""
    return [Issued(instruction=MOVE, operator=operator, step=step) for step, operator in places]


def shared(issued: list[Issued], ends: list[int], total: int) -> dict[int, int]:
    """Return the cycles of four operators whose commands are done in these cycles."""
    order = np.argsort(ends, kind="stable").tolist()
    done = [(index, np.array([ends[index]])) for index in order]
    found = shares(issued, [0, 1, 2, 3], done, np.array([total]))
    return {operator: int(cycles[0]) for operator, cycles in found.items()}


@pytest.mark.parametrize(
    ("issued", "ends", "total", "expected"),
    [
        pytest.param([(0, 0), (1, 1), (0, 0), (2, 2), (3, 3)], [10, 15, 30, 45, 60], 70,
                     [30, 0, 15, 25], id="an operator ends with its last command"),
        pytest.param([(0, 0), (1, 1), (1, 2), (1, 1), (1, 2), (2, 3)], [10, 20, 25, 40, 44, 60], 61,
                     [10, 25, 9, 17], id="operators of a cascade share by successive commands"),
        pytest.param([(0, 0), (1, 1), (1, 3), (1, 2)], [10, 20, 25, 40], 50,
                     [10, 10, 25, 5], id="the last command of strips has what is left"),
        pytest.param([(0, 0), (1, 1), (1, 2), (2, 3)], [50, 20, 60, 70], 70,
                     [50, 0, 10, 10], id="what an earlier operator hides counts nothing"),
    ],
)  # fmt: skip
def test_cycles_are_shared(
    issued: list[tuple[int, int]], ends: list[int], total: int, expected: list[int]
) -> None:
    assert shared(stream(*issued), ends, total) == dict(enumerate(expected))
