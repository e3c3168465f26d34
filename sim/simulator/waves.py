"""Formats of waves: what a trace file's name asks for, and what a simulator can write here."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from eightfold.errors import InputError
from eightfold.sim.simulator.toolchain import Simulator

WaveFormat = Literal["vcd", "fst"]
"""A value change dump, or the compressed format of GTKWave and Surfer: a twentieth of its size."""

LIBRARIES = {"lz4": "liblz4-dev", "z": "zlib1g-dev"}
"""What Verilator's writer of FST is compiled with, and the package that brings each."""

_HEADERS = {"lz4": "lz4.h", "z": "zlib.h"}


def wave_format(trace: Path, simulator: Simulator) -> WaveFormat:
    """Return the format that a trace file's name asks for.

    Raises
    ------
    InputError
        If it is another than those of `WaveFormat`, or the simulator cannot write it here.
    """
    suffix = trace.suffix.removeprefix(".")
    if suffix not in get_args(WaveFormat):
        raise InputError(f"trace {trace}: waves are .vcd or .fst; name such a file")
    if suffix == "vcd":
        return "vcd"
    if needed := missing_for_fst(simulator):
        raise InputError(f"trace {trace}: {needed}; or name a .vcd file")
    return "fst"


def missing_for_fst(simulator: Simulator) -> str:
    """Return one line that says what to install for a simulator to write FST; empty if it can."""
    if simulator == "icarus":  # comes with its own
        return ""
    missing = [package for library, package in LIBRARIES.items() if not links(library)]
    if not missing:
        return ""
    return f"Verilator needs {' and '.join(missing)} for FST: apt-get install {' '.join(missing)}"


@cache
def links(library: str) -> bool:
    """Return whether a program with a library's header compiles and links."""
    if not shutil.which("c++"):
        return False
    command = ["c++", "-x", "c++", "-", "-o", "/dev/null", f"-l{library}"]
    text = f"#include <{_HEADERS[library]}>\nint main() {{}}\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0
