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
from eightfold.common.errors import InputError
from eightfold.importer import Refused, import_model, lower
from eightfold.operators import check_model, load_int8, run_graph, run_operator

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


def saved(folder: Path, shape: tuple[int, ...], build: Build, before: Build = fake) -> Path:
    x = ops.parameter(shape, np.float32, name="x")
    model = openvino.Model([build(before(x))], [x], "network")
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
    bounds = [(each.operator, each.own_bound) for each in found.tensors]
    assert bounds == [("input", 1), ("CONV_2D", 1)]


def pool(kind: str, kernel: int, stride: int, begin: int, end: int, **options: Any) -> Build:
    def build(x: Any) -> Any:
        sizes = [[stride] * 2, [begin] * 2, [end] * 2, [kernel] * 2]
        if kind == "max":
            strides, *pads, window = sizes
            return fake(ops.max_pool(x, strides, [1, 1], *pads, window, **options).output(0))
        return fake(ops.avg_pool(x, *sizes, **options))

    return build


def dense(axis: int, count: int, before: Build) -> Build:
    """A product with weights that have a scale for each slice of an axis."""

    def build(x: Any) -> Any:
        codes = np.random.default_rng(count).integers(-127, 128, (count, 5)).astype(np.int8)
        scale = np.linspace(0.001, 0.003, codes.shape[axis]).astype(np.float32)
        scale = scale.reshape([-1, 1] if axis == 0 else [1, -1])
        real = ops.multiply(ops.convert(ops.constant(codes), "f32"), ops.constant(scale))
        return fake(ops.matmul(before(x), real, False, False), -2.56, 2.54)

    return build


def integers(*numbers: int) -> Any:
    return ops.constant(np.array(numbers, np.int64))


def flattened(x: Any) -> Any:
    return ops.reshape(x, integers(1, -1), False)


def other(x: Any) -> Any:
    """The same value with another range."""
    return fake(x, -0.64, 0.635)


LAYERS: dict[str, tuple[Build, str]] = {
    "max pool": (pool("max", 2, 2, 0, 0), "MAX_POOL_2D"),
    "max pool, same": (pool("max", 3, 2, 0, 1), "MAX_POOL_2D"),
    "max pool, padded": (pool("max", 3, 2, 1, 1), "PADV2 MAX_POOL_2D"),
    "max pool, rounded up": (pool("max", 3, 3, 0, 0, rounding_type="ceil"), "MAX_POOL_2D"),
    "average": (pool("average", 2, 2, 0, 0, exclude_pad=True), "AVERAGE_POOL_2D"),
    "average, same": (pool("average", 3, 1, 1, 1, exclude_pad=True), "AVERAGE_POOL_2D"),
    "average, counted": (pool("average", 3, 1, 1, 1, exclude_pad=False), "PAD AVERAGE_POOL_2D"),
    "average, whole": (pool("average", 8, 1, 0, 0, exclude_pad=True), "MEAN"),
    "mean, kept": (lambda x: fake(ops.reduce_mean(x, integers(2, 3), True)), "MEAN"),
    "mean of channels": (lambda x: fake(ops.reduce_mean(x, integers(1), False)), "MEAN"),
    "several ranges": (
        lambda x: fake(ops.concat([other(ops.relu(x)), x], 1)),
        "RELU QUANTIZE CONCATENATION",
    ),
    "two ranges": (lambda x: ops.add(fake(ops.relu(x), 0, 1), other(ops.relu(x))), ""),
    "a constant": (lambda x: fake(ops.multiply(x, constant(-0.75))), "MUL"),
    "a difference": (lambda x: fake(ops.subtract(ops.relu(x), x)), "RELU SUB"),
    "clamp": (lambda x: fake(ops.clamp(x, 0.0, 6.0)), "RELU"),
    "clamp where the range ends": (lambda x: fake(ops.relu(x), 0.0, 1.275), "QUANTIZE"),
    "clamp to ones": (lambda x: fake(ops.clamp(x, -1.0, 1.0)), "RELU_N1_TO_1"),
    "tanh": (lambda x: ops.tanh(x), "TANH"),
    "softmax": (lambda x: ops.softmax(x, 1), "SOFTMAX"),
    "transposed": (lambda x: ops.transpose(x, integers(0, 2, 3, 1)), "TRANSPOSE"),
    "to NHWC and back": (
        lambda x: ops.transpose(ops.transpose(x, integers(0, 2, 3, 1)), integers(0, 3, 1, 2)),
        "TRANSPOSE TRANSPOSE",
    ),
    "padded": (
        lambda x: ops.pad(x, integers(0, 0, 1, 2), integers(0, 1, 0, 0), "constant", constant(0.5)),
        "PADV2",
    ),
    "reshaped": (lambda x: ops.reshape(x, integers(1, 6, 4, 8), False), ""),
    "flattened, an output": (flattened, "TRANSPOSE RESHAPE"),
    "flattened, dense": (dense(1, 192, flattened), "RESHAPE RESHAPE CONV_2D RESHAPE"),
    "flattened, another range": (
        dense(1, 192, lambda x: other(flattened(x))),
        "TRANSPOSE RESHAPE QUANTIZE RESHAPE CONV_2D RESHAPE",
    ),
}
"""Layers, and the operators that they become; "" where only the numbers matter."""


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_explained(name: str, tmp_path: Path) -> None:
    build, operators = LAYERS[name]
    imported = import_model(saved(tmp_path, (1, 3, 8, 8), build))
    graph = load_int8(imported.model)
    assert not [each for each in check_model(graph) if each.severity == "violation"]
    if operators:
        assert " ".join(operator.name for operator in graph.operators) == operators
    found = imported.compared(count=5)
    assert found.explained, found.verdict()
    for tensor in found.tensors:
        between = tensor.causes["an operand between codes"] + tensor.causes["a merged range"]
        assert tensor.own_largest <= 1 or between


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x: ops.relu(ops.clamp(x, -0.5, 0.25)), "TFLite has no clamp to -0.5..0.25"),
        (lambda x: ops.softmax(x, 2), "along another axis"),
        (pool("average", 3, 2, 1, 1, exclude_pad=True), "is not TFLite's SAME"),
        (dense(0, 8, lambda x: ops.reduce_mean(x, integers(1, 2), False)), "several scales"),
        (lambda x: ops.reduce_mean(x, integers(2), False), "leaves an image's channels"),
        (lambda x: ops.add(x, constant(np.arange(3).reshape(3, 1, 1))), "one scale"),
        (lambda x: ops.pad(x, integers(0, 0, 1, 1), integers(0, 0, 1, 1), "edge"), "mirrors"),
        (lambda x: ops.matmul(x, x, False, True), "its weights are computed"),
        (lambda x: ops.fake_quantize(x, x, x, x, x, 256), "its ranges are computed"),
    ],
)
def test_a_layer_is_refused(build: Build, words: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=words):
        import_model(saved(tmp_path, (1, 3, 8, 8), build))


