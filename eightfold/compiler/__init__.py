"""From a graph to what the lane array is fed."""

from eightfold.compiler.network import HARDWARE, compile_network
from eightfold.compiler.program import LaneProgram, TableProgram

__all__ = ["HARDWARE", "LaneProgram", "TableProgram", "compile_network"]
