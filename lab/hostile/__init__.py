"""Hostile models: each command of the tool in a child process with limits, and LiteRT beside it.

`subject` is what is done with a file, `trial` does it in a process with limits of time and memory,
and has the verdict on that and on what LiteRT says, with the rules by which LiteRT refuses what is
accepted here on purpose.

Imports compiler, conformance, estimate, reference, session, simulate; never hw. Campaigns and tests
import it.
"""
