"""What each operator of the accelerator takes: its models, their cycles, its limits.

`series` has the entry of every operator: series of `models` of three sizes, the requirement on
their throughput, its limits in words. `rtl` runs them. ``python -m lab.measure`` asks the compiler
what an operator accepts besides, and writes all to the file that ``eightfold ops`` reads;
`lab.documents.throughput` fits how cycles grow.

A new operator of the compiler needs its entry: docs/add-an-operator.md.
"""
