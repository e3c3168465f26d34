"""Numbers as files that every language reads: words of hexadecimal digits, and tensors.

A folder of tensors has ``tensors.txt`` with a line for each: index, type as numpy calls it, and
sizes, such as ``3 int8 1 8 8 4``. The elements of each are the file ``tensor_<index>.bin``: row by
row, the last dimension fastest, little endian, nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.files import npz_bytes
from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.model import Tensor

DIGITS = np.full(256, 16, np.uint8)
DIGITS[[ord(digit) for digit in "0123456789abcdef"]] = np.arange(16)
DIGITS[[ord(digit) for digit in "ABCDEF"]] = np.arange(10, 16)
"""Hexadecimal digits by character; others are 16."""


def hex_rows(octets: NDArray[np.uint8]) -> bytes:
    """Return a line of hexadecimal digits for each row of bytes, the lowest of which is first."""
    text = np.asarray(octets[:, ::-1], order="C").tobytes().hex()
    digits = 2 * octets.shape[1]
    lines = [text[start : start + digits] for start in range(0, len(text), digits)]
    return "\n".join([*lines, ""]).encode()


def with_sign(values: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return numbers of ``width`` bits, whose highest one is the sign."""
    return values << 64 - width >> 64 - width


@dataclass(frozen=True)
class Element:
    """A number in the words of results: its column, its place in the column's list, its bits."""

    column: str
    index: int
    width: int
    signed: bool

    @property
    def digits(self) -> int:
        """Hexadecimal digits that it has alone."""
        return -(-self.width // 4)


def columns_of_words(
    words: NDArray[np.uint8], elements: Sequence[Element], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[np.int64]]:
    """Return results by column, of words as rows of the numbers that `DIGITS` has of digits.

    ``elements``: of a word, the first at its end, each filled up to whole digits. ``shapes``: of
    each column's results, (cases,) or (cases, length): at least as many as words. Those without a
    word are `MISSING`.
    """
    results = {name: np.full(shape, MISSING, np.int64) for name, shape in shapes.items()}
    count, end = words.shape
    for element in elements:
        digits = words[:, end - element.digits : end]
        end -= element.digits
        value = np.zeros(count, np.int64)
        for column in range(digits.shape[1]):
            value = value << 4 | (digits[:, column] & 15)
        value = with_sign(value, element.width) if element.signed else value
        value = np.where((digits == 16).any(axis=1), UNKNOWN, value)
        target = results[element.column]
        (target if target.ndim == 1 else target[:, element.index])[:count] = value
    return results


LIST = "tensors.txt"


def file_of(index: int) -> str:
    return f"tensor_{index}.bin"


def tensor_line(index: int, dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    return " ".join([str(index), dtype.name, *map(str, shape)]) + "\n"


def tensor_files(arrays: Mapping[int, NDArray[Any]]) -> dict[str, bytes]:
    """Return the files of tensors by their names, in the order of ``arrays``."""
    lines = (tensor_line(index, array.dtype, array.shape) for index, array in arrays.items())
    contents = {
        file_of(index): np.asarray(array, array.dtype.newbyteorder("<"), order="C").tobytes()
        for index, array in arrays.items()
    }
    return {LIST: "".join(lines).encode(), **contents}


def read_listed(folder: Path) -> dict[int, NDArray[Any]]:
    """Return the tensors that a folder's ``tensors.txt`` lists. Raises OSError if a file cannot be
    read. Raises ValueError or TypeError if a line is none of a tensor, or a file has another
    size."""
    arrays: dict[int, NDArray[Any]] = {}
    for line in (folder / LIST).read_text(encoding="ascii").splitlines():
        index, dtype, *sizes = line.split(" ")
        arrays[int(index)] = _read(folder, int(index), np.dtype(dtype), [*map(int, sizes)])
    return arrays


def read_known(folder: Path, tensors: Iterable[Tensor]) -> dict[int, NDArray[Any]]:
    """Return those of some tensors that a folder has, whatever its ``tensors.txt`` lists. Raises
    ValueError if a file has another size than its tensor; the message names the file."""
    there = (each for each in tensors if (folder / file_of(each.index)).is_file())
    return {each.index: _read(folder, each.index, each.dtype, each.shape) for each in there}


def npz_of(arrays: Mapping[int, NDArray[Any]]) -> bytes:
    """Return tensors as a ``.npz`` file, with an array ``tensor_<index>`` for each."""
    return npz_bytes({f"tensor_{index}": array for index, array in sorted(arrays.items())})


def read_npz(path: Path) -> dict[int, NDArray[Any]]:
    """Return the tensors of `npz_of`; raises what numpy, zipfile or zlib do of what is none."""
    with np.load(path, allow_pickle=False) as archive:
        return {int(name.removeprefix("tensor_")): archive[name] for name in archive.files}


def _read(folder: Path, index: int, dtype: np.dtype[Any], shape: Sequence[int]) -> NDArray[Any]:
    content = (folder / file_of(index)).read_bytes()
    size = int(np.prod(shape)) * dtype.itemsize
    if len(content) != size:
        raise ValueError(f"{file_of(index)} has {len(content)} bytes, not {size}")
    return np.frombuffer(content, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
