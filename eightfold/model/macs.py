"""Multiply-accumulates of an operator: the work that utilisation is measured against."""

import math

from eightfold.model import Graph, Operator


def count_macs(graph: Graph, operator: Operator) -> int:
    """Return the operator's multiply-accumulates, padding taps included; 0 without weights.

    CONV_2D and FULLY_CONNECTED: output elements times the filter's taps per output channel;
    DEPTHWISE_CONV_2D: output elements times kernel height and width; TRANSPOSE_CONV: input elements
    times the filter's taps per input channel.
    """
    outputs = math.prod(graph.tensors[operator.outputs[0]].shape) if operator.outputs else 0
    match operator.name:
        case "CONV_2D" | "FULLY_CONNECTED":
            return outputs * math.prod(graph.tensors[operator.inputs[1]].shape[1:])
        case "DEPTHWISE_CONV_2D":
            return outputs * math.prod(graph.tensors[operator.inputs[1]].shape[1:3])
        case "TRANSPOSE_CONV":
            _, filters, source = (graph.tensors[index].shape for index in operator.inputs[:3])
            return math.prod(source) * math.prod(filters[:3])
    return 0
