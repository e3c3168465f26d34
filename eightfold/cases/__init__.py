"""Cases that are drawn from a seed: the same seed gives the same bytes on every machine.

`models` has a maker of random models of one operator for each operator, `networks` makes networks
grow by operators.

Imports model, execute, golden; the conformance kit, campaigns and tests import it.
"""
