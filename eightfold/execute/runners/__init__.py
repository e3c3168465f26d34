"""How each operator's tensors and options reach the functions of golden."""

from eightfold.execute.runners.arithmetic import ARITHMETIC
from eightfold.execute.runners.matrix import MATRIX
from eightfold.execute.runners.movement import MOVEMENT
from eightfold.execute.runners.runner import Runner

RUNNERS: dict[str, Runner] = MATRIX | ARITHMETIC | MOVEMENT
"""By operator name."""
