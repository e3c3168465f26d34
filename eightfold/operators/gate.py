"""The one gate for models: every operator is held against its record, as LiteRT's Prepare does.

What the file leaves out is filled in. docs/models.md says what is checked, and where LiteRT accepts
more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError, shortened
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import Definition, Shape, not_one_of
from eightfold.operators.registry import OPERATORS

FLOAT_ONLY = frozenset({"ATAN2", "CEIL", "COS", "FLOOR", "POW", "ROUND", "SIGN", "SIN", "SQUARE"})
"""Operators that neither LiteRT nor TFLite Micro computes in int8: there is nothing to equal."""


@dataclass(frozen=True)
class Refusal:
    """Why an operator does not pass."""

    operator: Operator
    tensor: Tensor | None
    """The result that is not as computed; None if the message is about the operator."""

    message: str
    """What is wrong, in words; for a result what is declared and what is computed."""

    cause: SpecError | InputError | None = None
    """What the record's check has raised."""

    def __str__(self) -> str:
        """Return the one line that an `InputError` says."""
        where = f"{self.operator}: "
        return where + (f"{self.tensor}: " if self.tensor is not None else "") + self.message


def prepare(graph: Graph) -> tuple[Graph, list[Refusal]]:
    """Return the graph with all shapes filled in, and what does not pass.

    In their order, operators are checked as LiteRT's Prepare does it: number of operands and
    results, element types, ranks, options, operands that decide shapes, constant indices. Then the
    results' shapes and element types are computed from those of the operands, and must be the
    declared ones. LiteRT does not compare: it allocates what it has computed. A file whose declared
    shape differs contradicts itself, and whatever reads the declared one goes wrong; so it is
    refused here. A shape that the file leaves open is filled in.

    Passed over are operators without a record and, of operands and results of element types that
    are not run, the element types: the declared shapes of the former stand. So do sizes that an
    operand decides which is computed; `eightfold.operators.run` compares those after each
    inference. Of an operator that does not pass, the declared shapes stand too.

    Nothing is allocated, whatever the shapes.
    """
    tensors = list(graph.tensors)
    refusals: list[Refusal] = []
    for operator in graph.operators:
        definition = OPERATORS.get(operator.name)
        if definition is None:
            continue
        node = Node(tensors, operator)
        try:
            definition.check(node)
            _check_scales(graph, definition, operator)
            shapes = definition.shapes(node)
            dtypes = [definition.result_dtype(node, number) for number in range(len(shapes))]
        except (SpecError, InputError) as error:
            refusals.append(Refusal(operator, None, str(error), error))
            continue
        supported = definition.misfit(node) is None
        for tensor, shape, dtype in zip(node.outputs, shapes, dtypes, strict=True):
            if not tensor.stated and shape is not None and None not in shape:
                tensors[tensor.index] = tensor = replace(tensor, shape=shape)
            if words := difference(tensor, shape, dtype if supported else None):
                refusals.append(Refusal(operator, tensor, words))
    return replace(graph, tensors=tuple(tensors)), refusals


def _check_scales(graph: Graph, definition: Definition, operator: Operator) -> None:
    """Refuse a scale that is no positive number if it is computed with, as LiteRT does."""
    tensors = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
    if all(tensor.quantization is None or tensor.quantization.is_sound for tensor in tensors):
        return
    values = {t.index: np.broadcast_to(np.zeros((), t.dtype), t.shape) for t in tensors}
    definition.arguments(OperatorCall(graph, operator, values))


def difference(tensor: Tensor, shape: Shape, dtype: np.dtype | None = None) -> str | None:
    """Return in words how a tensor is not as computed; None if it is, as far as is known."""
    if dtype is not None and tensor.dtype != dtype:
        return f"declared {tensor.dtype}, computed {dtype}"
    if shape is None or fits(tensor.shape, shape):
        return None
    sizes = ["?" if size is None else size for size in shape]
    return f"declared shape {shortened(tensor.shape)}, computed {shortened(sizes)}"


def fits(declared: tuple[int, ...], computed: tuple[int | None, ...]) -> bool:
    """Return whether a shape has every size of another one that is known."""
    return len(declared) == len(computed) and all(
        known is None or size == known for size, known in zip(declared, computed, strict=True)
    )


def unsupported(tensors: Sequence[Tensor], operator: Operator) -> str | None:
    """Return in words why an operator does not run, even in golden; None if it does."""
    definition = OPERATORS.get(operator.name)
    if operator.name in FLOAT_ONLY:
        return "not supported: LiteRT and TFLite Micro have no int8 kernel for it"
    if definition is None:
        return "not supported; eightfold ops lists the operators that are"
    misfit = definition.misfit(Node(tensors, operator))
    return None if misfit is None else not_one_of(*misfit)


def misfits(graph: Graph) -> list[tuple[Operator, Tensor]]:
    """Return the operators that do not run for an element type, each with a tensor that has it."""
    found = []
    for operator in graph.operators:
        definition = OPERATORS.get(operator.name)
        if definition is not None and (misfit := definition.misfit(Node(graph.tensors, operator))):
            found.append((operator, misfit[0]))
    return found


def open_operands(tensors: Sequence[Tensor], operator: Operator) -> set[int]:
    """Return the tensors that are computed, and of which the results' shapes may be a matter."""
    definition = OPERATORS.get(operator.name)
    if definition is None:
        return set()
    node = Node(tensors, operator)
    return {
        index
        for position, index in enumerate(operator.inputs)
        if node.is_computed(position) and not definition.operand(position).values
    }
