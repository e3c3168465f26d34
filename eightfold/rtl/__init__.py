"""Verilog from Amaranth components: `netlist` tidies what Amaranth makes, `layout` what Yosys
writes.

Imports hw and the ground; needs the extra ``rtl``. The simulator, `eightfold.synth` and the command
line import it.
"""
