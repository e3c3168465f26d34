"""``eightfold compile``, ``estimate`` and ``header``: files, listing, messages, exit status."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.cases.operators import random_case
from eightfold.isa.decode import read_stream
from eightfold.model.builder import ModelBuilder
from eightfold.run.report.clock import MEASURED
from eightfold.target.config import PRESETS
from examples.mobilenet import mobilenet_model
from tests.eightfold.cli.test_cli import MODEL
from tests.support.command import Call, printed, refusal, saved
from tests.support.models.single import one_operator, pool
from tests.support.networks.sparse import sparse_model

BYTES = re.compile(r"(\w+) ([\d,]+) bytes")


@pytest.mark.slow
def test_compile_writes_what_a_host_loads(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "new" / "digits"
    out = printed(call, "compile", MODEL, "-o", folder, "--config", "small")
    assert "commands for 18 of 18 operators" in out
    words = np.fromfile(folder / "commands.bin", dtype="<u4")
    commands = read_stream(PRESETS["small"], words)
    layout = json.loads((folder / "layout.json").read_text())
    assert layout["command_bytes"] == 4 * len(words)
    assert layout["model_bytes"] == len((folder / "model.bin").read_bytes())
    assert [(entry["tensor"], entry["dtype"]) for entry in layout["inputs"]] == [(0, "int8")]
    sizes = {name: int(size.replace(",", "")) for name, size in BYTES.findall(out)}
    used = sizes.pop("scratchpad")
    assert sizes == {
        "commands": (folder / "commands.bin").stat().st_size,
        "model": (folder / "model.bin").stat().st_size,
        "arena": layout["arena_bytes"],
    }
    assert 0 < used <= PRESETS["small"].scratchpad
    lines = (folder / "listing.txt").read_text().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == len(commands)
    assert "# operator 17 SOFTMAX" in lines
    assert any("MATRIX" in line and "depthwise=1" in line for line in lines)


@pytest.mark.long  # tests/eightfold/compiler/cascade has the decision
def test_compile_explains_its_cascades(tmp_path: Path, call: Call) -> None:
    model = saved(tmp_path, mobilenet_model(0.35, 64))
    arguments = ("compile", model, "-o", tmp_path / "out", "--config", "nano", "--explain")
    out = printed(call, *arguments)
    assert "cycles by the estimate" in out
    assert "layer by layer" in out
    assert "halo kept: tensors" in out
    out = printed(call, *arguments, "--no-cascade")
    assert "no cascades: " in out


def test_compile_names_what_it_cannot_compute(tmp_path: Path, call: Call) -> None:
    model = saved(tmp_path, random_case("DEQUANTIZE", np.random.default_rng(0))[0])
    err = refusal(call, "compile", model, "-o", tmp_path / "out")
    assert err.startswith(f"eightfold: {model}: the accelerator cannot compute 1 operator; use ")
    assert "operator 0 DEQUANTIZE" in err
    assert "--fallback golden" in err
    assert not (tmp_path / "out").exists()
    arguments = ("compile", model, "-o", tmp_path / "out", "--fallback", "golden")
    out = printed(call, *arguments)
    assert "golden: operator 0 DEQUANTIZE" in out


def contradicted() -> bytes:
    """Return a RESHAPE to a shape that is computed and not declared."""
    b = ModelBuilder()
    x, sizes, y = b.input((2, 3)), b.tensor((2,), dtype=np.int32), b.tensor((3, 2))
    b.operator("SHAPE", [x], [sizes], {"out_type": "INT32"})
    b.operator("RESHAPE", [x, sizes], [y])
    b.output(y)
    return b.build()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (contradicted(), "operator 1 RESHAPE: tensor 2 'tensor_2': declared shape [3, 2], "),
        (
            one_operator("RELU", [(1, 4)], (1, 4), dtype=np.int16, source_dtype=np.int16),
            "operator 0 RELU works on int16, in tensor 0 'tensor_0'; ",
        ),
        (one_operator("CEIL", [(1, 4)], (1, 4)), "operator 0 CEIL: not supported: "),
        (
            pool("MAX_POOL_2D", filter_height=1),
            "operator 0 MAX_POOL_2D: tensor 1 'tensor_1': declared shape [1, 2, 2, 1], computed "
            "[1, 3, 2, 1]\n",
        ),
    ],
    ids=["contradicted", "int16", "unsupported", "declared"],
)
def test_every_command_names_the_file_that_it_refuses(
    content: bytes, words: str, tmp_path: Path, call: Call
) -> None:
    model = saved(tmp_path, content)
    for command, *options in (("run",), ("estimate",), ("compile", "-o", tmp_path / "out")):
        err = refusal(call, command, model, *options)
        assert err.startswith(f"eightfold: {model}: {words}")


def elsewhere() -> bytes:
    """Return a model of which only its third output, a RESHAPE without a scale, is a stream's."""
    b = ModelBuilder()
    x, other = b.input((1, 4), scale=0.5, name="x"), b.input((1, 4), scale=np.nan, name="odd")
    real, y = b.tensor((1, 4), dtype=np.float32), b.tensor((4,), scale=np.inf)
    b.operator("DEQUANTIZE", [x], [real])
    b.operator("RESHAPE", [other], [y], {"new_shape": [4]})
    for tensor in (b.constant(np.zeros(4, np.int8)), real, y, x):
        b.output(tensor)
    return b.build()