def test_what_reads_a_second_result_is_refused_with_the_others(tmp_path: Path) -> None:
    def build(x: Any) -> Any:
        halves = ops.split(ops.concat([x, x], 1), ops.constant(np.int64(1)), 2)
        return fake(ops.add(halves.output(0), halves.output(1)))

    with pytest.raises(Refused) as refused:
        import_model(saved(tmp_path, (1, 3, 4, 4), build))
    assert [fault.reason[:12] for fault in refused.value.faults] == ["this type of", "it reads Spl"]


@pytest.mark.parametrize(
    ("name", "arrays", "words"),
    [
        ("network.tflite", {}, "import takes .xml, .onnx files"),
        ("absent.xml", {}, "no such file"),
        ("damaged.xml", {}, "OpenVINO cannot read it"),
        ("damaged.onnx", {}, "onnx cannot read it"),
        ("network.xml", {"y": np.zeros((2, 3, 4, 4))}, "samples need arrays"),
        ("network.xml", {"x": np.zeros((2, 1, 4, 4, 3))}, "'x': (1, 3, 4, 4)"),
    ],
)
def test_bad_input_is_one_line(name: str, arrays: Any, words: str, tmp_path: Path) -> None:
    if name.endswith("onnx"):
        pytest.importorskip("onnx")
    saved(tmp_path, (1, 3, 4, 4), ops.relu)
    for damaged in ("damaged.xml", "damaged.onnx", "network.tflite"):
        (tmp_path / damaged).write_bytes(b"nothing of the kind")
    np.savez(tmp_path / "samples.npz", **arrays)
    arguments = ["import", str(tmp_path / name), "-o", str(tmp_path / "a.tflite")]
    result = CliRunner().invoke(
        commands, [*arguments, "--samples", str(tmp_path / "samples.npz")][: 6 if arrays else 4]
    )
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)
    assert "\n" not in str(result.exception)


def test_run_and_check_import_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, (1, 3, 8, 10), convolution(np.random.default_rng(2))).name
    monkeypatch.chdir(tmp_path)
    for command in (["run", "--json", "-"], ["check", "--config", "nano"], ["run"]):
        result = CliRunner().invoke(commands, [*command, path])
        assert result.exit_code == 0, result.output
        assert "imported: " in result.output
        assert path in result.output


