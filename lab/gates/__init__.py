"""Netlists turned back into Verilog, so that the benches of the RTL run on what was synthesized.

`gates` makes such a design of any other. docs/gates.md says what is shown by it. May import `synth`
and the builds of `sim`; `Session`, `eightfold.run.simulate` and campaigns import it.
"""

from lab.gates.netlists import NETLISTS, Gates, Netlist, gates, levels_of

__all__ = ["NETLISTS", "Gates", "Netlist", "gates", "levels_of"]
