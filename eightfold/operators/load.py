"""Models that are read and have passed the gate."""

from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph
from eightfold.model.reader import named, read_model
from eightfold.operators.batch import with_batch
from eightfold.operators.cost import Limits, check_cost
from eightfold.operators.gate import misfits, prepare

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


def load_model(
    source: bytes | str | Path, limits: Limits | None = None, batch: int | None = None
) -> Graph:
    """Read subgraph 0 of a model, as `eightfold.model.read_model`; `load_int8` takes fewer.

    Every operator has passed `eightfold.operators.gate.prepare`: what its record says holds, and
    the shapes and element types of its results are those that its kernel computes; `Graph.notes`
    says which of them the file left open.

    Parameters
    ----------
    source
        The bytes of a ``.tflite`` file, or its path.
    limits
        Of memory and elements; the defaults of `Limits` if None.
    batch
        Entries along dimension 0 of the inputs that leave it open; None: as the file states it.

    Raises
    ------
    InputError
        As `eightfold.model.read_model` and `eightfold.operators.batch.with_batch`; or an operator
        does not pass, or the model is beyond the limits. The message is one line and starts with
        the file's name.
    """
    graph = read_model(source)
    with named(source):
        prepared, refusals = prepare(graph if batch is None else with_batch(graph, batch))
        if refusals:
            more = f" (and {len(refusals) - 1} more, see eightfold check)" if refusals[1:] else ""
            raise InputError(f"{refusals[0]}{more}")
        check_cost(prepared, limits or Limits())
    return prepared


def load_int8(
    source: bytes | str | Path, limits: Limits | None = None, batch: int | None = None
) -> Graph:
    """Read a model that is to be run or compiled: `load_model`, and then `require_int8`.

    Parameters and errors as `load_model`; or if an operator works on float32, uint8 or int16.
    """
    graph = load_model(source, limits, batch)
    with named(source):
        require_int8(graph)
    return graph


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
