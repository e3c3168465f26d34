"""``eightfold check`` and ``info``: a verdict about a file, its advice, what goes in and out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.model.builder import ModelBuilder
from eightfold.run.assessment import CheckJson
from tests.eightfold.cli.test_cli import MODEL, lines_at
from tests.support.command import Call, printed, refusal, saved
from tests.support.documented import check_fields
from tests.support.models.single import one_operator, pool

RUNS, FALLBACK, REFUSED = (
    "runs on the accelerator",
    "runs with --fallback golden, not without",
    "does not run, with --fallback golden or without",
)


def dense(dtype: type = np.int8, *, edges: bool = False, tail: str = "", code: int = 1) -> bytes:
    """Return FULLY_CONNECTED of an element type; with float32 edges, and a tail of its own."""
    b = ModelBuilder()
    values: dict[str, Any] = {} if dtype in (np.float32, np.float16) else {"scale": 0.5}
    x = b.input((1, 4), dtype=np.float32) if edges else b.input((1, 4), dtype=dtype, **values)
    if edges:
        given, x = x, b.tensor((1, 4), scale=0.5)
        b.operator("QUANTIZE", [given], [x])
    weights = b.constant(np.full((4, 4), code, dtype), **values)
    y = b.tensor((1, 4), dtype=dtype, **values)
    b.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    for name in ["DEQUANTIZE"] * edges + [tail] * bool(tail):
        before, y = y, b.tensor((1, 4), dtype=np.float32)
        b.operator(name, [before], [y], {"beta": 1.0} if name == "SOFTMAX" else None)
    b.output(y)
    return b.build()


def gate() -> bytes:
    """Return a LOGISTIC whose scale no kernel computes with."""
    options = {"scales": (0.5, 0.0078125), "zero_points": (0, -128)}
    return one_operator("LOGISTIC", [(1, 4)], (1, 4), **options, result_name="gate")


INT8 = "converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]"
EDGES = "float32 input: converter.inference_input_type = tf.int8"
NEW = "quantization that the spec forbids: converter.experimental_new_quantizer = True"

FILES = {
    "int8": (dense(), 0, RUNS, ["1 operators conform to the spec", "accelerator: FULLY_C"]),
    "edges": (dense(edges=True), 0, RUNS, ["host: QUANTIZE 1, DEQUANTIZE 1", EDGES]),
    "tail": (dense(edges=True, tail="SOFTMAX"), 0, FALLBACK, ["golden: ", "operator 3 SOFTMAX: "]),
    "codes": (dense(code=-128), 0, RUNS, ["violation: operator 0 FULLY_CONNECTED", NEW]),
    "scale": (gate(), 1, REFUSED, ["violation: operator 0 LOGISTIC, tensor 1 'gate': ", "0.0078"]),
    "shape": (
        pool("MAX_POOL_2D", filter_height=1),
        1,
        REFUSED,
        ["declared shape [1, 2, 2, 1], computed [1, 3, 2, 1]; rule"],
    ),
    "float32": (dense(np.float32), 1, REFUSED, [f"operators on float32: {INT8}", "nowhere: FULLY"]),
    "uint8": (dense(np.uint8), 1, REFUSED, ["operators on uint8: converter.experimental_new_qu"]),
    "int16": (dense(np.int16), 1, REFUSED, [f"operators on int16: {INT8}"]),
    "float16": (dense(np.float16), 1, REFUSED, ["has element type FLOAT16"]),
}
"""By name: the file, the exit status, the last line, and what else is said."""


@pytest.mark.parametrize("name", FILES)
def test_the_verdict_says_whether_a_file_runs_and_what_is_in_the_way(
    tmp_path: Path, call: Call, name: str
) -> None:
    content, expected, verdict, words = FILES[name]
    path = saved(tmp_path, content)
    status, out, err = call("check", path, "--config", "base")
    assert (status, err) == (expected, "")
    assert out.splitlines()[-1].startswith(f"{path}: {verdict}")
    for each in words:
        assert each in out
    assert len(out.splitlines()) <= 24


@pytest.mark.slow
def test_a_model_is_held_against_every_preset(call: Call) -> None:
    out = printed(call, "check", MODEL)
    assert "18 operators conform to the spec" in out
    rows = [line.split("│")[1:3] for line in out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["pico", "with fallback"],
        *([name, "yes"] for name in ("nano", "small", "base", "large")),
    ]


@pytest.mark.parametrize("name", ["int8", "tail", "float32", "codes", "float16"])
def test_every_field_is_documented(tmp_path: Path, call: Call, name: str) -> None:
    path = saved(tmp_path, FILES[name][0])
    status, out, _ = call("check", path, "--json", "--config", "base")
    report: dict[str, Any] = json.loads(out)
    check_fields(report, CheckJson)
    assert status == FILES[name][1] == (report["status"] == "refused")
    (preset,) = report["presets"]
    assert (preset["cycles"] is None) == (report["status"] == "refused")


def test_a_violation_ends_with_1_if_that_is_asked(tmp_path: Path, call: Call) -> None:
    path = saved(tmp_path, dense(code=-128))
    for options, expected in (([], 0), (["--spec"], 1)):
        assert call("check", path, "--config", "nano", *options)[0] == expected


@pytest.mark.parametrize(
    "content",
    [None, b"", b"nothing of TFLite", dense()[:60]],
    ids=["missing", "empty", "other", "cut"],
)
def test_what_is_no_model_ends_with_2(tmp_path: Path, call: Call, content: bytes | None) -> None:
    path = tmp_path / "model.tflite"
    if content is not None:
        path.write_bytes(content)
    err = refusal(call, "check", path)
    assert err.startswith(f"eightfold: {path}: ")


def per_channel() -> bytes:
    b = ModelBuilder()
    x = b.input((4, 1), scale=[0.1, 0.2, 0.3, 0.4], zero_point=3, name="\x1b[2Jin")
    y = b.input((), dtype=np.float32)
    b.output(x)
    b.output(y)
    return b.build()


def test_inputs_and_outputs_are_listed(call: Call) -> None:
    out = printed(call, "info", MODEL)
    rows = [line.strip("│").split() for line in out.splitlines() if line.startswith("│")]
    cells = [[word for word in row if word != "│"] for row in rows]
    assert cells == [
        ["tensor_0", "image", "int8", "1x8x8x1", "0.00392156886", "-128"],
        ["tensor_35", "probabilities", "int8", "1x10", "0.00390625", "-128"],
    ]
    assert "71,040 multiply-accumulates" in out


def test_json_has_every_scale(tmp_path: Path, call: Call) -> None:
    path = saved(tmp_path, per_channel())
    out = printed(call, "info", path, "--json")
    facts = json.loads(out)
    one, other = facts["inputs"]
    scales = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    np.testing.assert_array_equal(np.array(one["scale"], np.float32), scales)
    assert (one["zero_point"], one["dtype"], one["shape"]) == ([3] * 4, "int8", [4, 1])
    assert (other["scale"], other["zero_point"], other["shape"]) == (None, None, [])
    assert facts["inputs"] == facts["outputs"]


def test_a_name_moves_no_cursor(tmp_path: Path, call: Call) -> None:
    path = saved(tmp_path, per_channel())
    _, out, _ = call("info", path)
    assert "\x1b" not in out
    assert "?[2Jin" in out
    assert "0.1, ..., 0.4" not in out  # four values; float32's digits tell them apart
    assert "0.100000001, ..., 0.400000006" in out


@pytest.mark.parametrize("width", [20, 80, 100])
def test_no_terminal_is_too_narrow(width: int, call: Call) -> None:
    assert max(map(len, lines_at(width, "info", MODEL, call=call))) <= width


@pytest.mark.slow
def test_a_network_of_the_package_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["info"], ["run"], ["check"], ["estimate"], ["compile", "-o", "compiled"]):
        status, _, err = call(*command, "digits")
        assert (status, err) == (0, ""), command
    (tmp_path / "digits").write_bytes(b"mine")  # a file of that name comes first
    assert "digits: not a .tflite file" in refusal(call, "info", "digits")
