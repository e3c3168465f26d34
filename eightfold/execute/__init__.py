"""Graphs in numpy: every operator of a `.tflite` graph on the functions of golden.

`graphs` runs graphs and operators, `call` is what one operator works on, `runners` say how each
operator's tensors and options reach golden. `prepared` derives once what constants fix, `stacking`
runs many inferences as one.

Imports golden, `eightfold.model` and the ground; compiler, reports and the session import it.
"""

from eightfold.execute.call import quantization_of, window_of
from eightfold.execute.graphs import SUPPORTED, run_graph, run_graphs, run_operator

__all__ = [
    "SUPPORTED",
    "quantization_of",
    "run_graph",
    "run_graphs",
    "run_operator",
    "window_of",
]
