"""The answers of a unit from a folder of results, and whether they say whose cases they are of.

``results.hex`` has a word of hexadecimal digits for each case, as ``$fdisplay`` writes them, with
comments and blanks as ``$readmemh`` takes them; a digit that is x or z is four bits that are
neither 0 nor 1. ``results.npz`` and ``results.csv`` have a number, or a list of numbers, of each
column.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays
from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.results.vectors import Vectors, read_manifest
from eightfold.conformance.tensors import DIGITS, Element, columns_of_words
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import Column
from eightfold.conformance.vectors.manifest import COUNTS, IDENTITY, NAME

SHOWN = 24
"""Characters of a wrong line that a message has."""

_WORD = re.compile(rb"[0-9a-fA-FxXzZ]+")
_COUNTS = re.compile(rf"// {COUNTS}((?: \w+ \d{{1,18}})+)\s*$".encode())
_IDENTITY = re.compile(rf"//\s*{IDENTITY} ([0-9a-f]{{64}}): ([^\n\r]*)".encode())


def read_words(
    path: Path, columns: tuple[Column, ...], count: int
) -> tuple[UnitAnswers, tuple[str, str] | None]:
    """Return the answers of a file, and its identity: the SHA-256 of cases, and what they are.

    ``columns``: of the unit's results. ``count``: of cases; those that have no word are missing,
    and words beyond them are extra.

    Raises InputError if it cannot be read, or a word is no word of results; the message names the
    line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be a file of results") from None
    digits = sum(column.width for column in columns) // 4
    listed = b"".join(_checked_words(path, text, digits))
    words = DIGITS[np.frombuffer(listed, np.uint8)].reshape(-1, digits)
    elements = [
        Element(column.name, index, column.bits, column.signed)
        for column in columns
        for index in range(column.length)
    ]
    shapes = {column.name: column.shape(count) for column in columns}
    results = columns_of_words(words[:count], elements, shapes)
    found = _IDENTITY.search(text)
    identity = (found[1].decode(), found[2].decode("utf-8", "replace").strip()) if found else None
    counted = _counted(text)
    extra = max(0, len(words) - count) + counted.get("early", 0) + counted.get("late", 0)
    told = ("early", "late", "unknown_valid", "unknown_ready")
    said = ", ".join(f"{counted[name]} {name}" for name in told if counted.get(name))
    note = f"the bench has counted {said}" if said else ""
    return UnitAnswers(results=results, extra=extra, note=note), identity


def _counted(text: bytes) -> dict[str, int]:
    """Return what a bench has counted, by name; nothing if it did not."""
    found = _COUNTS.search(text)
    words = found[1].decode().split() if found else []
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def _checked_words(path: Path, text: bytes, digits: int) -> Iterator[bytes]:
    # A comment becomes as many lines as it had.
    plain = re.sub(
        rb"//[^\n]*|/\*.*?\*/", lambda found: b"\n" * found[0].count(b"\n"), text, flags=re.DOTALL
    )
    for number, line in enumerate(plain.split(b"\n"), start=1):
        for word in line.split():
            bare = word.replace(b"_", b"") if b"_" in word else word
            if len(bare) != digits or not _WORD.fullmatch(bare):
                raise InputError(_complaint(path, number, bare, digits))
            yield bare


def _complaint(path: Path, number: int, word: bytes, digits: int) -> str:
    shown = word[:SHOWN].decode("ascii", "replace")
    shown = "".join(c if c.isprintable() else "?" for c in shown) + "..." * (len(word) > SHOWN)
    if _WORD.fullmatch(word):
        return (
            f"{path}: line {number}: {shown!r} has {len(word)} digits, and a result {digits}; "
            "give whole words, and see whether the file was cut"
        )
    return f"{path}: line {number}: {shown!r} is no word of hexadecimal digits, x or z"


FAR = 2**62
"""Numbers beyond it are as wrong as this."""


