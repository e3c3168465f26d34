"""The network with every operator runs whole on the accelerator, and equals LiteRT."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold import Session
from eightfold.compiler import HARDWARE
from eightfold.operators import load_model
from eightfold.sim.simulator.toolchain import Simulator
from examples.operators import operators_model, write

CONFIGS = {"verilator": "small", "icarus": "nano"}


def test_has_every_operator_of_the_accelerator_once() -> None:
    names = [operator.name for operator in load_model(operators_model()).operators]
    assert sorted(names) == sorted(HARDWARE)


def test_only_the_first_operator_reads_the_input() -> None:
    graph = load_model(operators_model())
    given = set(graph.inputs)
    assert [o.index for o in graph.operators if given & set(o.inputs)] == [0]


def test_gives_the_same_bytes() -> None:
    assert operators_model() == operators_model()


def test_results_vary() -> None:
    tensors = Session().run(operators_model(), all_tensors=True).tensors
    graph = load_model(operators_model())
    for operator in graph.operators:
        result = tensors[operator.outputs[0]]
        if result.dtype == np.int8 and result.size >= 16:
            assert len(np.unique(result)) >= 4, operator


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "operators.tflite"
    result = CliRunner().invoke(write, [str(path)])
    assert result.exit_code == 0
    assert result.output.strip() == str(path)
    assert path.read_bytes() == operators_model()


@pytest.mark.slow
def test_equals_litert_on_the_accelerator(simulator: Simulator) -> None:
    with Session(
        backend=simulator, config=CONFIGS[simulator], no_rewrite=["all"], fast=True
    ) as session:
        result = session.run(operators_model(), seed=1, compare=True)
    assert result.mismatches == 0
    assert not result.unread
    assert {operator.where for operator in result.operators} == {"hardware"}
