"""The files of one unit, in one format, with their manifest."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Literal, get_args

from eightfold.common.files import write_files
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from eightfold.conformance.units.unit import Level, UnitCases
from eightfold.conformance.vectors.arrays import csv_files, npz_files
from eightfold.conformance.vectors.c_source import c_files
from eightfold.conformance.vectors.hexadecimal import hex_files, hex_lines
from eightfold.conformance.vectors.manifest import (
    NAME,
    checksums,
    described,
    identity_line,
    manifest,
)

Format = Literal["hex", "npz", "csv", "c"]

FORMATS: tuple[Format, ...] = get_args(Format)

_WRITERS = {"hex": hex_files, "npz": npz_files, "csv": csv_files, "c": c_files}


def unit_files(
    unit: str, profile: Profile, level: Level = "smoke", form: Format = "hex", seed: int = 0
) -> tuple[dict[str, bytes], UnitCases]:
    """Return the files of a unit by their names, ``manifest.json`` first, and its cases.

    Raises
    ------
    InputError
        As `eightfold.conformance.units.registry.unit_cases`.
    """
    cases = unit_cases(unit, profile, level, seed)
    kind = UNIT_KINDS[unit]
    identity = hashlib.sha256(hex_lines(kind.inputs, cases.inputs)).hexdigest()
    origin = identity_line(identity, unit, profile.name, level, seed)
    files = _WRITERS[form](kind, cases, origin)
    what = {
        "unit": unit,
        "format": form,
        "cases": len(cases),
        "identity": identity,
        "kinds": dict(sorted(Counter(cases.kinds.tolist()).items())),
        "left_out": dict(cases.left_out),
        "inputs": described(kind.inputs),
        "results": described(kind.results),
    }
    return {NAME: manifest(what, profile, level, seed, checksums(files)), **files}, cases


def write_unit(
    folder: Path,
    unit: str,
    profile: Profile,
    level: Level = "smoke",
    form: Format = "hex",
    seed: int = 0,
) -> tuple[dict[str, bytes], UnitCases]:
    """Write `unit_files` into a folder, all or none, and return them.

    Raises
    ------
    InputError
        As `unit_files`, and if the folder cannot be written.
    """
    files, cases = unit_files(unit, profile, level, form, seed)
    write_files({folder / name: content for name, content in files.items()})
    return files, cases