def test_weights_with_levels_and_a_range_of_their_own(tmp_path: Path) -> None:
    """15 levels, and another range for what they stand for: codes from -7 to 7, a scale of it."""

    def build(x: Any) -> Any:
        real = np.random.default_rng(3).uniform(-0.8, 0.8, (4, 3, 1, 1))
        high = np.linspace(0.35, 0.7, 4).reshape(4, 1, 1, 1)
        limits = [constant(limit) for limit in (-high, high, -2 * high, 2 * high)]
        filters = ops.fake_quantize(constant(real), *limits, 15)
        return fake(ops.convolution(x, filters, [1, 1], [0, 0], [0, 0], [1, 1]), -2.56, 2.54)

    imported = import_model(saved(tmp_path, (1, 3, 4, 4), build))
    weights = next(t for t in load_int8(imported.model).tensors if t.name.endswith("weights"))
    assert weights.data is not None
    assert weights.quantization is not None
    assert (weights.data.min(), weights.data.max()) == (-7, 7)
    np.testing.assert_allclose(weights.quantization.scale, np.linspace(0.1, 0.2, 4), rtol=1e-6)
    assert imported.compared().explained


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
    faults = "\n".join(map(str, refused.value.faults))
    for words in (
        "a range does not contain 0",
        "are not quantized to int8",
        "an activation has one range, not 2",
        "256 levels, not 16",
        "(Erf): this type of layer is none of",
    ):
        assert words in faults
    report = tmp_path / "report.json"
    arguments = ["import", str(path), "-o", str(tmp_path / "a.tflite"), "--json", str(report)]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 2
    *lines, advice = result.output.splitlines()
    assert lines == [f"eightfold: {path}: {fault}" for fault in refused.value.faults]
    assert len(lines) == 5 and not (tmp_path / "a.tflite").exists()
    # The convolution has float weights, what it computes ranges by channel: that may be a table.
    assert len(advice.partition("keeps as tables of codes: ")[2].split(", ")) == 4
    assert json.loads(report.read_text()) == {
        "model": None,
        "refused": [fault._asdict() for fault in refused.value.faults],
    }
    for command in ("run", "check"):
        result = CliRunner().invoke(commands, [command, str(path)])
        assert isinstance(result.exception, Refused)
        assert all(str(fault) in str(result.exception) for fault in result.exception.faults)
        assert len(result.exception.faults) == (5 if command == "run" else 1)


def channels(*values: float) -> NDArray[np.float64]:
    return np.array(values).reshape(1, -1, 1, 1)


TABLES: dict[str, tuple[Build, str]] = {
    "erf": (lambda x: fake(ops.erf(x)), "Erf"),
    "hswish": (ops.hswish, "HSwish"),
    "clamp": (lambda x: ops.clamp(x, -0.5, 0.25), "clamp"),
    "constants": (lambda x: ops.relu(ops.add(x, constant(channels(-1, 0, 0.3)))), "add"),
    "of a matrix": (lambda x: ops.abs(flattened(x)), "Abs"),
    "16 levels": (lambda x: fake(x, -1.6, 1.4, levels=16), "FakeQuantize"),
    "without 0": (lambda x: fake(x, 0.5, 1.0), "FakeQuantize"),
    "another output": (
        lambda x: ops.fake_quantize(x, *map(constant, (-1, 1, -3, 2)), 256),
        "FakeQuantize",
    ),
    "by channel": (lambda x: fake(x, channels(0, 0.25, -1), channels(1, 1.2, 1)), "FakeQuantize"),
    "of a convolution": (
        lambda x: fake(convolution(np.random.default_rng(0))(x), 1, channels(2, 3, 4, 5, 6)),
        "FakeQuantize",
    ),
}
"""Functions without an int8 form, and of which operator the table is."""


@pytest.mark.parametrize("name", TABLES)
def test_a_function_is_kept_as_a_table(name: str, tmp_path: Path) -> None:
    build, operator = TABLES[name]
    path = saved(tmp_path, (1, 3, 4, 5), build)
    with pytest.raises(Refused):
        import_model(path)
    imported = import_model(path, fallback=True)
    found = imported.compared(count=5)
    assert found.explained, found.verdict()
    assert found.tensors[-1].operator == f"table of {operator}"
    step, ranges = imported.lowering.steps[-1], imported.lowering.ranges
    graph, places = load_int8(imported.model), imported.lowering.places
    assert not [each for each in check_model(graph) if each.severity == "violation"]
    (read,) = step.operands
    codes = np.random.default_rng(1).integers(-128, 128, places[read].shape).astype(np.int8)
    values = {places[read].tensor: codes}
    for each in graph.operators[step.first : step.last]:
        values |= zip(each.outputs, run_operator(graph, each, values), strict=True)
    real = ranges.codes[read].real(codes)
    real = real.transpose(0, 3, 1, 2) if real.ndim == 4 else real
    given = {step.layer.inputs[0]: real.astype(np.float32)}
    wanted = imported.network.evaluate(given, [step.layer.output])[step.layer.output]
    stored = places[step.tensor].stored(ranges.codes[step.tensor].of(wanted))
    np.testing.assert_array_equal(values[places[step.tensor].tensor], stored)


