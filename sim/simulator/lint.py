"""Verilator's lint over the generated Verilog, and what is allowed there."""

import os
import re
import subprocess
from pathlib import Path

from eightfold.sim.simulator.toolchain import tool_environment, verilator_root

WAIVERS = {
    "DECLFILENAME": "A unit is one file with several modules; only one can be named like the file.",
    "PROCASSINIT": "A register's initial value is what an FPGA powers up with; reset repeats it.",
    "SYMRSVDWORD": "The port interrupt is no name of Verilog's; C++ models rename it.",
    "UNUSEDSIGNAL": "Sums are as wide as they can get, and the bits that are dropped after them "
    "remain visible; every module has clk and rst, needed or not.",
    "VARHIDDEN": "A signal may be named like an instance around its module.",
    "WIDTHEXPAND": "Operands of an expression may differ in width: Yosys relies on Verilog's rules "
    "of extension, with $signed where the sign matters.",
    "WIDTHTRUNC": "A comparison with zero is written as the logical not of a vector.",
}
"""Warnings of ``-Wall`` that generated Verilog may give, and why each is harmless."""


def lint(source: Path, waivers: tuple[str, ...] = tuple(WAIVERS)) -> list[str]:
    """Return the warnings and errors of ``verilator --lint-only -Wall``, without the waived."""
    command = [str(verilator_root() / "bin" / "verilator"), "--lint-only", "-Wall", "-Wno-fatal"]
    done = subprocess.run(
        [*command, *(f"-Wno-{name}" for name in waivers), str(source)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | tool_environment(),
    )
    found = re.findall(r"^%(?:Warning|Error).*$", done.stderr, re.MULTILINE)
    return found or ([done.stderr] if done.returncode else [])
