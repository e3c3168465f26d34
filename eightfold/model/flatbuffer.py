"""Bounded reading of a flatbuffer that may be damaged or hostile.

The generated classes trust offsets and lengths. Here they read through a table that checks each
access against the file's size, and that counts what is read: a small file can describe a huge
structure by pointing to the same bytes again and again.
"""

import struct
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import tflite
from flatbuffers import number_types, table

from eightfold.common.errors import InputError

_BUDGET = 1 << 21
_TABLE_COST = 128
_VTABLE_ENTRY = struct.Struct("<H")

CONVERT = "write it again with the TFLite converter"
"""What a message advises when a file is not what a converter would have written."""

TO_INT8 = "convert the float network with full integer quantization to int8, see docs/models.md"
"""What a message advises when a network computes with other types."""

EXTERNAL_BUFFER = 24
"""The field in a tensor's vtable that is younger than the schema of `tflite`."""

_Table = TypeVar("_Table")


class Source:
    """A file's bytes, and how much of their description may still be unpacked.

    The budget bounds time and memory: 16000 tables, or two million elements of vectors that become
    tuples. Constant data is only viewed and costs nothing.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._left = _BUDGET

    def spend(self, amount: int) -> None:
        """Count ``amount`` units; raise `InputError` when the budget is used up."""
        self._left -= amount
        if self._left < 0:
            raise InputError(
                "its structure has more tables and elements than any network that fits this "
                "accelerator (16000 tables or 2 million elements); split the model"
            )

    def check(self, start: int, size: int) -> None:
        """Raise `InputError` unless the file has ``size`` bytes at ``start``."""
        if start < 0 or start + size > len(self.content):
            raise InputError(
                f"damaged or truncated: it refers to bytes {start} to {start + size}, "
                f"but has {len(self.content)}; copy or convert it again"
            )

    def table(self, generated: _Table, position: int) -> _Table:
        """Attach an instance of a generated class to the table at ``position``, checked."""
        self.spend(_TABLE_COST)
        generated._tab = _CheckedTable(self, position)  # type: ignore[attr-defined]
        return generated

    def model(self) -> tflite.Model:
        """Return the file's root."""
        self.check(0, 8)
        return self.table(tflite.Model(), int.from_bytes(self.content[:4], "little"))

    def child(self, generated: Any) -> Any:
        """Check a table that a generated accessor returned, which may be None."""
        return None if generated is None else self.table(generated, generated._tab.Pos)

    def children(self, generated: Any, field: str) -> Iterator[Any]:
        """Yield the tables of a vector, checked."""
        for place in range(getattr(generated, f"{field}Length")()):
            yield self.child(getattr(generated, field)(place))

    def vector(self, generated: Any, field: str) -> np.ndarray:
        """Return a vector of numbers as a read-only view; empty if the file leaves it out."""
        if getattr(generated, field + "IsNone")():
            return np.empty(0, np.int32)
        return getattr(generated, field + "AsNumpy")()

    def number(self, generated: Any, slot: int) -> int:
        """Return a field of 32 bits by its place in the vtable; 0 if the file leaves it out."""
        offset = generated._tab.Offset(slot)
        if not offset:
            return 0
        return generated._tab.Get(number_types.Int32Flags, generated._tab.Pos + offset)

    def counted(self, generated: Any, field: str) -> np.ndarray:
        """Return `vector`, whose elements count."""
        vector = self.vector(generated, field)
        self.spend(vector.size)
        return vector

    def integers(self, generated: Any, field: str) -> tuple[int, ...]:
        """Return a vector of integers as a tuple, counted."""
        return tuple(self.counted(generated, field).tolist())


class _CheckedTable(table.Table):
    """The accessor that the generated classes call, with every access checked.

    `Vector` and `Union` of the base class read through `Get` and need no check of their own.
    """

    __slots__ = ("_source", "_vtable", "_vtable_size")

    def __init__(self, source: Source, position: int) -> None:
        self._source = source
        self.Bytes = source.content
        self.Pos = position
        # Every field starts with a look at the vtable, so that is located and checked once.
        self._vtable = position - self.Get(number_types.SOffsetTFlags, position)
        self._vtable_size = self.Get(number_types.VOffsetTFlags, self._vtable)
        source.check(self._vtable, self._vtable_size)

    def Offset(self, vtableOffset: int) -> int:  # noqa: N802
        if vtableOffset + _VTABLE_ENTRY.size > self._vtable_size:
            return 0
        return _VTABLE_ENTRY.unpack_from(self.Bytes, self._vtable + vtableOffset)[0]

    def Get(self, flags: Any, off: int) -> Any:  # noqa: N802
        self._source.check(off, flags.bytewidth)
        return flags.py_type(flags.packer_type.unpack_from(self.Bytes, off)[0])

    def Indirect(self, off: int) -> int:  # noqa: N802
        target = off + self.Get(number_types.UOffsetTFlags, off)
        self._source.check(target, number_types.SOffsetTFlags.bytewidth)
        return target

    def String(self, off: int) -> bytes:  # noqa: N802
        start, length = self._extent(off, 1)
        self._source.spend(length)
        return self._source.content[start : start + length]

    def VectorLen(self, off: int) -> int:  # noqa: N802
        _, length = self._extent(self.Pos + off, 1)
        self._source.spend(length)
        return length

    def GetVectorAsNumpy(self, flags: Any, off: int) -> np.ndarray:  # noqa: N802
        dtype = number_types.to_numpy_type(flags)
        start, length = self._extent(self.Pos + off, dtype.itemsize)
        return np.frombuffer(self._source.content, dtype, length, start)

    def _extent(self, off: int, item_size: int) -> tuple[int, int]:
        """Return where the elements of the vector referred to at ``off`` start, and how many."""
        position = off + self.Get(number_types.UOffsetTFlags, off)
        length = self.Get(number_types.UOffsetTFlags, position)
        start = position + number_types.UOffsetTFlags.bytewidth
        self._source.check(start, length * item_size)
        return start, length


def text(content: bytes | None) -> str:
    """Return a string of the file, whatever its bytes; empty if the file leaves it out."""
    return (content or b"").decode("utf-8", "replace")
