"""Random models that can tell a right implementation from a wrong one.

`models` has a maker of random models of one operator for each operator, `networks` makes networks
grow by operators. The same seed gives the same bytes on every machine.

Imports model, golden; never compiler, hw, sim.
"""
