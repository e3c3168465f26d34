"""What stands at the head of a Verilog file: what it is, under which licence, and how to make it
again."""

import re
from importlib.metadata import version

from eightfold.isa import VERSION
from eightfold.target.config import PRESETS, AcceleratorConfig

LICENCE = "Apache-2.0"
"""SPDX identifier of the licence of everything that is generated."""

PREFIX = "eightfold"
"""What the modules' names begin with, unless another prefix is chosen."""

_HEADER = re.compile(r"\A(?://.*\n)+\n")


def header(unit: str, config: AcceleratorConfig, prefix: str, config_name: str | None) -> str:
    """Return the comment at the head of a unit's Verilog, the same for the same arguments.

    They are those of `eightfold.rtl.verilog.unit_verilog`.
    """
    named = next((name for name in PRESETS if PRESETS[name] == config), config_name or "FILE.toml")
    command = f"eightfold verilog --config {named} --unit {unit}"
    if prefix != PREFIX:
        command += f" --prefix {prefix}"
    sizes = ", ".join(f"{field} = {value}" for field, value in config.as_dict().items())
    lines = (
        f"{prefix}_{unit}: the unit {unit} of Eightfold {version('eightfold')}, "
        "an int8 inference accelerator.",
        f"SPDX-License-Identifier: {LICENCE}",
        f"Instruction set: version {VERSION}.",
        f"Made by: {command}",
        f"Configuration: {sizes}.",
        "Verilog-2001, one clock (clk), synchronous reset (rst), both active high.",
        "Generated from the Amaranth sources in hw/: change those, not this file.",
    )
    return "".join(f"// {line}\n" for line in lines) + "\n"


def without_header(text: str) -> str:
    """Return Verilog without the comment at its head, if it has one."""
    return _HEADER.sub("", text)
