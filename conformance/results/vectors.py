"""Folders of ``eightfold vectors``, read again, and held against the cases that are drawn anew.

Checksums tell that a file has changed on its way. Who edits files on purpose writes checksums too:
cases of another level, expectations that suit the results, cases that are left out. So a judge
draws kit, profile, level and seed once more, and looks that the folder has the same.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.profile import NETWORKS, Profile
from eightfold.conformance.tensors import read_npz
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import LEVELS, Level, UnitCases
from eightfold.conformance.vectors.manifest import NAME
from eightfold.conformance.vectors.models import (
    OperatorCase,
    digest_of_arrays,
    digest_of_cases,
    model_cases,
)
from eightfold.conformance.vectors.unit_files import DATA_FILES, FORMATS, unit_files
from eightfold.conformance.verdict import KIT

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
    """Return a folder's manifest. Raises InputError if there is none, or the file is no manifest of
    vectors."""
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
        if not isinstance(table, dict) or type(table.get(name)) is not kind:
            raise InputError(f"{path}: not a manifest of vectors: no {name}; {AGAIN}")
    if table["seed"] < 0 or any("\0" in name for name in table["files"]):
        raise InputError(f"{path}: not a manifest of vectors: seed or files; {AGAIN}")
    return table


def load_vectors(folder: Path) -> Vectors:
    """Return a folder of vectors, every file of it checked. Raises InputError if there is no
    manifest, it is of another kit, or a file is missing or has changed."""
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


def _unlike(folder: Path, why: object) -> InputError:
    return InputError(f"{folder}: not as its manifest says: {why}; {AGAIN}")


def unit_cases_of(vectors: Vectors) -> UnitCases:
    """Draw the cases of a unit again, and return them once the folder is seen to have the same.

    Words and arrays of C do not say of what kind a case is: kinds are empty.

    Raises InputError if the folder has other cases or other results, or a file does not hold what
    its manifest says.
    """
    form, count = vectors.manifest.get("format"), vectors.manifest.get("cases")
    if form not in FORMATS or type(count) is not int:
        raise _unlike(vectors.folder, "no number of cases, or no such format")
    files, drawn = unit_files(vectors.unit, vectors.profile, vectors.level, form, vectors.seed)
    _check_count(vectors, vectors.unit, count, len(drawn))
    for name in DATA_FILES[form]:
        what = "what is expected" if name.startswith("expected") else "what is asked"
        if not _is_same(vectors.folder / name, files[name]):
            raise InputError(f"{vectors.folder}: {what} is {_not_drawn(vectors)}")
    return drawn if form in ("npz", "csv") else replace(drawn, kinds=np.full(count, ""))


def _is_same(path: Path, drawn: bytes) -> bool:
    """Return whether a file has what was drawn; of an archive, whatever it is packed like."""
    try:
        if path.suffix != ".npz":
            return path.read_bytes() == drawn
        with np.load(path, allow_pickle=False) as found, np.load(io.BytesIO(drawn)) as wanted:
            return digest_of_arrays([found]) == digest_of_arrays([wanted])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise _unlike(path.parent, error) from None


def model_cases_of(vectors: Vectors) -> dict[str, dict[str, OperatorCase]]:
    """Return the cases of models by claim, and by the folder of each, in their order. Raises
    InputError if a file does not hold what the manifest says."""
    found: dict[str, dict[str, OperatorCase]] = {}
    try:
        for name, entry in vectors.manifest["cases"].items():
            cases = found.setdefault(entry["operator"], {})
            cases[name] = _model_case(vectors.folder / name, entry)
    except (ValueError, KeyError, AttributeError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise _unlike(vectors.folder, error) from None
    return found


def _model_case(folder: Path, entry: Mapping[str, Any]) -> OperatorCase:
    model = (folder / "model.tflite").read_bytes()
    inputs, expected = folder / "inputs.npz", folder / "expected.npz"
    refused = entry["expect"] == "refused"
    return OperatorCase(
        entry["operator"],
        model,
        read_npz(inputs) if inputs.exists() or not refused else {},
        {} if refused else read_npz(expected),
        entry["reason"] if refused else "",
    )


Draw = Callable[[str, Profile, Level, int], list[str]]
"""Returns the digest of each model of a claim, profile, level and seed, as `model_digests` does."""


def model_digests(claim: str, profile: Profile, level: Level, seed: int) -> list[str]:
    """Draw the models of an operator, or networks; return the digest of each in their order. Raises
    InputError as `eightfold.conformance.vectors.models.model_cases`."""
    return [digest_of_cases([case]) for case in model_cases(claim, profile, level, seed)]


def check_models(
    vectors: Vectors, claims: Mapping[str, Mapping[str, OperatorCase]], draw: Draw
) -> None:
    """Check that the models of a folder are those that are drawn.

    ``claims``: models by claim, and by the folder of each, in the order of the manifest. ``draw``:
    what draws again, such as `model_digests`.

    Raises InputError if a claim or a model is missing or another, or anything of it.
    """
    planned = [NETWORKS] if vectors.unit == NETWORKS else vectors.manifest.get("operators")
    if isinstance(planned, list):  # an aspect may have no cases
        drawn_by = vectors.profile, vectors.level, vectors.seed
        named = map(str, planned)
        planned = [p for p in named if p in claims or "." not in p or draw(p, *drawn_by)]
    if not isinstance(planned, list) or set(claims) != set(planned):
        raise InputError(
            f"{vectors.folder}: has cases of {', '.join(claims) or 'nothing'}, and its manifest "
            f"names {planned}; {AGAIN}"
        )
    for claim, cases in claims.items():
        drawn = draw(claim, vectors.profile, vectors.level, vectors.seed)
        _check_count(vectors, claim, len(cases), len(drawn))
        for (name, case), wanted in zip(sorted(cases.items()), drawn, strict=True):
            if digest_of_cases([case]) != wanted:
                raise InputError(f"{vectors.folder / name}: is {_not_drawn(vectors)}")


def _check_count(vectors: Vectors, claim: str, found: int, drawn: int) -> None:
    if found != drawn:
        raise InputError(
            f"{vectors.folder}: has {found} cases of {claim}, and {drawn} are drawn by profile "
            f"{vectors.profile.name}, level {vectors.level}, seed {vectors.seed}; {AGAIN}"
        )


def _not_drawn(vectors: Vectors) -> str:
    return f"not what is drawn for {vectors.drawn_by}: it was edited since; {AGAIN}"
