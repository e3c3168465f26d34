"""A .tflite file as a typed graph: tensors, quantization, operators."""

from eightfold.model.graph import Graph, Operator, Quantization, Tensor
from eightfold.model.normalize import normalize_dimensions
from eightfold.model.prepare import Limits
from eightfold.model.reader import load_int8, load_model, named, read_model

__all__ = [
    "Graph",
    "Limits",
    "Operator",
    "Quantization",
    "Tensor",
    "load_int8",
    "load_model",
    "named",
    "normalize_dimensions",
    "read_model",
]
