"""Networks that NNCF and onnxruntime have quantized; docs/fakequantize.md, followed."""

import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.files import IMPORT_ROOT
from eightfold.importer import Imported, import_model
from eightfold.model.inputs import random_inputs
from eightfold.operators import check_model, load_int8, run_graph
from eightfold.run.session import Session
from tests.support.float_networks import NETWORKS, QUANTIZERS, float_network, samples


def imported(quantizer: str, name: str, folder: Path) -> Imported:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages, about themselves
        path = QUANTIZERS[quantizer](float_network(name, folder))
        return import_model(path, {"x": samples(20)})


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_difference_is_explained(quantizer: str, name: str, tmp_path: Path) -> None:
    found = imported(quantizer, name, tmp_path)
    graph = load_int8(found.model)
    assert not [each for each in check_model(graph) if each.severity == "violation"]
    comparison = found.compared()
    assert comparison.explained, comparison.verdict()
    assert comparison.samples == 20
    # Alone, every operator is as near as two roundings of one number can be, or as its operand is.
    for tensor in comparison.tensors:
        between = tensor.causes["an operand between codes"] + tensor.causes["a merged range"]
        assert tensor.own_largest <= 1 or between
    assert all(same >= 18 for same in comparison.classes.values()), comparison.classes


@pytest.mark.parametrize("config", ["nano", pytest.param("base", marks=pytest.mark.long)])
@pytest.mark.parametrize("quantizer", ["nncf", "onnxruntime"])
@pytest.mark.slow
def test_the_accelerator_computes_what_is_imported(
    quantizer: str, config: str, tmp_path: Path
) -> None:
    with Session("verilator", config) as session:
        for name in NETWORKS:
            model = imported(quantizer, name, tmp_path).model
            result = session.run(model, compare=True)
            assert result.mismatches == 0
            graph = load_int8(model)
            wanted = run_graph(graph, random_inputs(graph, 0))
            for index, array in result.outputs.items():
                np.testing.assert_array_equal(array, wanted[index])


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
