"""``eightfold info``: what goes into a model and what comes out."""

import json
from pathlib import Path

import numpy as np
import pytest

from eightfold.model.builder import ModelBuilder
from tests.eightfold.cli.test_cli import MODEL, lines_at
from tests.support.command import Call, refusal


def per_channel() -> bytes:
    b = ModelBuilder()
    x = b.input((4, 1), scale=[0.1, 0.2, 0.3, 0.4], zero_point=3, name="\x1b[2Jin")
    y = b.input((), dtype=np.float32)
    b.output(x)
    b.output(y)
    return b.build()


def test_inputs_and_outputs_are_listed(call: Call) -> None:
    status, out, err = call("info", MODEL)
    assert (status, err) == (0, "")
    rows = [line.strip("│").split() for line in out.splitlines() if line.startswith("│")]
    cells = [[word for word in row if word != "│"] for row in rows]
    assert cells == [
        ["tensor_0", "image", "int8", "1x8x8x1", "0.00392156886", "-128"],
        ["tensor_35", "probabilities", "int8", "1x10", "0.00390625", "-128"],
    ]
    assert "71,040 multiply-accumulates" in out


def test_json_has_every_scale(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(per_channel())
    status, out, _ = call("info", path, "--json")
    assert status == 0
    facts = json.loads(out)
    one, other = facts["inputs"]
    scales = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    np.testing.assert_array_equal(np.array(one["scale"], np.float32), scales)
    assert (one["zero_point"], one["dtype"], one["shape"]) == ([3] * 4, "int8", [4, 1])
    assert (other["scale"], other["zero_point"], other["shape"]) == (None, None, [])
    assert facts["inputs"] == facts["outputs"]


def test_a_name_moves_no_cursor(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(per_channel())
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
