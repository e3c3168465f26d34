"""Netlists turned back into Verilog, so that the benches of the RTL run on what was synthesized.

`gates` makes such a design of any other. docs/gates.md says what is shown by it. May import `synth`
and the builds of `sim`; the laboratory's suites import it. `lab.netlist_option` is what it adds to
``eightfold run``.
"""

from lab.gates.netlists import (
    NETLISTS,
    Gates,
    Netlist,
    accelerator_source,
    gates,
    levels_of,
    netlist_source,
)

__all__ = [
    "NETLISTS",
    "Gates",
    "Netlist",
    "accelerator_source",
    "gates",
    "levels_of",
    "netlist_source",
]
