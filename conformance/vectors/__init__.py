"""Cases as files, for simulators and programs that are not ours.

`unit_files` makes the files of one unit in a format: `arrays` has npz and csv, `hexadecimal` words
for ``$readmemh`` with a bench in Verilog and one in SystemVerilog, `c_source` arrays and a loop.
`operators` has models of one operator each, to be computed or to be refused. `manifest` says beside
them what they are. The same arguments give the same bytes everywhere.

Imports the units, the random models, the profile, execute and model; never hw, sim.
"""
