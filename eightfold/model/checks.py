"""Checks on a graph as a whole."""

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph
from eightfold.model.prepare import misfits

_CONVERSIONS = {
    "float32": "convert the network with full integer quantization, by the TFLite converter with "
    "Optimize.DEFAULT, a representative_dataset and TFLITE_BUILTINS_INT8, or by litert-quantizer",
    "uint8": "uint8 is the scheme of TensorFlow 1, without an exact form in int8; convert the "
    "float network again, with full integer quantization to int8 (TFLITE_BUILTINS_INT8)",
    "int16": "convert the float network again with activations of 8 bits in place of 16: "
    "TFLITE_BUILTINS_INT8 in place of ..._ACTIVATIONS_INT16_WEIGHTS_INT8",
}
"""What to do about a network of an element type."""

_EDGES = {"QUANTIZE", "DEQUANTIZE"}

_EDGE_CONVERSION = (
    "convert the network again with inference_input_type and inference_output_type tf.int8"
)
"""What to do if nothing but inputs and outputs are of another type."""


def check_order(graph: Graph) -> None:
    """Check that the operators can run one after the other, each tensor produced once.

    Raises
    ------
    InputError
        If an operator reads a tensor that nothing before it produces (so also for a cycle), a
        tensor is produced twice, or the graph's inputs or outputs are repeated or never produced.
    """
    tensors = graph.tensors
    for kind, indices in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        if len(set(indices)) != len(indices):
            raise InputError(f"the graph's {kind} name a tensor twice; each can be named once")
    available = {tensor.index for tensor in tensors if tensor.data is not None}
    if constant := available & set(graph.inputs):
        raise InputError(
            f"{tensors[min(constant)]} is both a constant and an input of the graph; "
            "remove it from the inputs"
        )
    available |= set(graph.inputs)
    for operator in graph.operators:
        for index in operator.inputs:
            if index != -1 and index not in available:
                raise InputError(
                    f"{operator} reads {tensors[index]}, which is no input or constant and which "
                    "no earlier operator produces; sort the operators, without cycles"
                )
        for index in operator.outputs:
            if index in available:
                raise InputError(
                    f"{operator} produces {tensors[index]}, which is an input, a constant or "
                    "already produced; give it a tensor of its own"
                )
            available.add(index)
    for index in graph.outputs:
        if index not in available:
            raise InputError(
                f"the graph's output {tensors[index]} is never produced; remove it from the outputs"
            )


def require_int8(graph: Graph) -> None:
    """Check that no operator works on float32, uint8 or int16: such a network is to be converted.

    Operators that turn float32 into int8 and back may stand at the edges of a model.

    Raises
    ------
    InputError
        If there are such operators. The message says of the first one how to convert the network.
    """
    found = [each for each in misfits(graph) if each[1].dtype.name in _CONVERSIONS]
    if not found:
        return
    operator, tensor = found[0]
    kind = tensor.dtype.name
    edges = kind != "float32" and all(operator.name in _EDGES for operator, _ in found)
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    raise InputError(
        f"{operator} works on {kind}, in {tensor}{more}; Eightfold computes int8: "
        f"{_EDGE_CONVERSION if edges else _CONVERSIONS[kind]}; docs/models.md has an example"
    )
