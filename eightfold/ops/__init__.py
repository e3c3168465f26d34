"""The operators of the accelerator as `eightfold ops` lists them, and what they take.

`subject` and `series` make models of one operator; an `entry` has those of an operator, the
requirement on its throughput and its limits in words. `computing` and `copying` have the entries of
every operator, `catalogue` all of them. `stream` says which commands of a model are the operator's
work, `measure` runs them in RTL, `figures` keeps what was measured and fits how cycles grow, and
`requirements` holds it against what is asked. `probe` asks the compiler about an operator,
`describe` brings it together.

A new operator of the compiler needs its entry in `computing` or `copying`; then
``eightfold ops --measure`` brings figures and documents up to date: docs/add-an-operator.md.
"""
