"""The report of a run: documented field by field, and enough to repeat the run."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold import Session
from eightfold.run.report.result import RunJson
from eightfold.sim.simulator.toolchain import Simulator
from tests.eightfold.cli.test_cli import MODEL
from tests.support.command import Call
from tests.support.documented import check_fields
from tests.support.models.networks import INPUT, person_detect


def report_of(path: Path, *arguments: object, call: Call) -> dict[str, Any]:
    """Return the report of ``eightfold run`` with some arguments."""
    assert call("run", *arguments, "--json", path)[0] == 0
    return json.loads(path.read_text("utf-8"))


def repeated(report: dict[str, Any], folder: Path) -> list[object]:
    """Return the arguments that repeat a run, from its report alone."""
    config = folder / "again.toml"
    sizes = report["configuration"].items()
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in sizes))
    seeded = report["seed"] is not None
    arguments = [report["model"], "--config", config]
    arguments += ["--seed", report["seed"]] if seeded else ["--input", report["input_file"]]
    for name in ("backend", "reference", "fallback", "stall", "netlist"):
        arguments += [f"--{name}", report[name]] if report[name] else []
    for name in ("compare", "all_tensors", "fast"):
        arguments += [f"--{name.replace('_', '-')}"] if report[name] else []
    return arguments


def result_of(report: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same whenever a run is repeated."""
    return {key: report[key] for key in report if key not in ("seconds", "config")}


def test_every_field_is_documented(tmp_path: Path, call: Call) -> None:
    report = report_of(tmp_path / "a.json", MODEL, "--compare", call=call)
    check_fields(report, RunJson)
    assert (report["seed"], report["versions"]["simulator"]) == (0, None)
    assert report["model_sha256"] == hashlib.sha256(Path(MODEL).read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False], ids=["input", "seed"])
def test_a_run_is_repeated_from_its_report(tmp_path: Path, call: Call, given: bool) -> None:
    model, inputs = tmp_path / "model.tflite", tmp_path / "in.npz"
    model.write_bytes(person_detect())
    np.savez(inputs, input=np.arange(36, dtype=np.int8).reshape(1, 6, 6, 1))
    chosen = ["--input", inputs] if given else ["--seed", 5]
    first = report_of(
        tmp_path / "a.json", model, *chosen, "--config", "nano", "--compare", call=call
    )
    second = report_of(tmp_path / "b.json", *repeated(first, tmp_path), call=call)
    assert result_of(first) == result_of(second)
    other = report_of(tmp_path / "c.json", model, "--seed", 6, call=call)
    assert other["inputs"] != first["inputs"]
    assert other["outputs"] != first["outputs"]


@pytest.mark.slow
@pytest.mark.usual(names=["verilator"])
def test_a_simulation_is_repeated_from_its_report(
    tmp_path: Path, call: Call, simulator: Simulator
) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(person_detect())
    chosen = ["--seed", 5, "--config", "nano", "--backend", simulator, "--stall", 0.2]
    first = report_of(tmp_path / "a.json", model, *chosen, call=call)
    assert first["versions"]["simulator"].startswith(simulator)
    assert first["cycles"] > 0
    second = report_of(tmp_path / "b.json", *repeated(first, tmp_path), call=call)
    assert result_of(first) == result_of(second)


def test_what_is_hashed_are_the_elements_in_order() -> None:
    image = np.arange(36, dtype=np.int8).reshape(1, 6, 6, 1)
    turned = np.asfortranarray(image[:, ::-1])
    with Session() as session:
        given = [session.run(person_detect(), {INPUT: array}) for array in (image, turned)]
    hashes = [result.as_json()["inputs"][0]["sha256"] for result in given]
    assert hashes == [
        hashlib.sha256(bytes(range(36))).hexdigest(),
        hashlib.sha256(image[:, ::-1].tobytes()).hexdigest(),
    ]
