"""Cycles without simulation: when every command of a stream starts and ends.

`estimate` brings a compiled network's cycles; each other module is the timing of one part of the
accelerator, with the constants of `timing`, which tests hold against the hardware's own.

Imports the compiler and the ground, never hw or sim; the command line and documents import it.
"""

from eightfold.estimate.estimate import estimate_network

__all__ = ["estimate_network"]
