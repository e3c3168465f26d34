"""Models that are read, have passed the gate and are within limits; their batch, if it is open."""

import os
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph, Operator
from eightfold.model.reader import named, read_model
from eightfold.operators.call import Node
from eightfold.operators.definition import WORK
from eightfold.operators.folding import constant_results
from eightfold.operators.gate import misfits, prepare, unsupported
from eightfold.operators.registry import OPERATORS

MAX_ELEMENTS = 1 << 23
"""Elements of a tensor, if no other limit is given: golden takes about a second for as many."""

_SHARE = 4  # of the machine's memory one part, if no other limit is given
_LEAST_MEMORY = 1 << 30  # bytes, where the machine does not say what it has


@dataclass(frozen=True)
class Limits:
    """Beyond which a model is refused, whatever else is right with it."""

    max_memory: int | None = None
    """Bytes of a run in golden or of compiling; None: a quarter of the machine's memory."""

    max_elements: int | None = None
    """Elements of a tensor; None: `MAX_ELEMENTS`."""

    def memory(self) -> int:
        """Return the limit in bytes."""
        return machine_memory() // _SHARE if self.max_memory is None else self.max_memory

    def elements(self) -> int:
        """Return the limit in elements."""
        return MAX_ELEMENTS if self.max_elements is None else self.max_elements


def machine_memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not this system's
        return _SHARE * _LEAST_MEMORY


@dataclass(frozen=True)
class Cost:
    """Bytes of a run in golden, which keeps every tensor."""

    tensors: int
    """The bytes of all tensors."""

    intermediate: int
    """The most that an operator needs besides operands and results, estimated from above."""

    operator: Operator | None
    """The operator that needs it."""


def cost_of(graph: Graph) -> Cost:
    """Return what a run of a graph takes; a matter of its shapes, so that nothing is allocated."""
    tensors = sum(prod(tensor.shape) * tensor.dtype.itemsize for tensor in graph.tensors)
    works = [(_work(Node(graph.tensors, operator)), operator) for operator in graph.operators]
    intermediate, operator = max(works, key=lambda work: work[0], default=(0, None))
    return Cost(tensors, intermediate, operator)


def _work(node: Node) -> int:
    definition = OPERATORS.get(node.operator.name)
    if definition is not None and definition.work is not None:
        return definition.work(node)
    every = [tensor for tensor in (*node.inputs, *node.outputs) if tensor is not None]
    return WORK * sum(prod(tensor.shape) for tensor in every)


def check_cost(graph: Graph, limits: Limits) -> None:
    """Refuse a graph beyond the limits, with figures and the option that lifts the limit."""
    most = limits.elements()
    for tensor in graph.tensors:
        if (elements := prod(tensor.shape)) > most:
            raise InputError(
                f"{tensor} has {elements} elements; the limit is {most}; use a smaller model, or "
                "a higher --max-elements"
            )
    cost = cost_of(graph)
    room = limits.memory()
    if cost.tensors + cost.intermediate > room:
        raise InputError(
            f"a run takes {_shown(cost.tensors)} for its tensors and up to "
            f"{_shown(cost.intermediate)} within {cost.operator}; the limit is {_shown(room)}; use "
            "a smaller model, or a higher --max-memory"
        )


def _shown(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.1f} MB"


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
        one_scale = codes.quantization is not None and len(codes.quantization.scale) == 1
        if (behind or (in_front and source.index in given)) and one_scale:
            found[operator.index] = f"{source.dtype} to {target.dtype}"
    return found


def with_batch(graph: Graph, batch: int) -> Graph:
    """Return a graph whose inputs have ``batch`` entries along the dimension 0 that the file opens.

    As LiteRT does when an input is resized, every shape is computed anew from the inputs, and from
    constants that depend on shapes alone, such as SHAPE, STRIDED_SLICE and PACK before a RESHAPE.
    Raises `InputError` if no input leaves dimension 0 open, or an operator has no such batch, such
    as a RESHAPE to a constant shape, or a variable would change its shape: the message names the
    first.
    """
    opened = {index for index in graph.inputs if graph.tensors[index].open_batch}
    if not opened:
        raise InputError(
            f"no input leaves its batch open, so it cannot be {batch}; leave the batch out, or "
            "convert the network with None as the first dimension of its inputs"
        )
    tensors = list(graph.tensors)
    for index in opened:
        shape = batch, *tensors[index].shape[1:]
        tensors[index] = replace(tensors[index], shape=shape, open_batch=False)
    computed = {index for operator in graph.operators for index in operator.outputs}
    for index in computed:
        tensors[index] = replace(tensors[index], shape=(), stated=False)
    known: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        step = replace(graph, tensors=tuple(tensors), operators=(operator,))
        data = {i: replace(tensors[i], data=known[i]) for i in operator.inputs if i in known}
        folded = replace(step, tensors=tuple(data.get(t.index, t) for t in step.tensors))
        shaped, refusals = prepare(folded)
        if refusals:
            raise InputError(f"batch {batch}: {refusals[0]}; use the batch of the file")
        for index in operator.outputs:
            tensors[index] = replace(shaped.tensors[index], stated=graph.tensors[index].stated)
        results = constant_results(replace(step, tensors=tuple(tensors)), operator, known=known)
        known.update(zip(operator.outputs, results or (), strict=False))
    for each in graph.variables:
        held, assigned = tensors[each.before].shape, tensors[each.after].shape
        if held != assigned:
            raise InputError(
                f"batch {batch}: variable {each.name} of shape {held} is assigned {assigned}; use "
                "the batch of the file"
            )
    return replace(graph, tensors=tuple(tensors))


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
    Raises `InputError` as `eightfold.model.read_model` and `with_batch`; or if an operator does not
    pass, or the model is beyond the limits. It is one line, and starts with the file's name.

    ``source``: the bytes of a ``.tflite`` file, or its path.
    ``limits``: of memory and elements; the defaults of `Limits` if None.
    ``batch``: entries along the dimension 0 that inputs leave open; None: as the file states it.
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
    """Refuse a network with operators on float32, uint8 or int16, and say how to convert it.

    Operators that turn float32 into int8 and back may stand at the edges of a model. The message
    has all operators that do not run, for whatever reason: they are mended together.
    """
    found = [each for each in misfits(graph) if each[1].dtype.name in _CONVERSIONS]
    if not found:
        return
    (operator, tensor), *others = found
    kind = tensor.dtype.name
    edges = kind != "float32" and all(operator.name in _EDGES for operator, _ in found)
    named = (str(each) + f" on {t.dtype}" * (t.dtype != tensor.dtype) for each, t in others)
    more = f" (and {', '.join(named)})" if others else ""
    numbers = {each.index for each, _ in found}
    rest = (each for each in graph.operators if each.index not in numbers)
    reasons = [f"; {each}: {why}" for each in rest if (why := unsupported(graph.tensors, each))]
    raise InputError(
        f"{operator} works on {kind}, in {tensor}{more}; Eightfold computes int8: "
        f"{_EDGE_CONVERSION if edges else _CONVERSIONS[kind]}; docs/models.md has an example"
        f"{''.join(reasons)}"
    )
