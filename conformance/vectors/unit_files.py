"""The files of one unit, in one format, with their manifest.

``npz`` and ``csv`` have a column for each number; ``hex`` has words for ``$readmemh``, whose
columns lie from bit 0 on in their order, each element of a list likewise, and benches in
Verilog-2005 and SystemVerilog that read them; ``c`` a header with arrays, and a program that calls
a function for each case.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from eightfold.common.files import npz_bytes, write_files
from eightfold.conformance.answers import Columns
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.conformance.profile import Profile
from eightfold.conformance.tensors import hex_rows
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind
from eightfold.conformance.vectors.manifest import (
    NAME,
    checksums,
    described,
    filled,
    identity_line,
    manifest,
)


def npz_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.npz``, an array of each column and ``kind``, and ``expected.npz``."""
    return {
        "cases.npz": npz_bytes({**cases.inputs, "kind": cases.kinds}),
        "expected.npz": npz_bytes(cases.results),
    }


def csv_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.csv`` and ``expected.csv``: a line of `Column.names`, then one per case."""
    return {
        "cases.csv": _csv(unit.inputs, cases.inputs, {"kind": cases.kinds.tolist()}),
        "expected.csv": _csv(unit.results, cases.results, {}),
    }


def _csv(columns: tuple[Column, ...], arrays: Columns, more: Mapping[str, list[str]]) -> bytes:
    names = [*(name for column in columns for name in column.names), *more]
    values = [arrays[column.name].reshape(-1, column.length).T.tolist() for column in columns]
    rows = zip(*(each for lists in values for each in lists), *more.values(), strict=True)
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows), ""]).encode()


def hex_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.hex``, ``expected.hex``, and the benches ``bench.v`` and ``bench.sv``.
    ``origin``: the line that results begin with, a comment; see `manifest.identity_line`."""
    return {
        "cases.hex": hex_lines(unit.inputs, cases.inputs),
        "expected.hex": hex_lines(unit.results, cases.results),
        "bench.v": _bench("bench.v.in", unit, len(cases), origin),
        "bench.sv": _bench("bench.sv.in", unit, len(cases), origin),
    }


def hex_lines(columns: tuple[Column, ...], arrays: Columns) -> bytes:
    """Return a word for each case, a line of hexadecimal digits, the highest bit first."""
    values = [np.asarray(arrays[column.name], order="C") for column in columns]
    rows = [each.view(np.uint8).reshape(len(each), -1) for each in values]
    return hex_rows(np.concatenate(rows, axis=1))


def _bench(name: str, unit: UnitKind, count: int, origin: str) -> bytes:
    ports = [*unit.inputs, *unit.results]
    places = [each["lsb"] for each in described(unit.inputs)]
    return filled(
        name,
        unit=unit.name,
        count=count,
        origin=origin,
        word=sum(column.width for column in unit.inputs),
        results=sum(column.width for column in unit.results),
        ports="\n".join(_port(column, column in unit.inputs) for column in ports),
        inputs="\n".join(
            f"  wire{_range(column)} {column.name} = word[{lsb + column.width - 1}:{lsb}];"
            for column, lsb in zip(unit.inputs, places, strict=True)
        ),
        outputs="\n".join(f"  wire{_range(column)} {column.name};" for column in unit.results),
        fields=_fields(unit.inputs),
        answers=_fields(unit.results),
        joined=", ".join(column.name for column in reversed(unit.results)),
        connections=",\n".join(f"    .{column.name}({column.name})" for column in ports),
        members=",\n".join(
            f"    .{column.name}({'current' if column in unit.inputs else 'answer'}.{column.name})"
            for column in ports
        ),
    )


def _range(column: Column) -> str:
    sign = " signed" if column.signed and column.length == 1 else ""
    return f"{sign} [{column.width - 1}:0]"


def _fields(columns: tuple[Column, ...]) -> str:
    return "\n".join(f"    logic{_range(each)} {each.name};" for each in reversed(columns))


def _port(column: Column, is_input: bool) -> str:
    way = "input " if is_input else "output"
    place = "" if column.length == 1 else f"; element i is bits {column.bits}*i and up"
    return f"//   {way} {column.name}{_range(column)}: {column.text}{place}"


