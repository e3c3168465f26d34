"""Formats of waves: what a trace file's name asks for, and what a simulator can write here."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from eightfold.common.errors import InputError
from eightfold.common.extras import how_to_install
from eightfold.sim.simulator.toolchain import Simulator

WaveFormat = Literal["vcd", "fst"]
"""A value change dump, or the compressed format of GTKWave and Surfer: a tenth of its size."""

_BYTES: dict[WaveFormat, dict[int, float]] = {
    "vcd": {16: 7828, 64: 12376, 256: 16065},
    "fst": {16: 595, 64: 1142, 256: 1609},
}
"""Bytes of the whole accelerator's waves per cycle by Verilator, by MACs per cycle: of
``eightfold run digits --backend verilator --trace FILE`` on `nano`, `small` and `base`."""

_ICARUS: dict[WaveFormat, float] = {"vcd": 1.72, "fst": 1.09}
"""How many times as many Icarus writes, which leaves no signal out; on `nano`."""

LIBRARIES = {"lz4": "liblz4-dev", "z": "zlib1g-dev"}
"""What Verilator's writer of FST is compiled with, and the package that brings each."""

_HEADERS = {"lz4": "lz4.h", "z": "zlib.h"}


def wave_format(trace: Path, simulator: Simulator) -> WaveFormat:
    """Return the format that a trace file's name asks for.

    Raises InputError if it is another than those of `WaveFormat`, or the simulator cannot write it
    here.
    """
    suffix = trace.suffix.removeprefix(".")
    if suffix not in get_args(WaveFormat):
        raise InputError(f"trace {trace}: waves are .vcd or .fst; name such a file")
    if suffix == "vcd":
        return "vcd"
    if needed := missing_for_fst(simulator):
        raise InputError(f"trace {trace}: {needed}; or name a .vcd file")
    return "fst"


def trace_size(form: WaveFormat, simulator: Simulator, macs_per_cycle: int, cycles: float) -> float:
    """Return about how many bytes the waves of the accelerator have.

    ``macs_per_cycle``: size of the accelerator. The bytes of a cycle grow linearly with its
    logarithm. ``cycles``: of all runs in the simulation.
    """
    sizes = np.log2(list(_BYTES[form]))
    rates = list(_BYTES[form].values())
    rate = np.polyval(np.polyfit(sizes, rates, 1), np.log2(macs_per_cycle))
    rate = max(float(rate), min(rates) / 2)  # of less than the smallest that was measured
    return rate * (_ICARUS[form] if simulator == "icarus" else 1) * cycles


def size_note(trace: Path, simulator: Simulator, macs_per_cycle: int, cycles: float) -> str:
    """Return one line that says how large a trace will be, and how small as FST."""
    form = wave_format(trace, simulator)
    size = _shown(trace_size(form, simulator, macs_per_cycle, cycles))
    note = f"{trace}: will have about {size}, for {cycles:,.0f} cycles"
    if form == "fst":
        return note
    small = _shown(trace_size("fst", simulator, macs_per_cycle, cycles))
    missing = missing_for_fst(simulator)
    return f"{note}; {trace.with_suffix('.fst').name} has about {small}" + (
        f" ({missing})" if missing else ""
    )


def _shown(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):,.0f} MB"


def missing_for_fst(simulator: Simulator) -> str:
    """Return one line that says what to install for a simulator to write FST; empty if it can."""
    if simulator != "verilator":  # they come with their own
        return ""
    missing = [package for library, package in LIBRARIES.items() if not links(library)]
    if not missing:
        return ""
    return f"Verilator needs {' and '.join(missing)} for FST: {how_to_install(*missing)}"


@cache
def links(library: str) -> bool:
    """Return whether a program with a library's header compiles and links."""
    if not shutil.which("c++"):
        return False
    command = ["c++", "-x", "c++", "-", "-o", "/dev/null", f"-l{library}"]
    text = f"#include <{_HEADERS[library]}>\nint main() {{}}\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0
