"""What writes the documents' generated parts, between the markers of `eightfold.common.markers`.

`figures` measures cycles of networks (`cycle_tables`, `cycle_chart`) and puts `peers` beside them;
`throughput` and `operator_table` are of operators, `preset_table` of configurations, `mistakes` of
the kit, `speed` of golden, `memory_table` of networks over memories.

``python -m lab.documents`` writes all that has its source in the tree; what is measured has
programs of its own (``python -m lab.documents.figures``). Imports everything below the
command line; the command line alone imports it.
"""
