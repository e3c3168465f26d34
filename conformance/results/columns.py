"""``results.npz`` and ``results.csv``: a number, or a list of numbers, of each column."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.results.vectors import column_names
from eightfold.conformance.units.unit import Column

FAR = 2**62
"""Numbers beyond it are as wrong as this."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file.

    Raises
    ------
    InputError
        If it cannot be read: it is not there, is cut, or holds Python objects.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        reason = error.strerror or error
    except Exception as error:  # a damaged archive raises whatever zipfile, zlib or numpy likes
        reason = error
    raise InputError(f"{path}: cannot be read as .npz: {reason}; see whether the file was cut")


def read_npz(path: Path, columns: tuple[Column, ...], count: int) -> UnitAnswers:
    """Return the answers of an array for each column; see `words.read_words`.

    Raises
    ------
    InputError
        If a column is missing or unknown, or its type or shape is another.
    """
    arrays = read_arrays(path)
    _check_names(path, [*arrays], [column.name for column in columns])
    for column in columns:
        _check_array(path, column, arrays[column.name])
    return _answers(path, {c.name: _bounded(arrays[c.name]) for c in columns}, columns, count)


def read_csv(path: Path, columns: tuple[Column, ...], count: int) -> UnitAnswers:
    """Return the answers of a line of names and a line for each case; see `words.read_words`.

    A cell is an integer; nothing if a result is missing, x if its bits are unknown.

    Raises
    ------
    InputError
        If it cannot be read, a column is missing or unknown, or a cell is something else.
    """
    names = [name for column in columns for name in column_names(column)]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            heading = [name.strip() for name in next(reader, [])]
            _check_names(path, heading, names)
            lines = [_cells(path, reader.line_num, line, heading) for line in reader if line]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be a file of results") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as .csv: {error}") from None
    table = np.array(lines, dtype=np.int64).reshape(-1, len(heading))
    arrays = {}
    for column in columns:
        places = [heading.index(name) for name in column_names(column)]
        arrays[column.name] = table[:, places[0]] if column.length == 1 else table[:, places]
    return _answers(path, arrays, columns, count)


def _cells(path: Path, number: int, line: list[str], heading: list[str]) -> list[int]:
    if len(line) != len(heading):
        raise InputError(
            f"{path}: line {number} has {len(line)} columns, and the first line {len(heading)}; "
            "see whether the file was cut"
        )
    return [
        _cell(path, number, name, text.strip()) for name, text in zip(heading, line, strict=True)
    ]


def _cell(path: Path, number: int, name: str, text: str) -> int:
    if not text:
        return MISSING
    if text.lower() in ("x", "z"):
        return UNKNOWN
    try:
        return min(max(int(text), -FAR), FAR)
    except ValueError:
        raise InputError(
            f"{path}: line {number}: {name} is {text[:24]!r}; give an integer, x, or nothing"
        ) from None


def _check_names(path: Path, found: list[str], wanted: list[str]) -> None:
    if len(set(found)) != len(found):
        raise InputError(f"{path}: a column is there twice")
    if absent := [name for name in wanted if name not in found]:
        raise InputError(f"{path}: no column {absent[0]}; results have {_some(wanted)}")
    if unknown := [name for name in found if name not in wanted]:
        raise InputError(f"{path}: unknown column {unknown[0]!r}; results have {_some(wanted)}")


def _some(names: list[str]) -> str:
    return ", ".join(names if len(names) < 8 else [*names[:2], "...", names[-1]])


def _check_array(path: Path, column: Column, values: NDArray[Any]) -> None:
    hint = "; give the bits, .view(np.uint32)" if values.dtype == np.float32 else ""
    if values.dtype.kind not in "iu" or (column.signed and values.dtype.kind == "u"):
        raise InputError(f"{path}: {column.name} is {values.dtype}, not {column.dtype}{hint}")
    lengths = () if column.length == 1 else (column.length,)
    if values.ndim != 1 + len(lengths) or values.shape[1:] != lengths:
        wanted = ", ".join(["cases", *map(str, lengths)])
        raise InputError(f"{path}: {column.name} has shape {values.shape}, not ({wanted})")


def _bounded(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype == np.uint64:
        return np.minimum(values, np.uint64(FAR)).astype(np.int64)
    return np.clip(values.astype(np.int64), -FAR, FAR)


def _answers(
    path: Path, arrays: Mapping[str, NDArray[np.int64]], columns: tuple[Column, ...], count: int
) -> UnitAnswers:
    sizes = {len(values) for values in arrays.values()}
    if len(sizes) != 1:
        raise InputError(f"{path}: columns of {', '.join(map(str, sorted(sizes)))} cases")
    (size,) = sizes
    results = {}
    for column in columns:
        filled = np.full((count, *arrays[column.name].shape[1:]), MISSING, dtype=np.int64)
        filled[:size] = arrays[column.name][:count]
        results[column.name] = filled
    return UnitAnswers(results=results, extra=max(0, size - count))
