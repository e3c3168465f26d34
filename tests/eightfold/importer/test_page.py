"""docs/fakequantize.md, followed: its programs are run as they stand, its commands after them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.files import IMPORT_ROOT
from tests.support.float_networks import float_network, samples

TEXT = (IMPORT_ROOT / "docs" / "fakequantize.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^eightfold (.*)$", TEXT, re.MULTILINE)


def follow(folder: Path, program: str, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    (folder / "program.py").write_text(program, encoding="utf-8")
    subprocess.run([sys.executable, "program.py"], check=True, capture_output=True)
    printed = ""
    for line in lines:
        result = CliRunner().invoke(commands, shlex.split(line))
        assert result.exit_code == 0, f"{line}: {result.output}"
        printed += result.output
    return printed


@pytest.mark.parametrize("simulated", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_network_of_nncf(
    simulated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nncf")
    lines = [line for line in COMMANDS if "shapes" in line]
    assert len(lines) == 3
    chosen = [line for line in lines if simulated or "verilator" not in line]
    printed = follow(tmp_path, PROGRAMS[0], chosen, monkeypatch)
    assert "the same class in 50 of 50 samples" in printed
    assert "runs on the accelerator" in printed
    assert ("equals LiteRT's reference kernels bit for bit" in printed) == simulated


def test_a_network_of_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    float_network("residual", tmp_path).rename(tmp_path / "float.onnx")
    np.savez(tmp_path / "samples.npz", x=samples(20))
    (line,) = (line for line in COMMANDS if "qdq" in line)
    printed = follow(tmp_path, PROGRAMS[-1], [line], monkeypatch)
    assert "all within their bounds" in printed
