"""Vectors are read as they were written, in every format; whoever has edited them is found."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import NETWORKS, PROFILES, UNITS
from eightfold.conformance.results.folders import judge_folders
from eightfold.conformance.results.vectors import load_vectors, model_cases_of, unit_cases_of
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.vectors.manifest import checksums
from eightfold.conformance.vectors.models import model_cases, write_models
from eightfold.conformance.vectors.unit_files import FORMATS, Format, write_unit
from tests.support.command import Call
from tests.support.conformance.models import write_right_models

TFLITE = PROFILES["tflite"]

Edit = Callable[[Path, dict[str, Any]], object]


def edited(folder: Path, edit: Edit) -> None:
    """Edit a folder of vectors, and write its manifest so that every checksum is right."""
    path = folder / "manifest.json"
    table = json.loads(path.read_text())
    edit(folder, table)
    there = [name for name in table["files"] if (folder / name).exists()]
    table["files"] = checksums({name: (folder / name).read_bytes() for name in there})
    path.write_text(json.dumps(table))


def said(vectors: Path, results: Path) -> str:
    """Return the line by which a judge refuses."""
    with pytest.raises(InputError) as caught:
        judge_folders(vectors, results, power=False)
    (line,) = str(caught.value).splitlines()
    return line


def of_unit(folder: Path, form: Format = "npz") -> Path:
    write_unit(folder, "requantizer", TFLITE, "smoke", form, 3)
    suffix = "hex" if form == "c" else form
    shutil.copy(folder / f"expected.{suffix}", folder / f"results.{suffix}")
    return folder


def of_models(path: Path, *claims: str) -> tuple[Path, Path]:
    write_models(path / "vectors", claims, TFLITE, "smoke", 3)
    write_right_models(path / "vectors", path / "results")
    return path / "vectors", path / "results"


def change_array(file: str, name: str) -> Edit:
    def edit(folder: Path, table: dict[str, Any]) -> None:
        arrays = dict(np.load(folder / file))
        arrays[name] = arrays[name] ^ 1
        np.savez(folder / file, **arrays)

    return edit


def leave_out_last(folder: Path, table: dict[str, Any]) -> None:
    for file in ("cases.npz", "expected.npz", "results.npz"):
        np.savez(folder / file, **{name: a[:-1] for name, a in np.load(folder / file).items()})
    table["cases"] -= 1


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change_array("expected.npz", "result"), "what is expected is not what is drawn for"),
        (change_array("cases.npz", "accumulator"), "what is asked is not what is drawn for"),
        (leave_out_last, r"has \d+ cases of requantizer, and \d+ are drawn by profile tflite"),
        (
            lambda folder, table: table.update(level="standard"),
            r"has \d+ cases of requantizer, and .* level standard, seed 3; write the vectors",
        ),
        (
            lambda folder, table: table.update(seed=4),
            r"what is asked is not what|has \d+ cases .* seed 4;",
        ),
        (
            lambda folder, table: table["profile"]["limits"].update(clamp=[[0, 1]]),
            r"are drawn by profile tflite|is not what is drawn",
        ),
    ],
    ids=["expected", "asked", "left out", "level", "seed", "limits"],
)
def test_an_edited_unit_is_told(tmp_path: Path, edit: Edit, message: str) -> None:
    folder = of_unit(tmp_path)
    assert judge_folders(folder, folder, power=False).statement.holds
    edited(folder, edit)
    assert re.search(message, said(folder, folder))


@pytest.mark.parametrize("form", ["hex", "csv"])
def test_a_result_that_was_made_to_fit_is_told_in_text_too(tmp_path: Path, form: Format) -> None:
    folder = of_unit(tmp_path, form)

    def edit(folder: Path, table: dict[str, Any]) -> None:
        path = folder / f"expected.{form}"
        lines = path.read_text().splitlines()
        lines[-1] = "01" if lines[-1] != "01" else "02"
        path.write_text("\n".join([*lines, ""]))

    edited(folder, edit)
    assert "what is expected is not what is drawn for requantizer, profile" in said(folder, folder)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.usual(count=7)
def test_units_in_all_formats_are_what_is_drawn(unit: str, form: Format, tmp_path: Path) -> None:
    write_unit(tmp_path, unit, TFLITE, "smoke", form, 5)
    vectors = load_vectors(tmp_path)
    assert (vectors.unit, vectors.level, vectors.seed) == (unit, "smoke", 5)
    assert vectors.profile == TFLITE
    cases, drawn = unit_cases_of(vectors), unit_cases(unit, TFLITE, "smoke", 5)
    for found, wanted in ((cases.inputs, drawn.inputs), (cases.results, drawn.results)):
        assert found.keys() == wanted.keys()
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values, strict=True)
    kinds = drawn.kinds if form in ("npz", "csv") else np.full(len(drawn), "")
    assert cases.kinds.tolist() == kinds.tolist()


def change_expected(folder: Path, table: dict[str, Any]) -> None:
    (name,) = np.load(folder / "ADD/0002/expected.npz").files
    change_array("ADD/0002/expected.npz", name)(folder, table)


def another_model(folder: Path, table: dict[str, Any]) -> None:
    for file in ("model.tflite", "inputs.npz", "expected.npz"):
        shutil.copy(folder / "ADD/0001" / file, folder / "ADD/0002" / file)


def leave_out(folder: Path, table: dict[str, Any]) -> None:
    shutil.rmtree(folder / "ADD/0002")
    del table["cases"]["ADD/0002"]


def leave_out_a_claim(folder: Path, table: dict[str, Any]) -> None:
    shutil.rmtree(folder / "SHAPE")
    table["cases"] = {name: e for name, e in table["cases"].items() if name[:6] != "SHAPE/"}


def compute_what_is_refused(folder: Path, table: dict[str, Any]) -> None:
    name = next(n for n, e in table["cases"].items() if n[:3] == "ADD" and e["expect"] == "refused")
    shutil.copy(folder / "ADD/0002/expected.npz", folder / name / "expected.npz")
    table["cases"][name]["expect"] = "tensors"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change_expected, "ADD/0002: is not what is drawn for operators, profile tflite, level"),
        (another_model, "ADD/0002: is not what is drawn for operators"),
        (leave_out, "has 3 cases of ADD, and 4 are drawn by profile tflite, level smoke, seed 3"),
        (
            leave_out_a_claim,
            "has cases of ADD, ADD.strictness, and its manifest names ['ADD', 'SHAPE', 'ADD.st",
        ),
        (
            lambda folder, table: table.pop("operators"),
            "ADD, SHAPE, ADD.strictness, and its manifest names None",
        ),
        (compute_what_is_refused, ": is not what is drawn for operators"),
        (lambda folder, table: table.update(level="standard"), "has 4 cases of ADD, and "),
    ],
    ids=["expected", "another model", "left out", "claim", "no claims", "not refused", "level"],
)
def test_an_edited_model_is_told(
    tmp_path: Path, edit: Edit, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, results = of_models(tmp_path, "ADD", "SHAPE", "ADD.strictness")
    monkeypatch.setattr("eightfold.conformance.vectors.models.MODELS", COUNTS)
    edited(vectors, edit)
    assert message in said(vectors, results)


COUNTS = {"smoke": 4, "standard": 5, "full": 6}
"""Models of a level: fewer, so that to draw them again takes less time."""


def test_a_network_of_another_seed_is_told(tmp_path: Path) -> None:
    vectors, results = of_models(tmp_path, NETWORKS)
    assert judge_folders(vectors, results, power=False).statement.holds
    edited(vectors, lambda folder, table: table.update(seed=4))
    assert "networks/0000: is not what is drawn for networks" in said(vectors, results)


@pytest.mark.slow
def test_the_command_draws_once_and_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path / "cache"))
    vectors, results = of_models(tmp_path, "ADD", "SHAPE", "ADD.strictness")
    words = ("conform", "judge", vectors, "--results", results)
    first = call(*words)
    assert first[0] == 0
    monkeypatch.setattr(
        "eightfold.conformance.results.vectors.model_digests",
        lambda *which: pytest.fail("drawn again"),
    )
    assert call(*words) == first
    edited(vectors, change_expected)
    status, _, error = call(*words)
    assert (status, len(error.splitlines())) == (2, 1)
    assert "ADD/0002: is not what is drawn" in error


def test_models_come_back(tmp_path: Path) -> None:
    write_models(tmp_path, ["ADD", "ADD.strictness"], TFLITE, "smoke", 2)
    found = model_cases_of(load_vectors(tmp_path))
    assert list(found) == ["ADD", "ADD.strictness"]
    for operator, cases in found.items():
        drawn = list(model_cases(operator, TFLITE, "smoke", 2))
        assert list(cases) == [f"{operator}/{number:04}" for number in range(len(drawn))]
        for got, wanted in zip(cases.values(), drawn, strict=True):
            assert (got.model, got.refusal) == (wanted.model, wanted.refusal)
            for arrays, others in ((got.inputs, wanted.inputs), (got.tensors, wanted.tensors)):
                assert arrays.keys() == others.keys()
                for index, values in others.items():
                    np.testing.assert_array_equal(arrays[index], values, strict=True)


def change(folder: Path, **fields: object) -> None:
    """Change fields of a manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_what_has_changed_is_no_vector(tmp_path: Path) -> None:
    write_unit(tmp_path, "dot", TFLITE)
    path = tmp_path / "expected.hex"
    text = path.read_text()
    path.write_text(text[:-2] + ("0" if text[-2] != "0" else "1") + "\n")
    with pytest.raises(InputError, match=r"expected.hex: has changed since it was written; write"):
        load_vectors(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=r"expected.hex: No such file .*, and the manifest names"):
        load_vectors(tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"kit": "0.9"},
            r"of kit 0.9, and this is 2.0; judge by an Eightfold of kit 0.9, or write the vectors",
        ),
        ({"profile": {"name": "a", "spec": "b"}}, r"profile: spec must be one of"),
        ({"level": "most"}, "level or unit"),
        ({"unit": "adder"}, "level or unit"),
        ({"seed": "3"}, "not a manifest of vectors: no seed"),
        ({"identity": None}, "not a manifest of vectors: no identity"),
    ],
)
def test_a_manifest_of_something_else_is_refused(
    fields: dict, message: str, tmp_path: Path
) -> None:
    write_unit(tmp_path, "dot", TFLITE)
    change(tmp_path, **fields)
    with pytest.raises(InputError, match=message):
        load_vectors(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"a"', "{}", "[" * 100_000, "\ufeff"])
def test_a_manifest_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest.json: not a manifest of vectors"):
        load_vectors(tmp_path)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("name a folder that eightfold vectors has")):
        load_vectors(tmp_path)


@pytest.mark.slow
def test_a_manifest_that_promises_more_cases_is_refused(tmp_path: Path) -> None:
    for form in FORMATS:
        write_unit(tmp_path / form, "dot", TFLITE, form=form)
        change(tmp_path / form, cases=1601)
        with pytest.raises(InputError, match="has 1601 cases of dot, and 1600 are drawn by"):
            unit_cases_of(load_vectors(tmp_path / form))
        change(tmp_path / form, cases=1600, format="hex" if form != "hex" else "npz")
        with pytest.raises(InputError, match="not as its manifest says"):
            unit_cases_of(load_vectors(tmp_path / form))
        change(tmp_path / form, format="xml")
        with pytest.raises(InputError, match="not as its manifest says: .* no such format"):
            unit_cases_of(load_vectors(tmp_path / form))
