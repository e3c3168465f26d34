"""Folders of ``eightfold vectors``, read again; `drawn` says whether they are what they seem."""

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import LEVELS, Column, Level, UnitCases
from eightfold.conformance.vectors.manifest import NAME
from eightfold.conformance.vectors.operators import OperatorCase
from eightfold.conformance.verdict import KIT, NETWORKS

OF_MODELS = ("operators", NETWORKS)
"""Units of manifests of models."""

AGAIN = "write the vectors again with eightfold vectors"


@dataclass(frozen=True)
class Vectors:
    """A folder of vectors whose files are those that the manifest names."""

    folder: Path
    manifest: Mapping[str, Any]
    profile: Profile
    level: Level
    seed: int
    unit: str
    """A name of `UNIT_KINDS` or of `OF_MODELS`."""
    identity: str
    """SHA-256 of what is asked."""

    @property
    def drawn_by(self) -> str:
        """Which cases these are, in words."""
        return f"{self.unit}, profile {self.profile.name}, level {self.level}, seed {self.seed}"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest.

    Raises
    ------
    InputError
        If there is none, or the file is no manifest of vectors.
    """
    path = folder / NAME
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; name a folder that eightfold vectors has written"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a manifest of vectors: {error}; {AGAIN}") from None
    wanted = {"kit": str, "profile": dict, "level": str, "seed": int, "unit": str, "files": dict}
    wanted["identity"] = str
    for name, kind in wanted.items():
        if not isinstance(table, dict) or not isinstance(table.get(name), kind):
            raise InputError(f"{path}: not a manifest of vectors: no {name}; {AGAIN}")
    return table


def load_vectors(folder: Path) -> Vectors:
    """Return a folder of vectors, every file of it checked.

    Raises
    ------
    InputError
        If there is no manifest, it is of another kit, or a file is missing or has changed.
    """
    table = read_manifest(folder)
    path = folder / NAME
    if table["kit"] != KIT:
        raise InputError(
            f"{path}: of kit {table['kit']}, and this is {KIT}; judge by an Eightfold of kit "
            f"{table['kit']}, or {AGAIN} and make the results anew"
        )
    try:
        profile = Profile.from_dict(table["profile"])
    except InputError as error:
        raise InputError(f"{path}: profile: {error}; {AGAIN}") from None
    if table["level"] not in LEVELS or table["unit"] not in (*UNIT_KINDS, *OF_MODELS):
        raise InputError(f"{path}: not a manifest of vectors: level or unit; {AGAIN}")
    for name, wanted in table["files"].items():
        _check_sum(folder / name, wanted)
    return Vectors(
        folder=folder,
        manifest=table,
        profile=profile,
        level=cast(Level, table["level"]),
        seed=table["seed"],
        unit=table["unit"],
        identity=table["identity"],
    )


def _check_sum(path: Path, wanted: object) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}, and the manifest names it; {AGAIN}") from None
    if found != wanted:
        raise InputError(f"{path}: has changed since it was written; {AGAIN}")


def unit_cases_of(vectors: Vectors) -> UnitCases:
    """Return the cases of a unit from any of the formats.

    Words and arrays of C do not say of what kind a case is: kinds are empty.

    Raises
    ------
    InputError
        If a file does not hold what its manifest says.
    """
    kind = UNIT_KINDS[vectors.unit]
    count = vectors.manifest.get("cases")
    form = vectors.manifest.get("format")
    try:
        if not isinstance(count, int) or form not in _READERS:
            raise ValueError("no number of cases, or no such format")
        asked, expected, kinds = _READERS[form](vectors.folder, kind.inputs, kind.results)
        sizes = {len(values) for values in (*asked.values(), *expected.values())}
        if sizes != {count}:
            raise ValueError(f"{sizes} cases, not {count}")
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{vectors.folder}: not as its manifest says: {error}; {AGAIN}") from None
    kinds = np.full(count, "") if kinds is None else kinds
    return UnitCases(asked, expected, kinds, vectors.manifest.get("left_out", {}))


Arrays = dict[str, NDArray[Any]]
Read = tuple[Arrays, Arrays, NDArray[np.str_] | None]
Columns = tuple[Column, ...]


def _from_hex(folder: Path, inputs: Columns, results: Columns) -> Read:
    return (
        _words(folder / "cases.hex", inputs),
        _words(folder / "expected.hex", results),
        None,
    )


def _words(path: Path, columns: Columns) -> Arrays:
    width = sum(column.width for column in columns) // 8
    data = np.frombuffer(bytes.fromhex(path.read_text(encoding="ascii")), np.uint8)
    return split_words(data.reshape(-1, width)[:, ::-1], columns)


def split_words(data: NDArray[np.uint8], columns: Columns) -> Arrays:
    """Return the columns of words: shape (n, bytes), the lowest byte first."""
    arrays, start = {}, 0
    for column in columns:
        end = start + column.width // 8
        values = np.asarray(data[:, start:end], order="C").view(column.dtype)
        arrays[column.name] = values[:, 0] if column.length == 1 else values
        start = end
    return arrays


def _from_npz(folder: Path, inputs: Columns, results: Columns) -> Read:
    with np.load(folder / "cases.npz", allow_pickle=False) as archive:
        asked = {column.name: archive[column.name] for column in inputs}
        kinds = archive["kind"]
    with np.load(folder / "expected.npz", allow_pickle=False) as archive:
        expected = {column.name: archive[column.name] for column in results}
    return asked, expected, kinds


def _from_csv(folder: Path, inputs: Columns, results: Columns) -> Read:
    asked, kinds = _lines(folder / "cases.csv", inputs)
    expected, _ = _lines(folder / "expected.csv", results)
    return asked, expected, kinds


def _lines(path: Path, columns: Columns) -> tuple[Arrays, NDArray[np.str_]]:
    names, *lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
    read = dict(zip(names, zip(*lines, strict=True), strict=True))
    arrays = {}
    for column in columns:
        values = [np.array(read[name], dtype=np.int64) for name in column_names(column)]
        joined = values[0] if column.length == 1 else np.stack(values, axis=1)
        arrays[column.name] = joined.astype(column.dtype)
    return arrays, np.array(read.get("kind", ()))


def column_names(column: Column) -> list[str]:
    """Return the names of a column in a line of csv: a list has one for each element."""
    if column.length == 1:
        return [column.name]
    return [f"{column.name}_{place}" for place in range(column.length)]


def _from_c(folder: Path, inputs: Columns, results: Columns) -> Read:
    text = (folder / "vectors.h").read_text(encoding="ascii")
    return (
        _array_of(text, "eightfold_cases", inputs),
        _array_of(text, "eightfold_expected", results),
        None,
    )


def _array_of(text: str, name: str, columns: Columns) -> Arrays:
    """Return the columns of an array of structures."""
    found = re.search(rf"\b{name}\[EIGHTFOLD_CASES\] = \{{\n(.*?)\n\}};", text, re.DOTALL)
    if found is None:
        raise ValueError(f"no {name} in vectors.h")
    body = found[1].replace("INT32_MIN", str(-(1 << 31)))
    numbers = np.array(re.sub(r"[{},u]+", " ", body).split(), dtype=np.int64)
    rows = numbers.reshape(-1, sum(column.length for column in columns))
    arrays, start = {}, 0
    for column in columns:
        values = rows[:, start : start + column.length].astype(column.dtype)
        arrays[column.name] = values[:, 0] if column.length == 1 else values
        start += column.length
    return arrays


_READERS = {"hex": _from_hex, "npz": _from_npz, "csv": _from_csv, "c": _from_c}


def model_cases_of(vectors: Vectors) -> dict[str, dict[str, OperatorCase]]:
    """Return the cases of models by claim, and by the folder of each, in their order.

    Raises
    ------
    InputError
        If a file does not hold what the manifest says.
    """
    found: dict[str, dict[str, OperatorCase]] = {}
    try:
        for name, entry in vectors.manifest["cases"].items():
            cases = found.setdefault(entry["operator"], {})
            cases[name] = _model_case(vectors.folder / name, entry)
    except (ValueError, KeyError, AttributeError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{vectors.folder}: not as its manifest says: {error}; {AGAIN}") from None
    return found


def _model_case(folder: Path, entry: Mapping[str, Any]) -> OperatorCase:
    model = (folder / "model.tflite").read_bytes()
    inputs, expected = folder / "inputs.npz", folder / "expected.npz"
    refused = entry["expect"] == "refused"
    return OperatorCase(
        entry["operator"],
        model,
        _tensors(inputs) if inputs.exists() or not refused else {},
        {} if refused else _tensors(expected),
        entry["reason"] if refused else "",
    )


def _tensors(path: Path) -> dict[int, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {int(name.removeprefix("tensor_")): archive[name] for name in archive.files}
