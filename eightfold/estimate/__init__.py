"""Cycles without simulation: when every command of a stream starts and ends.

`estimate` brings the cycles of streams; each other module is the timing of one part of the
accelerator, with the constants of `timing`, which tests hold against the hardware's own.

Imports `eightfold.isa` and `eightfold.target`; the compiler, the command line and documents
import it.
"""

from eightfold.estimate.estimate import estimate_network

__all__ = ["estimate_network"]
