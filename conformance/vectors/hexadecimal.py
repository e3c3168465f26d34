"""Cases as words for ``$readmemh``, with benches in Verilog-2005 and SystemVerilog that read them.

A word holds the columns from bit 0 on, in their order, each element of a list likewise.
"""

from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.units.unit import Column, UnitCases, UnitKind


def hex_files(unit: UnitKind, cases: UnitCases, origin: str) -> dict[str, bytes]:
    """Return ``cases.hex``, ``expected.hex``, and the benches ``bench.v`` and ``bench.sv``.

    ``origin``: the line that results begin with, a comment; see `manifest.identity_line`.
    """
    return {
        "cases.hex": hex_lines(unit.inputs, cases.inputs),
        "expected.hex": hex_lines(unit.results, cases.results),
        "bench.v": _bench("bench.v.in", unit, len(cases), origin),
        "bench.sv": _bench("bench.sv.in", unit, len(cases), origin),
    }


def hex_lines(columns: tuple[Column, ...], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a line of hexadecimal digits for each case, the highest bit first."""
    rows = np.concatenate([_bytes(arrays[column.name]) for column in columns], axis=1)
    text = np.asarray(rows[:, ::-1], order="C").tobytes().hex()
    digits = 2 * rows.shape[1]
    lines = [text[start : start + digits] for start in range(0, len(text), digits)]
    return "\n".join([*lines, ""]).encode()


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.asarray(array, order="C").view(np.uint8).reshape(len(array), -1)


def _bench(name: str, unit: UnitKind, count: int, origin: str) -> bytes:
    template = files("eightfold.conformance.vectors").joinpath(name).read_text(encoding="utf-8")
    ports = [*unit.inputs, *unit.results]
    text = Template(template).substitute(
        unit=unit.name,
        count=count,
        origin=origin,
        word=sum(column.width for column in unit.inputs),
        results=sum(column.width for column in unit.results),
        ports="\n".join(_port(column, column in unit.inputs) for column in ports),
        inputs="\n".join(_inputs(unit.inputs)),
        outputs="\n".join(f"  wire{_range(column)} {column.name};" for column in unit.results),
        fields="\n".join(
            f"    logic{_range(column)} {column.name};" for column in reversed(unit.inputs)
        ),
        answers="\n".join(
            f"    logic{_range(column)} {column.name};" for column in reversed(unit.results)
        ),
        joined=", ".join(column.name for column in reversed(unit.results)),
        connections=",\n".join(f"    .{column.name}({column.name})" for column in ports),
        members=",\n".join(
            f"    .{column.name}({'current' if column in unit.inputs else 'answer'}.{column.name})"
            for column in ports
        ),
    )
    return text.encode()


def _range(column: Column) -> str:
    sign = " signed" if column.signed and column.length == 1 else ""
    return f"{sign} [{column.width - 1}:0]"


def _port(column: Column, is_input: bool) -> str:
    way = "input " if is_input else "output"
    place = "" if column.length == 1 else f"; element i is bits {column.bits}*i and up"
    return f"//   {way} {column.name}{_range(column)}: {column.text}{place}"


def _inputs(columns: tuple[Column, ...]) -> list[str]:
    lines, lsb = [], 0
    for column in columns:
        end = lsb + column.width - 1
        lines.append(f"  wire{_range(column)} {column.name} = word[{end}:{lsb}];")
        lsb += column.width
    return lines
