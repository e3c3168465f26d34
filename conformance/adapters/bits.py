"""Values as the bits of ports, and back: what goes to a simulator and comes from it, as text.

`PortBits` are some bits of a port. Words are lines of hexadecimal digits, the highest bit first, as
``$fscanf`` and ``$fdisplay`` of Verilog read and write them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.tensors import DIGITS, Element, columns_of_words, hex_rows

CHUNK = 8192
"""Cases that are written at a time."""

_PLACE = re.compile(r"\s*([A-Za-z_$][\w$]*)\s*(?:\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\])?\s*")


@dataclass(frozen=True)
class PortBits:
    """Bits ``high`` to ``low`` of a port; all of them if both are None."""

    port: str
    high: int | None = None
    low: int | None = None

    @classmethod
    def parse(cls, what: str, text: str) -> "PortBits":
        """Return the place of a text: ``"port"``, ``"port[5]"`` or ``"port[7:0]"``. Raises
        InputError if it is none."""
        found = _PLACE.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise InputError(f'{what}: {text!r} is no port; use "name" or "name[7:0]"')
        port, high, low = found[1], found[2], found[3]
        if high is None:
            return cls(port)
        ends = (int(high), int(high if low is None else low))
        if ends[0] < ends[1]:
            raise InputError(f"{what}: {text!r}: the higher bit comes first")
        return cls(port, *ends)

    def __str__(self) -> str:
        return self.port if self.high is None else f"{self.port}[{self.high}:{self.low}]"

    def within(self, what: str, width: int) -> tuple[int, int]:
        """Return the lowest bit and the number of bits, of a port of so many. Raises InputError if
        it has fewer bits."""
        if self.high is None or self.low is None:
            return 0, width
        if self.high >= width:
            raise InputError(f"{what}: {self}: {self.port} has the bits {width - 1}:0")
        return self.low, self.high - self.low + 1


def element_bits(what: str, values: NDArray[Any], width: int) -> int:
    """Return the bits of each element of ``values`` in a place of ``width`` bits. Raises InputError
    if they are lists whose length does not divide the width."""
    length = values.shape[1] if values.ndim == 2 else 1
    if width % length:
        raise InputError(f"{what}: a list of {length} does not divide {width} bits")
    return width // length


def fits(values: NDArray[Any], width: int) -> NDArray[np.bool_]:
    """Return which values fit ``width`` bits, with a sign or without."""
    return ((values >= -(1 << (width - 1))) & (values < 1 << width)).astype(bool)


def check_range(what: str, values: NDArray[Any], width: int) -> None:
    """Raise `InputError` if a value fits ``width`` bits neither with nor without a sign."""
    bad = ~fits(values, width)
    if np.any(bad):
        index = np.argwhere(bad)[0]
        value = values[tuple(index)]
        raise InputError(
            f"{what}: is {value} in case {index[0]}, which {width} bits do not hold; limit the "
            "profile to what the port takes, or change the formula"
        )


def to_bits(values: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Return the bits of elements of ``width`` bits each, the lowest first: (cases, bits)."""
    length = values.shape[1] if values.ndim == 2 else 1
    if width <= 64 and values.dtype.kind in "iu":
        size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
        octets = np.asarray(values.astype(f"<u{size}"), order="C").view(np.uint8)
    else:
        size = -(-width // 8)
        mask = (1 << width) - 1
        parts = [(int(value) & mask).to_bytes(size, "little") for value in values.ravel()]
        octets = np.frombuffer(b"".join(parts), np.uint8)
    bits = np.unpackbits(octets.reshape(-1, size), axis=1, bitorder="little")[:, :width]
    return bits.reshape(len(values), length * width)


def write_words(
    path: Path, fields: Sequence[tuple[NDArray[Any], int, int]], width: int, count: int
) -> None:
    """Write ``count`` words of ``width`` bits, a line each. ``fields`` has values, the lowest bit
    in the word, and the bits of all elements together."""
    with path.open("wb") as file:
        for start in range(0, count, CHUNK):
            rows = min(CHUNK, count - start)
            word = np.zeros((rows, 8 * -(-width // 8)), np.uint8)
            for values, low, bits in fields:
                part = values[start : start + rows]
                each = bits // (part.shape[1] if part.ndim == 2 else 1)
                word[:, low : low + bits] = to_bits(part, each)
            file.write(hex_rows(np.packbits(word, axis=1, bitorder="little")))


def read_words(
    path: Path, elements: Sequence[Element], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Return results by column from lines of words, and how many lines there are.

    ``path``: the file; what is not there, or not complete, is `MISSING`. ``elements``, ``shapes``:
    as `eightfold.conformance.tensors.columns_of_words` takes them.
    """
    total = min((shape[0] for shape in shapes.values()), default=0)
    length = sum(element.digits for element in elements) + 1
    text = np.frombuffer(path.read_bytes() if path.exists() else b"", np.uint8)
    count = min(len(text) // length, total)
    lines = DIGITS[text[: count * length].reshape(count, length)]
    return columns_of_words(lines[:, :-1], elements, shapes), count
