"""Cases as files, for simulators and programs that are not ours.

`unit_files` makes the files of one unit in a format: npz, csv, words for ``$readmemh`` with a bench
in Verilog and one in SystemVerilog, or arrays and a loop in C. `models` has models of one operator
each, to be computed or to be refused, and networks. `manifest` says beside them what they are, and
`frozen` writes sets to be cited. The same arguments give the same bytes everywhere.

Imports the units, the random models, the profile, execute and model; never hw, sim.
"""
