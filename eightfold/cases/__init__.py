"""Cases that are drawn from a seed: the same seed gives the same bytes on every machine.

`builder` writes models, and knows the shapes of what operators compute. `elementwise`, `indexing`,
`matrix`, `movement` and `state` have a `draws.Maker` for each operator: how a model of it alone is
drawn, and how a network grows by it. `operators` has all of them, and draws models of one operator;
`networks` draws networks of many, and those that nobody would train. What values are drawn from is
in `draws`.

Imports model, execute, spec, golden; the conformance kit, campaigns and tests import it.
"""
