"""The operators at the edges of a network that the host computes, as it gives and takes tensors."""

import numpy as np

from eightfold.model.graph import Graph, Tensor


def host_operators(graph: Graph) -> dict[int, str]:
    """Return the operators that convert at the edges, by index, with what they do in words.

    At the front a QUANTIZE of a float32 input of the graph, at the end a DEQUANTIZE whose result no
    operator reads; each with one scale. All others are the accelerator's, or golden's.
    """
    read = {index for operator in graph.operators for index in operator.inputs}
    given, found = set(graph.inputs), {}
    for operator in graph.operators:
        if len(operator.inputs) != 1 or len(operator.outputs) != 1:
            continue
        source, target = (graph.tensors[i] for i in (*operator.inputs, *operator.outputs))
        in_front = operator.name == "QUANTIZE" and source.dtype == np.float32
        behind = operator.name == "DEQUANTIZE" and target.index not in read
        codes = target if in_front else source
        if (behind or (in_front and source.index in given)) and _per_tensor(codes):
            found[operator.index] = f"{source.dtype} to {target.dtype}"
    return found


def _per_tensor(tensor: Tensor) -> bool:
    return tensor.quantization is not None and len(tensor.quantization.scale) == 1
