"""A file's tables as plain data: the reverse of `eightfold.model.writer`, for whole files."""

from functools import cache
from typing import Any

import tflite
from flatbuffers import number_types

from eightfold.model.schema import UNIONS
from eightfold.model.writer import Table

_UNION_TABLES = {
    union: {code: name for name, code in codes.items()} for union, codes in UNIONS.items()
}


def unpack(content: bytes) -> Table:
    """Return the table ``Model`` of a file, with all that it refers to.

    Only for files that are known to be sound: nothing is checked. What the schema of `tflite`
    does not know and custom quantizations are left out.
    """
    return _table(tflite.Model.GetRootAs(content, 0))


@cache
def field_types(table: str) -> dict[str, Any]:
    """Return the type of each of a table's fields, by accessor and in the schema's order.

    A number's type is one of `flatbuffers.number_types`; that of a field that refers to something
    else, a vector, text or a table, is ``UOffsetTFlags``.
    """
    prefix = f"{table}Add"
    recorder = _Recorder()
    types = {}
    for name in vars(getattr(tflite, table)):
        add = getattr(tflite, prefix + name, None)
        if add is not None:
            add(recorder, 0)
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
