"""Mutants of the hardware: its source with one small fault, to see whether the tests notice.

`mutator` makes them. It reads the source as text, and imports none of it.
"""

from eightfold.mutants.mutator import KINDS, Mutant, draw, mutants

__all__ = ["KINDS", "Mutant", "draw", "mutants"]
