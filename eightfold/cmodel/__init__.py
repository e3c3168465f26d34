"""The reference arithmetic as C99, for C models and for SystemVerilog through DPI-C.

The folder `sources` has the C files, their header and the SystemVerilog package, as they are
handed out; `write` copies them. They compute what `eightfold.golden` computes, bit for bit:
tests/eightfold/cmodel compares the two. A new formula there has to be followed here.

Imports nothing but the ground; the command line imports it.
"""
