"""Cases as C99: a header with arrays, and a program that calls a function for each of them."""

from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

from numpy.typing import NDArray

from eightfold.conformance.units.unit import Column, UnitCases, UnitKind

_LEAST = -(1 << 31)  # C has no such literal


def c_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``vectors.h`` with types and arrays, and ``run.c``, which calls ``<unit>(case)``.

    ``origin``: as for `hexadecimal.hex_files`.
    """
    names = {
        "unit": unit.name,
        "guard": f"EIGHTFOLD_{unit.name.upper()}_VECTORS_H",
        "count": str(len(cases)),
        "origin": origin,
        "inputs": "\n".join(map(_member, unit.inputs)),
        "results": "\n".join(map(_member, unit.results)),
        "cases": _rows(unit.inputs, cases.inputs),
        "expected": _rows(unit.results, cases.results),
        "prints": "\n".join(map(_print, reversed(unit.results))),
        "compares": "\n".join(map(_compare, unit.results)),
    }
    folder = files("eightfold.conformance.vectors")
    return {
        name: Template(folder.joinpath(f"{name}.in").read_text(encoding="utf-8"))
        .substitute(names)
        .encode()
        for name in ("vectors.h", "run.c")
    }


def _type(column: Column) -> str:
    return f"{'' if column.signed else 'u'}int{column.bits}_t"


def _member(column: Column) -> str:
    length = "" if column.length == 1 else f"[{column.length}]"
    return f"    {_type(column)} {column.name}{length}; /* {column.text} */"


def _rows(columns: tuple[Column, ...], arrays: Mapping[str, NDArray[Any]]) -> str:
    texts = []
    for column in columns:
        values = arrays[column.name].tolist()
        if column.length == 1:
            texts.append([_number(value, column) for value in values])
        else:
            texts.append(
                ["{" + ",".join(_number(value, column) for value in row) + "}" for row in values]
            )
    return ",\n".join("{" + ",".join(row) + "}" for row in zip(*texts, strict=True))


def _number(value: int, column: Column) -> str:
    if value == _LEAST:
        return "INT32_MIN"
    return f"{value}u" if not column.signed and column.bits == 32 else str(value)


def _element(column: Column) -> str:
    return column.name if column.length == 1 else f"{column.name}[i]"


def _print(column: Column) -> str:
    digits = column.bits // 4
    line = f'printf("%0{digits}" PRIx{column.bits}, (uint{column.bits}_t)r->{_element(column)});'
    if column.length == 1:
        return f"    {line}"
    return f"    for (int i = {column.length - 1}; i >= 0; i--)\n        {line}"


def _compare(column: Column) -> str:
    line = f"same &= got->{_element(column)} == wanted->{_element(column)};"
    if column.length == 1:
        return f"    {line}"
    return f"    for (int i = 0; i < {column.length}; i++)\n        {line}"
