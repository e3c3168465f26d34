"""Cases as ``.npz`` and as ``.csv``."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.units.unit import UnitCases, UnitKind

Arrays = Mapping[str, NDArray[Any]]


def npz_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.npz``, an array of each column and ``kind``, and ``expected.npz``."""
    return {
        "cases.npz": _npz({**cases.inputs, "kind": cases.kinds}),
        "expected.npz": _npz(cases.results),
    }


def csv_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.csv`` and ``expected.csv``: a line of names, then a line per case.

    A list has a column for each element: ``inputs_0``, ``inputs_1``, ...
    """
    return {
        "cases.csv": _csv({**cases.inputs, "kind": cases.kinds}),
        "expected.csv": _csv(cases.results),
    }


def _npz(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _csv(arrays: Arrays) -> bytes:
    names: list[str] = []
    columns: list[list[Any]] = []
    for name, array in arrays.items():
        if array.ndim == 1:
            names.append(name)
            columns.append(array.tolist())
        else:
            names += [f"{name}_{place}" for place in range(array.shape[1])]
            columns += array.T.tolist()
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    return "\n".join([",".join(names), *lines, ""]).encode()
