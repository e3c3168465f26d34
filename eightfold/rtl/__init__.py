"""Verilog from Amaranth components: `netlist` tidies what Amaranth makes, `verilog` what Yosys
writes. `header` says what a file is, `packages` are what tools find the files by.

Imports hw and the ground; needs the extra ``rtl``. The simulator, `eightfold.synth` and the command
line import it.
"""
