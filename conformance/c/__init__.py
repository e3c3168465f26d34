"""The reference arithmetic as C99, for C models and for SystemVerilog through DPI-C.

The folder `sources` has the C files, their header and the SystemVerilog package, as they are
handed out. They compute what `eightfold.golden` computes, bit for bit: tests/conformance/c compares
the two. A new formula there has to be followed here.
"""

from pathlib import Path

from eightfold.common.files import write_files

SOURCES = Path(__file__).resolve().parent / "sources"
"""The folder of the files that are handed out."""

HEADER = "eightfold_golden.h"
"""The only header; it documents every function."""

PACKAGE = "eightfold_golden_pkg.sv"
"""The SystemVerilog package that imports the scalar functions."""


def c_files() -> list[str]:
    """Return the names of the C files that make the library, in alphabetical order."""
    return sorted(path.name for path in SOURCES.glob("*.c"))


def write_golden_c(folder: Path) -> list[Path]:
    """Write the header, the C files and the SystemVerilog package into ``folder``.

    Returns
    -------
    list
        The files, the header first. All or none are written; the folder is made.

    Raises
    ------
    InputError
        If one cannot be written.
    """
    names = [HEADER, *c_files(), PACKAGE]
    write_files({folder / name: (SOURCES / name).read_bytes() for name in names})
    return [folder / name for name in names]
