"""Tables of the TFLite schema as plain data: their bytes, and back from those of whole files."""

from functools import cache
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import number_types
from numpy.typing import DTypeLike

from eightfold.model.schema import OPERATOR_CODES, UNIONS, option_fields

_FILE_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # bytes; the schema forces it on constant data, the generated functions do not

_UNION_TABLES = {
    union: {code: name for name, code in codes.items()} for union, codes in UNIONS.items()
}


class Table:
    """One table of a file.

    ``name``: its name in the schema.
    ``fields``: what its fields hold, by the name of their accessor (``QuantizedDimension``) and in
        the schema's order: a number, `str`, a vector of numbers as an array, the bytes of constant
        data, a `Table`, or a list of them; None leaves a field out.
    """

    def __init__(self, name: str, **fields: Any) -> None:
        self.name = name
        self.fields = fields

    def vector(self, field: str, dtype: DTypeLike = np.int32) -> np.ndarray:
        """Return a vector of numbers; one of ``dtype`` without elements if it is left out."""
        held = self.fields.get(field)
        return np.empty(0, dtype) if held is None else held


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
    """Return the file of a table ``Model``; `TypeError` if a number does not fit its field."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(write(builder, model), _FILE_IDENTIFIER)
    return bytes(builder.Output())


def unpack(content: bytes) -> Table:
    """Return the table ``Model`` of a sound file, with all that it refers to; nothing is checked.

    What the schema of `tflite` does not know and custom quantizations are left out.
    """
    return _table(tflite.Model.GetRootAs(content, 0))


def code_table(code: int, version: int = 1) -> Table:
    """Return the table of an operator's code; readers of old files look at the first field only."""
    greatest = OPERATOR_CODES["PLACEHOLDER_FOR_GREATER_OP_CODES"]
    fields = {"DeprecatedBuiltinCode": min(code, greatest), "Version": version, "BuiltinCode": code}
    return Table("OperatorCode", **fields)


def operator_code(model: Table, operator: Table) -> int:
    """Return the code of an operator of a table ``Model``; old files have one of two fields."""
    code = model.fields["OperatorCodes"][operator.fields.get("OpcodeIndex", 0)].fields
    return max(code.get("DeprecatedBuiltinCode", 0), code.get("BuiltinCode", 0))


def constant_data(model: Table, tensor: Table) -> bytes:
    """Return the data of a tensor of a table ``Model``; empty if it has none."""
    buffers, index = model.fields.get("Buffers") or [], tensor.fields.get("Buffer", 0)
    return (index < len(buffers) and buffers[index].fields.get("Data")) or b""


@cache
def field_types(table: str) -> dict[str, Any]:
    """Return one of `number_types` for each field in the schema's order; UOffsetT if it refers."""
    recorder = _Recorder()
    types = {}
    for name in option_fields(table).values():
        getattr(tflite, f"{table}Add{name}")(recorder, 0)
        types[name] = recorder.recorded
    return types


class _Recorder:
    """Takes the place of a `flatbuffers.Builder` and remembers which kind of slot is asked for."""

    recorded: Any = None

    def __getattr__(self, call: str) -> Any:
        kind = call.removeprefix("Prepend").removesuffix("Slot").removesuffix("Relative")
        self.recorded = getattr(number_types, f"{kind}Flags")
        return lambda *_: None


def _table(packed: Any) -> Table:
    name = type(packed).__name__
    table = Table(name)
    for field, kind in field_types(name).items():
        value = (
            _reference(packed, field)
            if kind is number_types.UOffsetTFlags
            else getattr(packed, field)()
        )
        if value is not None:
            table.fields[field] = value
    return table


def _reference(packed: Any, field: str) -> Any:
    """Return what a field refers to: a vector, text or a table; None if it is left out."""
    if hasattr(packed, f"{field}IsNone"):
        return None if getattr(packed, f"{field}IsNone")() else _vector(packed, field)
    if field in _UNION_TABLES:
        name = _UNION_TABLES[field].get(getattr(packed, f"{field}Type")())
        content = getattr(packed, field)()
        if name is None or content is None:
            return None
        child = getattr(tflite, name)()
        child.Init(content.Bytes, content.Pos)
        return _table(child)
    value = getattr(packed, field)()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return _table(value) if hasattr(value, "_tab") else None


def _vector(packed: Any, field: str) -> Any:
    if hasattr(packed, f"{field}AsNumpy"):
        numbers = getattr(packed, f"{field}AsNumpy")()
        # Constant data is written aligned, as bytes.
        return numbers.tobytes() if field == "Data" else numbers.copy()
    read = getattr(packed, field)
    values = [read(index) for index in range(getattr(packed, f"{field}Length")())]
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else _table(v) for v in values]
