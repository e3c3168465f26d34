"""Proofs about the hardware: what holds for all inputs, not for those that were tried.

`lab.formal.proofs` lists them. A proof is a `Property`, which ABC checks, or claims about a
unit's netlist as formulas, which z3 solves. docs/proofs.md says what is proved and what is assumed.
"""
