"""MobileNetV2 of any size: golden equals LiteRT, and the accelerator computes all of it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold import Session
from eightfold.compiler import compile_network
from eightfold.operators import load_model
from eightfold.target.config import PRESETS
from examples.mobilenet import mobilenet_model, write

FORMS = pytest.mark.parametrize("explicit", [False, True], ids=["same", "explicit"])


@FORMS
def test_golden_equals_litert(explicit: bool) -> None:
    model = mobilenet_model(0.35, 64, explicit=explicit)
    with Session() as session:
        result = session.run(model, seed=1, compare=True)
    assert result.mismatches == 0
    assert not result.unread


@FORMS
def test_results_vary(explicit: bool) -> None:
    model = mobilenet_model(0.35, 64, explicit=explicit)
    with Session() as session:
        tensors = session.run(model, all_tensors=True, seed=1).tensors
    for operator in load_model(model).operators[:-1]:
        result = tensors[operator.outputs[0]]
        assert len(np.unique(result)) >= 4, operator


def test_has_tensors_larger_than_the_scratchpad() -> None:
    sizes = [np.prod(tensor.shape) for tensor in load_model(mobilenet_model(0.35, 160)).tensors]
    assert max(sizes) == 307_200 > PRESETS["base"].scratchpad


@FORMS
def test_compiles(explicit: bool) -> None:
    graph = load_model(mobilenet_model(0.35, 64, explicit=explicit))
    (segment,) = compile_network(graph, PRESETS["nano"]).segments
    assert segment.compiled is not None
    assert len(segment.operators) == len(graph.operators)


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mobilenet.tflite"
    options = ["--size", "32", "--classes", "7"]
    result = CliRunner().invoke(write, [str(path), *options])
    assert result.exit_code == 0
    assert result.output.strip() == str(path)
    assert path.read_bytes() == mobilenet_model(0.35, 32, 7)
