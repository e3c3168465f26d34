"""Cases as files, for simulators and programs that are not ours.

`unit_files` makes the files of one unit in a format: `arrays` has npz and csv, `hexadecimal` words
for ``$readmemh`` with a bench in Verilog and one in SystemVerilog, `c_source` arrays and a loop.
`manifest` says beside them what they are. The same arguments give the same bytes everywhere.

Imports the units, the profile, and files; never hw, sim.
"""
