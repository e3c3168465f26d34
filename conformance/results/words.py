"""``results.hex``: a word of hexadecimal digits for each case, as ``$fdisplay`` writes them.

Comments and blanks are as ``$readmemh`` takes them. A digit that is x or z is four bits that are
neither 0 nor 1.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.results.vectors import split_words
from eightfold.conformance.units.unit import Column
from eightfold.conformance.vectors.manifest import IDENTITY

SHOWN = 24
"""Characters of a wrong line that a message has."""

_WORD = re.compile(rb"[0-9a-fA-FxXzZ]+")
_IDENTITY = re.compile(rf"//\s*{IDENTITY} ([0-9a-f]{{64}}): ([^\n\r]*)".encode())


def read_words(
    path: Path, columns: tuple[Column, ...], count: int
) -> tuple[UnitAnswers, tuple[str, str] | None]:
    """Return the answers of a file, and its identity: the SHA-256 of cases, and what they are.

    Parameters
    ----------
    columns
        Of the unit's results.
    count
        Of cases; those that have no word are missing, and words beyond them are extra.

    Raises
    ------
    InputError
        If it cannot be read, or a word is no word of results; the message names the line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be a file of results") from None
    digits = sum(column.width for column in columns) // 4
    words = list(_checked_words(path, text, digits))
    data, unknown = _nibbles(words[:count], digits)
    results = {}
    values = split_words(data, columns)
    undefined = split_words(unknown, columns)
    for column in columns:
        shape = (count,) if column.length == 1 else (count, column.length)
        filled = np.full(shape, MISSING, dtype=np.int64)
        known = np.where(undefined[column.name] != 0, UNKNOWN, values[column.name].astype(np.int64))
        filled[: len(known)] = known
        results[column.name] = filled
    found = _IDENTITY.search(text)
    identity = (found[1].decode(), found[2].decode("utf-8", "replace").strip()) if found else None
    return UnitAnswers(results=results, extra=max(0, len(words) - count)), identity


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


def _nibbles(words: list[bytes], digits: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the bytes of words, the lowest first, and which of their bits are unknown."""
    characters = np.frombuffer(b"".join(words), np.uint8).reshape(len(words), digits)
    values, unknown = _VALUES[characters], _UNKNOWN[characters]
    return tuple(
        np.asarray((half[:, ::2] << 4 | half[:, 1::2])[:, ::-1], order="C")
        for half in (values, unknown)
    )  # pyright: ignore[reportReturnType]


_VALUES, _UNKNOWN = np.zeros((2, 256), np.uint8)
for _digit in "0123456789abcdef":
    _VALUES[[ord(_digit), ord(_digit.upper())]] = int(_digit, 16)
_UNKNOWN[[ord(each) for each in "xXzZ"]] = 15