@pytest.mark.parametrize("name", ["16 levels", "without 0", "by channel"])
def test_a_quantization_of_the_input_is_kept(name: str, tmp_path: Path) -> None:
    """What the input's codes are, nothing else says: they are of the range that is told apart."""
    path = saved(tmp_path, (1, 3, 8, 10), convolution(np.random.default_rng(3)), TABLES[name][0])
    with pytest.raises(Refused, match=r"\(FakeQuantize\): an? (int8 act|range does|activation)"):
        import_model(path)
    imported = import_model(path, fallback=True)
    low, high = imported.lowering.ranges.codes["x"].ends
    wanted = {"16 levels": (-1.6, 1.4), "without 0": (0, 1), "by channel": (-1, 1.2)}[name]
    np.testing.assert_allclose((low, high), wanted, atol=(high - low) / 255)
    found = imported.compared(count=5)
    assert found.explained, found.verdict()


def test_an_input_without_a_range_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, (1, 3, 4, 5), lambda x: fake(ops.relu(x)), lambda x: x)
    with pytest.raises(Refused, match="its input x has no range; import with --samples"):
        import_model(path)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["pico", pytest.param("nano", marks=pytest.mark.long)])
def test_what_is_kept_in_rtl(config: str, tmp_path: Path) -> None:
    """Tables behind and before convolutions; without GATHER in hardware golden looks up."""

    def build(x: Any) -> Any:
        filters, _ = weights(np.random.default_rng(5), 4, 5, 1, 1)
        y = fake(ops.erf(convolution(np.random.default_rng(4))(x)), -1, 1, 16)
        return fake(ops.convolution(y, filters, [1, 1], [0, 0], [0, 0], [1, 1]))

    path, report = saved(tmp_path, (1, 3, 8, 10), build), tmp_path / "run.json"
    options = ["--backend", "verilator", "--config", config, "--compare", "--fallback", "golden"]
    result = CliRunner().invoke(commands, ["run", str(path), *options, "--json", str(report)])
    assert result.exit_code == 0, result.output
    places = {"hardware": "CONV_2D CAST", "golden": "GATHER"}
    places = {"hardware": "CONV_2D CAST GATHER"} if config == "nano" else places
    found: dict[str, set[str]] = {}
    for operator in json.loads(report.read_text())["operators"]:
        assert operator["mismatches"] == 0
        found.setdefault(operator["where"], set()).add(operator["name"])
    assert found == {where: {*names.split()} for where, names in places.items()}


def test_what_is_kept_is_named_and_where_it_runs(tmp_path: Path) -> None:
    path = saved(tmp_path, (1, 3, 4, 5), TABLES["16 levels"][0])
    report = tmp_path / "report.json"
    options = ["-o", str(tmp_path / "a.tflite"), "--json", str(report), "--fallback", "golden"]
    made = CliRunner().invoke(commands, ["import", str(path), *options])
    assert made.exit_code == 0, made.output
    (kept,) = json.loads(report.read_text())["kept"]
    assert kept["layer"].startswith("FakeQuantize") and kept["operator"] == "FakeQuantize"
    assert kept["reason"] == "an int8 activation has 256 levels, not 16"
    ran = CliRunner().invoke(commands, ["run", str(path), "--fallback", "golden", "--compare"])
    assert ran.exit_code == 0, ran.output
    assert "kept by --fallback golden, as tables of codes: FakeQuantize" in ran.output
    checked = CliRunner().invoke(commands, ["check", str(path), "--config", "pico"])
    assert "golden: GATHER 1" in checked.output
    assert "CAST 2" in checked.output
    checked = CliRunner().invoke(commands, ["check", str(path), "--config", "nano", "--json"])
    assert json.loads(checked.output)["status"] == "fallback"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x: ops.softmax(x, 2), "(softmax): it runs along another axis"),
        (lambda x: ops.sqrt(x), "(Sqrt): of -1.28, a code of what it reads"),
        (lambda x: ops.maximum(x, constant(np.arange(5))), "differ along other axes"),
        (lambda x: ops.maximum(x, ops.relu(x)), "(Maximum): this type of layer"),
    ],
)
def test_what_is_no_table_is_refused(build: Build, words: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        import_model(saved(tmp_path, (1, 3, 4, 5), build), fallback=True)
    assert words in str(refused.value)
