"""What each operator of the accelerator takes: its models, their cycles, its limits.

`series` has the entry of every operator: series of `models` of three sizes, the requirement on
their throughput, its limits in words. `rtl` runs them, `facts` asks the compiler what an operator
accepts. ``python -m lab.measure`` writes what they find to the file that ``eightfold ops`` reads,
and `lab.documents.throughput` fits how cycles grow.

A new operator of the compiler needs its entry: docs/add-an-operator.md.
"""