def test_compile_names_outputs_of_no_stream(tmp_path: Path, call: Call) -> None:
    out = printed(call, "compile", saved(tmp_path, elsewhere()), "-o", tmp_path / "out")
    origins = {
        4: "a constant",
        2: "operator 0 DEQUANTIZE of tensor 0 'x', on the host",
        0: "given, not computed",
    }
    lines = [line for line in out.splitlines() if line.startswith("no stream: ")]
    assert [line.split(": ", 2)[2] for line in lines] == [*origins.values()]
    text = (tmp_path / "out" / "layout.json").read_text()
    layout = json.loads(text, parse_constant=pytest.fail)
    assert {each["tensor"]: each["from"] for each in layout["elsewhere"]} == origins
    places = [*layout["inputs"], *layout["outputs"]]
    assert [(each["scale"], each["zero_point"]) for each in places] == [(None, None)] * 2
    assert "SCALE" not in (tmp_path / "out" / "network.h").read_text()


def test_compile_leaves_nothing_of_another_network(tmp_path: Path, call: Call) -> None:
    model, folder = saved(tmp_path, elsewhere()), tmp_path / "out"
    old = [folder / each for each in ("state.bin", "stream_1/model.bin")]
    others = [folder / each for each in ("notes.txt", "stream_x/model.bin", "stream_2/layout.c")]
    networks = [folder / each for each in ("commands.bin", "stream_1/commands.bin")]
    for path in (*old, *others, *networks):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    printed(call, "compile", model, "-o", folder, "--c-array", "net")
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in others)
    printed(call, "compile", model, "-o", folder)
    assert not [*folder.glob("layout.[ch]")]
    model = saved(folder, elsewhere(), "layout.c")
    assert f"{model}: lies where compile writes; " in refusal(call, "compile", model, "-o", folder)
    assert model.read_bytes() == elsewhere()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "a.xml"], "--output a.xml: would overwrite MODEL; "),
        (["-o", "b/../a.bin"], "would overwrite the weights of MODEL; "),
        (["-o", "x.npz", "--samples", "x.npz"], "would overwrite --samples; "),
        (["-o", "b", "--json", "b"], "--json b: would overwrite --output; "),
        (["-o", "b", "--samples", "x.npz", "--count", "8"], "--count is of samples that are drawn"),
        (["-o", "b", "--spec", "tpu-mlir", "--count", "8"], "--count is of samples that are drawn"),
        (["-o", "b", "--samples", "x.npz"], "x is complex128; give real numbers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_import_refuses_what_it_would_lose(
    options: list[str], words: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.array([1j]))
    saved(tmp_path, b"a network", "a.xml")
    assert words in refusal(call, "import", "a.xml", *options)
    assert (tmp_path / "a.xml").read_bytes() == b"a network" and not (tmp_path / "b").exists()


@pytest.mark.slow
def test_estimate_prints_cycles_per_operator(call: Call) -> None:
    status, out, _ = call("estimate", MODEL, "--json")
    report = json.loads(out)
    assert status == 0
    assert report["cycles"] == sum(operator["cycles"] for operator in report["operators"])
    assert {operator["where"] for operator in report["operators"]} == {"hardware"}
    assert 0 < report["bus_cycles"] <= report["cycles"]
    assert all((each["utilisation"] or 0) <= 1 for each in report["operators"])
    assert report["clock_mhz"] == MEASURED["base"].mhz
    out = printed(call, "estimate", MODEL, "--config", "large")
    assert "large" not in MEASURED
    assert "large has no measured clock; --clock MHZ gives times." in out
    assert "DEPTHWISE_CONV_2D" in out
    assert "The memory's bus is taken in " in out


@pytest.mark.slow
def test_estimate_tells_times_at_a_clock(call: Call) -> None:
    arguments = ("estimate", MODEL, "--config", "nano", "--clock", 50)
    _, out, _ = call(*arguments)
    report = json.loads(call(*arguments, "--json")[1])
    assert report["milliseconds"] == report["cycles"] / 50_000
    assert report["inferences_per_second"] * report["cycles"] == pytest.approx(50e6)
    assert f"{report['cycles']:,} cycles take {report['milliseconds']:.4g} ms at 50 MHz" in out
    status, _, err = call("estimate", MODEL, "--clock", 0)
    assert status == 2 and "--clock" in err


def test_header_goes_to_a_file_or_standard_output(tmp_path: Path, call: Call) -> None:
    _, printed, _ = call("header")
    path = tmp_path / "include" / "eightfold.h"
    status, out, _ = call("header", "-o", path)
    assert (status, out) == (0, f"{path}\n")
    assert path.read_text() == printed
    assert "EIGHTFOLD_OPCODE_MATRIX" in printed


def test_compile_honours_the_reference(tmp_path: Path, call: Call) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(
        one_operator("RELU6", [(1, 256)], (1, 256), scales=(0.05, 0.1), zero_points=(-128, 3))
    )
    images = []
    for reference in ("litert", "tflm"):
        folder = tmp_path / reference
        arguments = ("compile", model, "-o", folder, "--config", "nano", "--reference", reference)
        assert call(*arguments)[0] == 0
        images.append([(folder / name).read_bytes() for name in ("commands.bin", "model.bin")])
        out = printed(call, "estimate", *arguments[1:2], *arguments[4:])
        assert "RELU6" in out
    assert images[0] != images[1]


def test_rules_are_named_and_can_be_left_out(tmp_path: Path, call: Call) -> None:
    model = saved(tmp_path, sparse_model(7))
    folder = str(tmp_path / "out")
    assert "rewritten by channels: operator" in printed(call, "compile", str(model), "-o", folder)
    for names in (["channels", "padding"], ["all"]):
        options = [word for name in names for word in ("--no-rewrite", name)]
        assert "rewritten" not in printed(call, "compile", str(model), "-o", folder, *options)
    status, _, error = call("estimate", str(model), "--no-rewrite", "tabels")
    assert status == 2 and "there is no rule 'tabels'; rules are unused, " in error
