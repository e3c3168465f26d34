"""From a graph to command streams and their model images."""

from eightfold.compiler.cascade.search import best_cascades
from eightfold.compiler.lower.lowering import HARDWARE, computed
from eightfold.compiler.network import Compiled
from eightfold.compiler.passes import CompiledNetwork, Segment, compile_network

__all__ = [
    "HARDWARE",
    "Compiled",
    "CompiledNetwork",
    "Segment",
    "best_cascades",
    "compile_network",
    "computed",
]
