"""The reference arithmetic as C99, for C models and for SystemVerilog through DPI-C.

The folder `sources` has the C files, their header and the SystemVerilog package, as they are
handed out. They compute what `eightfold.golden` computes, bit for bit: tests/conformance/c compares
the two. A new formula there has to be followed here.
"""

from pathlib import Path
from string import Template

from eightfold.common.errors import InputError
from eightfold.common.files import write_files
from eightfold.conformance.judge.arithmetic import Arithmetic
from eightfold.conformance.judge.contracts import contract_of
from eightfold.conformance.profile import Profile

SOURCES = Path(__file__).resolve().parent / "sources"
"""The folder of the files that are handed out."""

HEADER = "eightfold_golden.h"
"""The only header; it documents every function."""

PACKAGE = "eightfold_golden_pkg.sv"
"""The SystemVerilog package that imports the scalar functions."""


def c_files() -> list[str]:
    """Return the names of the C files that make the library, in alphabetical order."""
    return sorted(path.name for path in SOURCES.glob("*.c"))


def write_golden_c(folder: Path, profile: Profile | None = None) -> list[Path]:
    """Write the header, the C files and the SystemVerilog package into ``folder``.

    With a profile `contract_files` of it, too. Returns the files, the header first. All or none are
    written; the folder is made. Raises InputError if one cannot be written.
    """
    names = [HEADER, *c_files(), PACKAGE]
    contents = {name: (SOURCES / name).read_bytes() for name in names}
    contents |= contract_files(profile) if profile else {}
    write_files({folder / name: content for name, content in contents.items()})
    return [folder / name for name in contents]


_MODES = (
    *("half_away", "half_up", "half_down", "half_even", "toward_zero", "down", "up"),
    *("nudge_shifted", "half_subtracted", "half_away_and_even"),
)
_IN_C = {"first": _MODES, "second": _MODES, "scale": ("one", "two")} | {
    "scaled": ("wraps_32", "wraps_16"),
    "clamp": ("bounds", "relu_at_0"),
}
"""Choices of a contract that are written in C."""


def contract_files(profile: Profile) -> dict[str, bytes]:
    """Return the header and the C file of a profile's contract, by name. Raises InputError if the
    profile states none, or one with a choice that is not written in C."""
    contract = contract_of(profile)
    chosen = vars(contract.arithmetic)
    if not contract.rules or profile.form != "tflite":
        raise InputError(f"golden-c: profile {profile.name} has no contract beside TFLite's form")
    written = {name: (value,) for name, value in vars(Arithmetic()).items()} | _IN_C
    if beyond := [name for name, value in chosen.items() if value not in written[name]]:
        text = ", ".join(f"{name} {chosen[name]}" for name in beyond)
        raise InputError(f"golden-c: {text} is not written in C; use eightfold vectors")
    lines = [f"enum {{ {', '.join(mode.upper() for mode in _MODES)} }};"]
    numbers = {
        "FIRST": chosen["first"].upper(),
        "SECOND": chosen["second"].upper(),
        "ONCE": int(chosen["scale"] == "one"),
        "SCALED_BITS": chosen["scaled"].removeprefix("wraps_"),
        "RELU_AT_0": int(chosen["clamp"] == "relu_at_0"),
    }
    lines += [f"#define {name} {value}" for name, value in numbers.items()]
    text = (SOURCES.parent / "contract.c.in").read_text(encoding="utf-8")
    header = (SOURCES.parent / "contract.h").read_bytes()
    source = Template(text).substitute(name=contract.name, choices="\n".join([*lines, ""]))
    return {"eightfold_contract.h": header, "eightfold_contract.c": source.encode()}
