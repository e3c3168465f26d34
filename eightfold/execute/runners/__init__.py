"""The one table of operators: a row per operator says how golden runs it.

A row is a `runner.Runner`: the golden function, how tensors and options reach it, when it computes
stacks of inferences, its multiply-accumulates, what can be prepared. Rows of an operator elsewhere
- the compiler's lowering, the series that are measured - are found missing by
tests/lab/test_catalogue.py; docs/add-an-operator.md walks through all of them.
"""

from eightfold.execute.runners.arithmetic import ARITHMETIC
from eightfold.execute.runners.matrix import MATRIX
from eightfold.execute.runners.movement import MOVEMENT
from eightfold.execute.runners.runner import Runner

RUNNERS: dict[str, Runner] = MATRIX | ARITHMETIC | MOVEMENT
"""By operator name."""
