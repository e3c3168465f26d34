"""The operators of the accelerator as `eightfold ops` lists them, and what they take.

`subject` and `series` make models of one operator, `computing` and `copying` have those of every
operator, `catalogue` all of them. `stream` says which commands of a model are the operator's work,
`measure` runs them in RTL, `figures` keeps what was measured and fits how cycles grow. `probe` asks
the compiler and golden about an operator, `describe` brings it together, `tables` writes it.

A new operator of the compiler needs its series in `computing` or `copying`; then
``eightfold ops --measure`` brings figures and documents up to date.
"""
