"""From a float network to TPU-MLIR's int8: calibration, equal scales, the machine."""

from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.tpu_mlir.network import Program
from eightfold.golden.tpu_mlir.numbers import to_int8
from eightfold.importer import Refused
from eightfold.importer.network import Layer, Network
from eightfold.importer.tpu_mlir import Histogram, Method, backward, import_program
from eightfold.run.simulate import run_program
from eightfold.target.config import PRESETS
from lab.hostile.subject import run_compiled
from tests.support.command import Call, refusal
from tests.support.float_networks import float_network, samples

openvino = pytest.importorskip("openvino")
ops: Any = pytest.importorskip("openvino.opset13")


def constant(values: Any) -> Any:
    return ops.constant(np.asarray(values, np.float32))


def convolution(rng: np.random.Generator, x: Any, inputs: int, outputs: int) -> Any:
    filters = rng.normal(size=(outputs, inputs, 3, 3)) / np.sqrt(inputs * 9)
    y = ops.convolution(x, constant(filters), [1, 1], [1, 1], [1, 1], [1, 1])
    return ops.add(y, constant(rng.normal(size=(1, outputs, 1, 1)) * 0.1))


def whole(x: Any) -> Any:
    """Return a network with every form, and clamps and moves between them."""
    rng = np.random.default_rng(0)
    a = ops.relu(convolution(rng, x, 3, 8))
    b = ops.prelu(convolution(rng, a, 8, 8), constant(0.1))
    c = ops.max_pool(ops.add(a, b), [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
    c = ops.pad(c, [0, 0, 1, 1], [0, 0, 1, 0], "constant", constant(0.25))
    d = ops.prelu(convolution(rng, c, 8, 6), constant(rng.uniform(0, 0.5, (1, 6, 1, 1))))
    e = ops.relu(convolution(rng, c, 8, 3))  # joined with what is negative
    f = ops.avg_pool(c, [1, 1], [1, 1], [1, 1], [3, 3], False)
    g = ops.concat([d, e, f], 1)
    h = ops.reduce_mean(ops.relu(ops.transpose(g, [0, 1, 3, 2])), [2, 3], True)
    g = ops.concat([ops.reduce_mean(g, [2, 3], False), ops.reshape(h, [1, 17], False)], 1)
    z = ops.matmul(g, constant(rng.normal(size=(34, 5))), False, False)
    return ops.softmax(ops.add(z, constant(rng.normal(size=(1, 5)))), 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a float network, and samples of its input."""
    folder = tmp_path_factory.mktemp("float")
    x = ops.parameter((1, 3, 7, 6), np.float32, name="x")
    model = openvino.Model([whole(x)], [x], "network")
    openvino.save_model(model, folder / "network.xml", compress_to_fp16=False)
    samples = np.random.default_rng(1).normal(size=(6, 1, 3, 7, 6)).astype(np.float32)
    np.savez(folder / "samples.npz", x=samples)
    return folder


@cache
def imported(files: Path, method: Method = "kl", *, asymmetric: bool = False) -> Any:
    with np.load(files / "samples.npz") as samples:
        return import_program(files / "network.xml", dict(samples), method, asymmetric=asymmetric)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_every_value_on_the_machine_is_goldens(
    files: Path, asymmetric: bool, tmp_path: Path
) -> None:
    (tmp_path / "n.npz").write_bytes(imported(files, asymmetric=asymmetric).program.save())
    program = Program.load(tmp_path / "n.npz")
    names = {form.name for form in program.forms}
    add = "add_asymmetric" if asymmetric else "add_symmetric"
    assert names == {
        *("convolution", "inner_product", "avg_pool", "max_pool", "leaky_relu", "prelu", "pad"),
        *("arrange", add),
    }
    assert {value.code for value in program.values} == (
        {"int8"} if asymmetric else {"int8", "uint8"}
    )
    x = np.random.default_rng(2).normal(size=(1, 3, 7, 6))
    golden = program.run({"x": x})
    network = program.network(PRESETS["nano"])
    (segment,) = network.compile(keep=True).segments
    assert segment.compiled is not None
    found = run_compiled(segment.compiled, network.graph, {0: to_int8(golden[0])})
    for index in range(program.inputs, len(program.values)):
        np.testing.assert_array_equal(found[index], to_int8(golden[index]), err_msg=f"{index}")


@pytest.mark.parametrize("method", get_args(Method))
def test_the_result_is_near_float(files: Path, method: Method) -> None:
    made = imported(files, method)
    with np.load(files / "samples.npz") as samples:
        lines = made.lines(dict(samples))
    cosine = float(lines[1].split("cosine ")[1].split()[0])
    assert cosine > (0.98 if method == "kl" else 0.99)
    assert "Softmax" in lines[-1]


@pytest.mark.slow
def test_a_float_network_runs_in_rtl(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.npz"
    path.write_bytes(imported(files).program.save())
    run = run_program(path, None, "verilator", "nano")
    assert run.wrong == 0 and "all 5 codes equal golden" in run.lines[-1]


def test_thresholds_of_a_histogram() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=100_000)
    histogram = Histogram()
    for part in np.split(np.append(values, np.full(100, -40.0)), 11):
        histogram.add(part)
    assert (histogram.low, histogram.high) == (-40, values.max())
    assert histogram.counts.sum() == 100_100
    assert histogram.threshold("max") == 40
    few = Histogram()
    few.add(np.append(np.linspace(0, 1, 20_001), 9.0))
    assert few.threshold("percentile") == pytest.approx(1, abs=2 * 9 / 2048)
    assert 2.5 < histogram.threshold("kl") < 8


def test_kl_of_what_fills_all_levels_alike_is_the_largest() -> None:
    histogram = Histogram()
    histogram.add((np.arange(20_480) + 0.5) / 20_480)
    assert histogram.threshold("kl") == pytest.approx(1, abs=0.001)
    nothing = Histogram()
    nothing.add(np.zeros(3))
    assert [nothing.threshold(method) for method in get_args(Method)] == [0, 0, 0]


def test_backward_calibration_goes_from_the_last_of_joined_values() -> None:
    def layer(kind: str, *names: str) -> Layer:
        return Layer(names[-1], kind, list(names[:-1]), names[-1])

    layers = [
        layer("max_pool", "x", "a"),
        layer("prelu", "a", "b"),
        layer("conv", "b", "c"),
        layer("pad", "c", "d"),
        layer("concat", "c", "e", "f"),
        layer("relu", "f", "g"),
        layer("conv", "f", "h"),
    ]
    network = Network("n", "none", ["x", "e"], ["d", "g", "h"], {}, {}, layers, lambda *_: {})
    ranges = {name: (-float(n), float(n)) for n, name in enumerate("xabcdefgh", 1)}
    ranges["g"] = (0.0, 8.0)
    backward(network, ranges)
    assert ranges == {
        **dict.fromkeys("xab", (-3, 3)),
        **dict.fromkeys("cdefg", (-7, 8)),  # the hull of d, g and of f, which h reads
        "h": (-9, 9),
    }


WINDOW = ([1, 1], [1, 1], [0, 0], [0, 0], [2, 2])


def refused(build: Any, shape: tuple[int, ...], folder: Path) -> list[str]:
    x = ops.parameter(shape, np.float32, name="x")
    path = folder / "refused.xml"
    openvino.save_model(openvino.Model([build(x)], [x], "n"), path, compress_to_fp16=False)
    with pytest.raises(Refused) as caught:
        import_program(path, {"x": np.ones((2, *shape), np.float32)})
    return [*map(str, caught.value.faults)]


def test_all_layers_without_a_form_are_named(tmp_path: Path) -> None:
    def unknown(x: Any) -> Any:
        return ops.clamp(ops.max_pool(ops.erf(ops.softmax(x, 1)), *WINDOW).output(0), 0.0, 1.0)

    kinds = refused(unknown, (1, 4, 4, 4), tmp_path)
    assert len(kinds) == 3 and "(softmax): TPU-MLIR's chapter has no form" in kinds[0]

    def build(x: Any) -> Any:
        y = ops.avg_pool(x, [1, 1], [1, 1], [1, 1], [2, 2], True)
        y = ops.clamp(ops.add(y, y), 0.5, 2.0)
        return ops.add(y, constant(np.ones((1, 1, 1, 9))))

    found = "\n".join(refused(build, (1, 2, 6, 8), tmp_path))
    for words in ("does not count among the taps", "a clamp to 0.5..2.0", "is a constant"):
        assert words in found


def test_the_command_imports_and_runs(files: Path, tmp_path: Path, call: Call) -> None:
    model, samples = files / "network.xml", files / "samples.npz"
    output = tmp_path / "n.npz"
    options = ("--spec", "tpu-mlir", "--samples", samples, "-o", output)
    status, out, err = call("import", model, *options, "--calibration", "percentile")
    assert status == 0 and "cosine" in out, err
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 3, 7, 6), np.float32))
    results = tmp_path / "y.npz"
    status, out, _ = call("run", output, "--input", tmp_path / "x.npz", "--output", results)
    assert status == 0 and "forms in golden" in out
    with np.load(results) as arrays:
        assert [array.shape for array in arrays.values()] == [(1, 5)]
    for words, message in (
        (("run", output, "--compare"), "--compare is for .tflite models"),
        (("run", samples), "is no network that eightfold import"),
        (("import", model, "--spec", "tpu-mlir", "-o", output), "give --samples"),
        (("import", model, "-o", output, "--asymmetric"), "of --spec tpu-mlir; leave them out"),
        (("import", samples, *options), ".tflite, .onnx, .xml files"),
    ):
        assert message in refusal(call, *words)


@pytest.mark.parametrize("name", ["residual", "mobile"])
def test_a_float_onnx_becomes_forms(name: str, tmp_path: Path) -> None:
    """Its biases are broadcasts and its clamps minima until OpenVINO has gone over them."""
    inputs = {"x": samples(10)}
    made = import_program(float_network(name, tmp_path), inputs)
    cosine = float(made.lines(inputs)[1].split("cosine ")[1].split()[0])
    assert cosine > 0.99
    assert {"convolution", "inner_product"} <= {form.name for form in made.program.forms}


def test_a_float_onnx_is_refused_by_its_layers(tmp_path: Path, call: Call) -> None:
    path = float_network("gated", tmp_path)
    np.savez(tmp_path / "x.npz", x=samples(1))
    options = ["--spec", "tpu-mlir", "--samples", tmp_path / "x.npz", "-o", "n.npz"]
    status, _, err = call("import", path, *options)
    assert status == 2
    assert err.splitlines() == [
        f"eightfold: {path}: {name} ({kind}): TPU-MLIR's chapter has no form of {kind}"
        for name, kind in (("sigmoid_4", "sigmoid"), ("mul_5", "mul"), ("sigmoid_11", "sigmoid"))
    ]


def test_bad_inputs_are_named(files: Path) -> None:
    made = imported(files)
    for inputs, message in (
        ({"y": np.zeros(3)}, "inputs are x, not y"),
        ({"x": np.zeros((1, 3, 6, 6))}, r"has the shape \(1, 3, 6, 6\), not \(1, 3, 7, 6\)"),
        ({"x": np.full((1, 3, 7, 6), np.nan)}, "NaN"),
    ):
        with pytest.raises(InputError, match=message):
            made.program.run(inputs)
    with pytest.raises(InputError, match="behind a count"):
        import_program(files / "network.xml", {"x": np.zeros((1, 3, 7, 6), np.float32)})
