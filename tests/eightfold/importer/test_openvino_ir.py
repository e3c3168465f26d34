"""Networks of OpenVINO's operations with FakeQuantize, written here, as int8 files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from eightfold.cli.main import commands
from eightfold.importer import Refused, import_model, lower
from eightfold.operators import check_model, load_int8, run_graph

openvino = pytest.importorskip("openvino")
ops: Any = pytest.importorskip("openvino.opset13")

Build = Callable[[Any], Any]


def constant(values: Any) -> Any:
    return ops.constant(np.asarray(values, np.float32))


def fake(value: Any, low: Any = -1.28, high: Any = 1.27, levels: int = 256) -> Any:
    limits = [constant(low), constant(high)] * 2
    return ops.fake_quantize(value, *limits, levels)


def weights(rng: np.random.Generator, *shape: int) -> tuple[Any, NDArray[np.float32]]:
    """Return int8 weights behind Convert and Multiply, a scale for each of the first axis."""
    codes = rng.integers(-127, 128, shape).astype(np.int8)
    scale = rng.uniform(0.001, 0.01, (shape[0], *[1] * (len(shape) - 1))).astype(np.float32)
    real = ops.multiply(ops.convert(ops.constant(codes), "f32"), ops.constant(scale))
    return real, codes * scale


def saved(folder: Path, shape: tuple[int, ...], build: Build) -> Path:
    x = ops.parameter(shape, np.float32, name="x")
    model = openvino.Model([build(fake(x))], [x], "network")
    openvino.save_model(model, folder / "network.xml", compress_to_fp16=False)
    return folder / "network.xml"


def convolution(rng: np.random.Generator) -> Build:
    def build(x: Any) -> Any:
        filters, _ = weights(rng, 5, 3, 3, 3)
        y = ops.convolution(x, filters, [2, 2], [0, 0], [1, 1], [1, 1])
        return fake(ops.relu(ops.add(y, constant(rng.normal(size=(1, 5, 1, 1))))), 0, 5.1)

    return build


def test_a_convolution_is_that_of_openvino(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = saved(tmp_path, (1, 3, 8, 10), convolution(rng))
    output = tmp_path / "network.tflite"
    result = CliRunner().invoke(commands, ["import", str(path), "-o", str(output)])
    assert result.exit_code == 0, result.output
    graph = load_int8(output)
    assert [operator.name for operator in graph.operators] == ["CONV_2D"]
    assert not [each for each in check_model(graph) if each.severity == "violation"]
    x = rng.integers(-128, 128, (1, 8, 10, 3)).astype(np.int8)
    got = run_graph(graph, {graph.inputs[0]: x})[graph.outputs[0]]
    imported = import_model(path)
    real = (x * np.float32(0.01)).transpose(0, 3, 1, 2)
    (name,) = imported.network.outputs
    wanted = imported.network.evaluate({"x": real}, [name])[name].transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(got, np.rint(wanted / 0.02 - 128))
    found = imported.compared(count=20)
    assert found.explained
    assert [(each.operator, each.own_bound) for each in found.tensors] == [
        ("input", 1),
        ("CONV_2D", 1),
    ]


def test_a_wrong_bias_has_no_explanation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, (1, 3, 8, 10), convolution(np.random.default_rng(1)))
    right = lower.bias_codes
    monkeypatch.setattr(lower, "bias_codes", lambda *given: right(*given) + 200)
    output = tmp_path / "network.tflite"
    report = tmp_path / "report.json"
    arguments = ["import", str(path), "-o", str(output), "--json", str(report)]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 1
    assert "not explained: Relu" in result.output
    (_, wrong) = json.loads(report.read_text())["tensors"]
    assert wrong["causes"]["unexplained"] > 0
    assert not wrong["explained"]


def test_all_layers_without_int8_form_are_named(tmp_path: Path) -> None:
    def build(x: Any) -> Any:
        y = fake(ops.relu(x), 1.0, 2.0)
        y = ops.convolution(y, constant(np.ones((2, 3, 1, 1))), [1, 1], [0, 0], [0, 0], [1, 1])
        y = fake(y, np.zeros((1, 2, 1, 1)), np.array([1, 2]).reshape(1, 2, 1, 1))
        return ops.erf(fake(y, -1.6, 1.5, levels=16))

    path = saved(tmp_path, (1, 3, 4, 4), build)
    with pytest.raises(Refused) as refused:
        import_model(path)
    faults = "\n".join(refused.value.faults)
    for words in (
        "a range does not contain 0",
        "are not quantized to int8",
        "an activation has one range, not 2",
        "256 levels, not 16",
        "(Erf): this type of layer is none of",
    ):
        assert words in faults
    result = CliRunner().invoke(commands, ["import", str(path), "-o", str(tmp_path / "a.tflite")])
    assert result.exit_code == 2
    assert len(result.output.splitlines()) == len(refused.value.faults) == 5
