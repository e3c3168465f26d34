"""The networks that examples write: golden equals LiteRT, the accelerator computes them whole."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from eightfold import Session
from eightfold.compiler import HARDWARE, compile_network
from eightfold.operators import load_model
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import PRESETS
from examples import mobilenet, operators
from examples.mobilenet import mobilenet_model
from examples.operators import operators_model

CONFIGS = {"verilator": "small", "icarus": "nano"}
MODELS = {
    "operators": operators_model,
    "mobilenet": partial(mobilenet_model, 0.35, 64),
    "explicit": partial(mobilenet_model, 0.35, 64, explicit=True),
}


def test_every_operator_is_there_once_and_only_the_first_reads_the_input() -> None:
    graph = load_model(operators_model())
    assert sorted(operator.name for operator in graph.operators) == sorted(HARDWARE)
    assert [o.index for o in graph.operators if set(graph.inputs) & set(o.inputs)] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_golden_equals_litert_and_results_vary(name: str) -> None:
    model = MODELS[name]()
    with Session() as session:
        result = session.run(model, all_tensors=True, seed=1, compare=True)
    assert result.mismatches == 0
    assert not result.unread
    for operator in load_model(model).operators:
        tensor = result.tensors[operator.outputs[0]]
        if tensor.dtype == np.int8 and (tensor.size >= 16 or operator.name == "FULLY_CONNECTED"):
            assert len(np.unique(tensor)) >= 4, operator


@pytest.mark.slow
@pytest.mark.parametrize("explicit", [False, True], ids=["same", "explicit"])
@pytest.mark.usual
def test_mobilenet_is_computed_whole_by_the_accelerator(explicit: bool) -> None:
    graph = load_model(mobilenet_model(0.35, 32, explicit=explicit))
    (segment,) = compile_network(graph, PRESETS["nano"]).segments
    assert segment.compiled is not None
    assert len(segment.operators) == len(graph.operators)


def test_mobilenet_has_tensors_larger_than_the_scratchpad() -> None:
    sizes = [np.prod(tensor.shape) for tensor in load_model(mobilenet_model(0.35, 160)).tensors]
    assert max(sizes) == 307_200 > PRESETS["base"].scratchpad


@pytest.mark.parametrize(
    ("command", "options", "model"),
    [
        (operators.write, "", operators_model),
        (mobilenet.write, "--size 32 --classes 7", partial(mobilenet_model, 0.35, 32, 7)),
    ],
    ids=["operators", "mobilenet"],
)
def test_the_command_writes_the_same_bytes_each_time(
    command: click.Command, options: str, model: Callable[[], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "new" / "network.tflite"
    result = CliRunner().invoke(command, [str(path), *options.split()])
    assert result.exit_code == 0
    assert result.output.strip() == str(path)
    assert path.read_bytes() == model()


@pytest.mark.slow
@pytest.mark.usual(names=["verilator"])
def test_every_operator_equals_litert_on_the_accelerator(simulator: Simulator) -> None:
    with Session(
        backend=simulator, config=CONFIGS[simulator], no_rewrite=["all"], fast=True
    ) as session:
        result = session.run(operators_model(), seed=1, compare=True)
    assert result.mismatches == 0
    assert not result.unread
    assert {operator.where for operator in result.operators} == {"hardware"}
