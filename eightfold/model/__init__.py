"""A .tflite file as a typed graph: tensors, quantization, operators."""

from eightfold.model.graph import Graph, Operator, Quantization, Tensor, Variable
from eightfold.model.reader import named, normalize_dimensions, read_model, with_shapes

__all__ = [
    "Graph",
    "Operator",
    "Quantization",
    "Tensor",
    "Variable",
    "named",
    "normalize_dimensions",
    "read_model",
    "with_shapes",
]