def read_npz(path: Path, columns: tuple[Column, ...], count: int) -> UnitAnswers:
    """Return the answers of an array for each column; see `read_words`. Raises InputError if
    a column is missing or unknown, or its type or shape is another."""
    arrays = read_arrays(path)
    _check_names(path, [*arrays], [column.name for column in columns])
    for column in columns:
        _check_array(path, column, arrays[column.name])
    return _answers(path, {c.name: _bounded(arrays[c.name]) for c in columns}, columns, count)


def read_csv(path: Path, columns: tuple[Column, ...], count: int) -> UnitAnswers:
    """Return the answers of a line of names and a line for each case; see `read_words`.

    A cell is an integer; nothing if a result is missing, x if its bits are unknown.

    Raises InputError if it cannot be read, a column is missing or unknown, or a cell is something
    else.
    """
    names = [name for column in columns for name in column.names]
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
        places = [heading.index(name) for name in column.names]
        arrays[column.name] = table[:, places].reshape(column.shape(len(table)))
    return _answers(path, arrays, columns, count)


def _cells(path: Path, number: int, line: list[str], heading: list[str]) -> list[int]:
    if len(line) != len(heading):
        raise InputError(
            f"{path}: line {number} has {len(line)} columns, and the first line {len(heading)}; "
            "see whether the file was cut"
        )
    named = zip(heading, line, strict=True)
    return [_cell(path, number, name, text.strip()) for name, text in named]


def _cell(path: Path, number: int, name: str, text: str) -> int:
    if not text:
        return MISSING
    if text.lower() in ("x", "z"):
        return UNKNOWN
    try:
        return min(max(int(text), -FAR), FAR)
    except ValueError:
        what = f"{path}: line {number}: {name} is {text[:24]!r}"
        raise InputError(f"{what}; give an integer, x, or nothing") from None


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
    lengths = column.shape(0)[1:]
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
        filled = np.full(column.shape(count), MISSING, dtype=np.int64)
        filled[:size] = arrays[column.name][:count]
        results[column.name] = filled
    return UnitAnswers(results=results, extra=max(0, size - count))


FILES = ("results.hex", "results.npz", "results.csv")
"""What a folder of results has one of."""


def identified_answers(vectors: Vectors, results: Path) -> tuple[UnitAnswers, bool]:
    """Return the answers to a unit's cases, and whether something says that they are of these.

    ``results``: the folder with one of `FILES`; it may be that of the vectors.

    Raises InputError if there is no file of results or several, it cannot be read, or it says that
    it has the results of other cases.
    """
    answers, identity, path = read_answers(results, vectors.unit, vectors.manifest["cases"])
    if identity is not None:
        check_identity(vectors, path, *identity)
    return answers, copied_manifest(vectors, results) or identity is not None


def read_answers(
    results: Path, unit: str, count: int
) -> tuple[UnitAnswers, tuple[str, str] | None, Path]:
    """Return the answers to a unit's cases, what the file says of whose they are, and the file.
    Raises InputError if there is no file of results or several, or it cannot be read."""
    path = _file(results)
    columns = UNIT_KINDS[unit].results
    if path.suffix == ".hex":
        return *read_words(path, columns, count), path
    return (read_npz if path.suffix == ".npz" else read_csv)(path, columns, count), None, path


def _file(results: Path) -> Path:
    found = [results / name for name in FILES if (results / name).is_file()]
    if len(found) != 1:
        there = " and ".join(path.name for path in found) if found else "no results"
        raise InputError(f"{results}: {there}; give one of {', '.join(FILES)}")
    return found[0]


def copied_manifest(vectors: Vectors, results: Path) -> bool:
    """Return whether a manifest of these vectors is beside results. Raises InputError if a manifest
    is there that is of others."""
    if not (results / NAME).is_file():
        return False
    table = read_manifest(results)
    profile = table["profile"].get("name")
    says = f"{table['unit']}, profile {profile}, level {table['level']}, seed {table['seed']}"
    check_identity(vectors, results / NAME, table["identity"], says)
    return True


def check_identity(vectors: Vectors, path: Path, identity: str, says: str) -> None:
    """Raise InputError if results say that they are of other cases."""
    if identity != vectors.identity:
        raise InputError(
            f"{path}: results of other cases, of {says}; {vectors.folder} has {vectors.drawn_by}; "
            "judge results with the vectors that they were made from"
        )
