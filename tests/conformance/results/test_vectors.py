"""Vectors are read as they were written, in every format, or not at all."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.results.vectors import (
    load_vectors,
    model_cases_of,
    unit_cases_of,
)
from eightfold.conformance.vectors.operators import operator_cases, write_operators
from eightfold.conformance.vectors.unit_files import FORMATS, write_unit

TFLITE = PROFILES["tflite"]


def test_models_come_back(tmp_path: Path) -> None:
    write_operators(tmp_path, ["ADD", "SHAPE"], TFLITE, "smoke", 2)
    found = model_cases_of(load_vectors(tmp_path))
    assert list(found) == ["ADD", "SHAPE"]
    for operator, cases in found.items():
        drawn = list(operator_cases(operator, TFLITE, "smoke", 2))
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
            r"of kit 0.9, and this is 1.1; judge by an Eightfold of kit 0.9, or write the vectors",
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
