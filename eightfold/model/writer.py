"""Tables of the TFLite schema as plain data, and their bytes."""

from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import number_types

_FILE_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # bytes; the schema forces it on constant data, the generated functions do not


class Table:
    """One table of a file.

    Parameters
    ----------
    name
        Its name in the schema.
    fields
        What its fields hold, by the name of their accessor (``QuantizedDimension``) and in the
        schema's order: a number, `str`, a vector of numbers as an array, the bytes of constant
        data, a `Table`, or a list of them; None leaves a field out.
    """

    def __init__(self, name: str, **fields: Any) -> None:
        self.name = name
        self.fields = fields


def write(builder: flatbuffers.Builder, value: Any) -> Any:
    """Write what a field refers to and return its offset; a number is returned as it is."""
    match value:
        case Table():
            # What a table refers to is written before the table begins.
            held = {
                field: write(builder, each)
                for field, each in value.fields.items()
                if each is not None
            }
            getattr(tflite, f"{value.name}Start")(builder)
            for field, number in held.items():
                getattr(tflite, f"{value.name}Add{field}")(builder, number)
            return getattr(tflite, f"{value.name}End")(builder)
        case list():
            offsets = [write(builder, table) for table in value]
            width = number_types.UOffsetTFlags.bytewidth
            builder.StartVector(width, len(offsets), width)
            for offset in reversed(offsets):
                builder.PrependUOffsetTRelative(offset)
            return builder.EndVector()
        case np.ndarray():
            return builder.CreateNumpyVector(value)
        case bytes():
            builder.Prep(_ALIGNMENT, len(value))
            return builder.CreateByteVector(value)
        case str():
            return builder.CreateString(value)
    return value


def pack(model: Table) -> bytes:
    """Return the file of a table ``Model``.

    Raises
    ------
    TypeError
        If a number does not fit its field.
    """
    builder = flatbuffers.Builder(1024)
    builder.Finish(write(builder, model), _FILE_IDENTIFIER)
    return bytes(builder.Output())
