"""How each operator's tensors and options reach the functions of golden."""

from eightfold.runners.arithmetic import ARITHMETIC
from eightfold.runners.matrix import MATRIX
from eightfold.runners.movement import MOVEMENT
from eightfold.runners.runner import Runner

RUNNERS: dict[str, Runner] = MATRIX | ARITHMETIC | MOVEMENT
"""By operator name."""
