"""A driver in C, a bench that runs it on the Verilog, and compiled networks as its constants."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.common.files import Content
from eightfold.isa.headers import PREFIX, c_header

FOLDER = Path(__file__).parent

SOURCES = ("eightfold.h", "eightfold.c", "eightfold_convert.h", "bench.h", "bench.cpp")
"""Files that are written as they are."""

_CACHE_LINE = 64
"""EIGHTFOLD_ALIGNMENT: arenas are whole lines, so that no neighbour is invalidated with them."""


def driver_files() -> dict[str, Content]:
    """Return the driver's files by their names."""
    files: dict[str, Content] = {name: (FOLDER / name).read_text("utf-8") for name in SOURCES}
    return files | {"eightfold_isa.h": c_header()}


def conversions() -> str:
    """Return the functions of eightfold_convert.h, which headers of networks have too."""
    whole = (FOLDER / "eightfold_convert.h").read_text("utf-8")
    end = "#endif /* EIGHTFOLD_CONVERSIONS */\n"
    return whole[whole.index("#ifndef EIGHTFOLD_CONVERSIONS") : whole.index(end)] + end


def c_arrays(
    name: str, layout: Mapping[str, Any], words: np.ndarray, model: bytes, state: bytes
) -> dict[str, Content]:
    """Return ``layout.h`` and ``layout.c``: a network as constants of the driver.

    ``<name>``, an identifier of C, is the ``struct eightfold_network``, ``<name>_arena`` memory for
    one instance. ``layout`` is as in ``layout.json``, the others are contents of commands.bin,
    model.bin and state.bin.
    """
    guard = f"{PREFIX}_{name.upper()}_LAYOUT_H"
    arena = max(-(-layout["arena_bytes"] // _CACHE_LINE), 1) * _CACHE_LINE
    header = [
        "/* A compiled network for the driver. By eightfold compile --c-array. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        '#include "eightfold.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"extern const struct eightfold_network {name};",
        f"extern uint8_t {name}_arena[{arena}];",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    source = [
        "/* A compiled network for the driver. By eightfold compile --c-array. */",
        '#include "layout.h"',
        '#include "network.h"',
        "",
        f"uint8_t {name}_arena[{arena}] {PREFIX}_ALIGNED;",
        *_array("uint32_t", "commands", [f"0x{word:08X}u" for word in words.tolist()]),
        *_array("uint8_t", "model", list(map(str, model))),
        *(_array("uint8_t", "state", list(map(str, state))) if state else []),
        *_tensors("input", layout["inputs"]),
        *_tensors("output", layout["outputs"]),
        "",
        f"const struct eightfold_network {name} = {{",
        f"    .commands = commands, .model = model, .state = {'state' if state else '0'},",
        f"    .command_bytes = {PREFIX}_COMMAND_BYTES, .model_bytes = {PREFIX}_MODEL_BYTES,",
        f"    .arena_bytes = {PREFIX}_ARENA_BYTES,",
        *(
            f"    .state_{word} = {f'{PREFIX}_STATE_{word.upper()}' if state else 0},"
            for word in ("offset", "bytes")
        ),
        *(
            f"    .{side}_count = {PREFIX}_{side.upper()}S, .{side}s = {side}s,"
            for side in ("input", "output")
        ),
        "};",
    ]
    return {"layout.h": "\n".join(header) + "\n", "layout.c": "\n".join(source) + "\n"}


def _array(kind: str, name: str, values: list[str], aligned: bool = True) -> Iterator[str]:
    """Yield a constant array; one that the accelerator reads has whole cache lines, one or more."""
    if aligned:
        line = _CACHE_LINE // (4 if kind == "uint32_t" else 1)
        values = values + ["0"] * (-len(values) % line or (0 if values else line))
    suffix = f" {PREFIX}_ALIGNED" if aligned else ""
    yield from ("", f"static const {kind} {name}[{len(values)}]{suffix} = {{")
    for start in range(0, len(values), 8):
        yield f"    {', '.join(values[start : start + 8])},"
    yield "};"


def _tensors(side: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of a network's inputs or outputs, with the arrays that it points to."""
    rows = []
    for number, entry in enumerate(entries):
        own, macro = f"{side}_{number}", f"{PREFIX}_{side.upper()}_{number}"
        scales = entry["scale"] or []
        arrays = {
            "shape": ("uint32_t", [f"{size}u" for size in entry["shape"]]),
            "scales": ("float", [f"{scale:.9e}f" for scale in scales]),
            "zero_points": ("int32_t", [str(zero) for zero in entry["zero_point"] or []]),
        }
        for name, (kind, values) in arrays.items():
            if values:
                yield from _array(kind, f"{own}_{name}", values, aligned=False)
        pointers = ", ".join(
            f".{name} = {f'{own}_{name}' if values else 0}" for name, (_, values) in arrays.items()
        )
        rows += [
            f"    {{.name = {_string(entry['name'])}, .type = {PREFIX}_{entry['dtype'].upper()},",
            f"     .offset = {macro}_OFFSET, .bytes = {macro}_BYTES,",
            f"     .elements = {macro}_ELEMENTS, .rank = {macro}_RANK,",
            f"     .scale_count = {len(scales)}, {pointers}}},",
        ]
    yield from ("", f"static const struct eightfold_tensor {side}s[{max(len(entries), 1)}] = {{")
    yield from rows or ["    {.name = 0},"]
    yield "};"


def _string(text: str) -> str:
    """Return a literal of C: bytes beyond printable ASCII, and what C would read, in octal."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'
