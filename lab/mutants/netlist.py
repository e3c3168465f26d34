"""``python -m lab.mutants.netlist UNIT CONFIG FILE``: write a unit's netlist as RTLIL."""

import sys
from pathlib import Path

from eightfold.hw.units import UNITS
from eightfold.rtl.verilog import to_rtlil
from eightfold.target.config import AcceleratorConfig


def main(unit: str, config: str, file: str) -> None:
    """Elaborate a unit at a preset, and write what it is."""
    Path(file).write_text(to_rtlil(UNITS[unit](AcceleratorConfig.load(config)), "top"), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
