"""Mutants of the hardware: its source with one small fault, to see whether the tests notice.

`mutator` makes them: it reads the source as text. `judge` says of one whether it is hardware, is
other hardware than before, and is caught: it works in a copy of the checkout (`scratch`), by
children with limits, and runs the tests that import the file (`benches`).
``accepted.toml`` has those that may survive.

Imports sim/simulator; hw and rtl in children alone.
"""