_LEAST = -(1 << 31)  # C has no such literal


def c_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``vectors.h`` with types and arrays, and ``run.c``, which calls ``<unit>(case)``.
    ``origin``: as for `hex_files`."""
    names = {
        "unit": unit.name,
        "guard": f"EIGHTFOLD_{unit.name.upper()}_VECTORS_H",
        "count": len(cases),
        "origin": origin,
        "inputs": "\n".join(map(_member, unit.inputs)),
        "results": "\n".join(map(_member, unit.results)),
        "cases": _rows(unit.inputs, cases.inputs),
        "expected": _rows(unit.results, cases.results),
        "prints": "\n".join(map(_print, reversed(unit.results))),
        "compares": "\n".join(map(_compare, unit.results)),
    }
    return {name: filled(f"{name}.in", **names) for name in ("vectors.h", "run.c")}


def _member(column: Column) -> str:
    length = "" if column.length == 1 else f"[{column.length}]"
    sign = "" if column.signed else "u"
    return f"    {sign}int{column.bits}_t {column.name}{length}; /* {column.text} */"


def _rows(columns: tuple[Column, ...], arrays: Columns) -> str:
    texts = ([_literal(value, each) for value in arrays[each.name].tolist()] for each in columns)
    return ",\n".join("{" + ",".join(row) + "}" for row in zip(*texts, strict=True))


def _literal(value: int | list[int], column: Column) -> str:
    if isinstance(value, list):
        return "{" + ",".join(_literal(each, column) for each in value) + "}"
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


Format = Literal["hex", "npz", "csv", "c"]

FORMATS: tuple[Format, ...] = get_args(Format)

DATA_FILES: dict[str, tuple[str, ...]] = {
    **{form: (f"cases.{form}", f"expected.{form}") for form in ("hex", "npz", "csv")},
    "c": ("vectors.h",),
}
"""The files of a format that have what is asked and what is expected."""

Benches = Callable[[UnitCases, str, int], Mapping[str, bytes]]
"""From cases, the line that results begin with, and the seed, to files by name."""

_WRITERS = {"hex": hex_files, "npz": npz_files, "csv": csv_files, "c": c_files}


def unit_files(
    unit: str,
    profile: Profile,
    level: Level = "smoke",
    form: Format = "hex",
    seed: int = 0,
    benches: Benches | None = None,
) -> tuple[dict[str, bytes], UnitCases]:
    """Return the files of a unit by their names, ``manifest.json`` first, and its cases.

    ``benches`` stand in place of those of ``hex``.

    Raises InputError as `eightfold.conformance.judge.contracts.contract_cases`.
    """
    cases = contract_cases(unit, profile, level, seed)
    kind = UNIT_KINDS[unit]
    identity = hashlib.sha256(hex_lines(kind.inputs, cases.inputs)).hexdigest()
    origin = identity_line(identity, unit, profile.name, level, seed)
    files = _WRITERS[form](kind, cases, origin)
    if benches is not None:
        files = {name: text for name, text in files.items() if not name.startswith("bench.")}
        files |= benches(cases, origin, seed)
    what = {
        "unit": unit,
        "format": form,
        "cases": len(cases),
        "identity": identity,
        "kinds": dict(sorted(Counter(cases.kinds.tolist()).items())),
        "left_out": dict(cases.left_out),
        "inputs": described(kind.inputs),
        "results": described(kind.results),
    }
    return {NAME: manifest(what, profile, level, seed, checksums(files)), **files}, cases


def write_unit(
    folder: Path,
    unit: str,
    profile: Profile,
    level: Level = "smoke",
    form: Format = "hex",
    seed: int = 0,
    benches: Benches | None = None,
) -> tuple[dict[str, bytes], UnitCases]:
    """Write `unit_files` into a folder, all or none, and return them. Raises InputError as
    `unit_files`, and if the folder cannot be written."""
    files, cases = unit_files(unit, profile, level, form, seed, benches)
    write_files({folder / name: content for name, content in files.items()})
    return files, cases
