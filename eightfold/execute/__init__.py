"""Graphs in numpy: every operator of a `.tflite` graph on the functions of golden.

`runners` is the one table of operators: a row each says how its tensors and options reach golden.
`call` is what one operator works on, `operator` runs one, `graphs` run whole graphs. `prepared`
derives once what constants fix, `stacking` runs many inferences as one. `macs` counts an operator's
multiply-accumulates, `explain` tells the arithmetic of one element.

Imports golden, `eightfold.model` and the ground; compiler, reports and the session import it.
"""

from eightfold.execute.call import quantization_of
from eightfold.execute.graphs import run_graph, run_graphs
from eightfold.execute.macs import count_macs
from eightfold.execute.operator import SUPPORTED, run_operator

__all__ = [
    "SUPPORTED",
    "count_macs",
    "quantization_of",
    "run_graph",
    "run_graphs",
    "run_operator",
]
