"""The exact rules, in the order in which they are applied; those on whole operators are here."""

from collections.abc import Callable, Collection, Hashable

import numpy as np

from eightfold.common.errors import InputError
from eightfold.compiler.rewrite.compact import compact
from eightfold.compiler.rewrite.draft import Draft, Rewritten
from eightfold.compiler.rewrite.elements import compose
from eightfold.compiler.rewrite.fusion import clamp, pad
from eightfold.compiler.rewrite.moves import tidy
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator, Tensor
from eightfold.operators import open_operands, run_operator
from eightfold.operators.folding import constant_results
from eightfold.operators.run import UndefinedResult


def drop_unused(draft: Draft) -> None:
    """Remove operators from whose results no output of the model comes.

    One that the reference kernels refuse whatever it works on stays: the model is refused for it.
    """
    needed = draft.outputs()
    for operator in reversed(list(draft.operators)):
        if needed.isdisjoint(operator.outputs) and not _is_refused(draft, operator):
            draft.remove(operator)
            draft.say("unused", [operator.index], "no output comes from it")
        else:
            needed.update(operator.inputs)


def _is_refused(draft: Draft, operator: Operator) -> bool:
    """Return whether golden refuses an operator for what the file says of it."""
    if open_operands(draft.tensors, operator):
        return False
    zeros = {
        index: np.zeros(draft.tensors[index].shape, draft.tensors[index].dtype)
        for index in operator.inputs
        if index >= 0 and draft.tensors[index].data is None
    }
    try:
        run_operator(draft.graph, operator, zeros, draft.reference)
    except UndefinedResult:
        return False
    except InputError:
        return True
    return False


def fold(draft: Draft) -> None:
    """Let constants be read for results of constants, and shapes; outputs of the model stay."""
    for operator in draft.each():
        results = constant_results(draft.graph, operator, draft.reference)
        if results is None:
            continue
        is_output = draft.outputs() & set(operator.outputs)
        if is_output and not any(map(draft.readers, operator.outputs)):
            continue
        for tensor, data in zip(operator.outputs, results, strict=True):
            like = draft.tensors[tensor]
            constant = draft.constant(like, data, like.quantization)
            if is_output:
                draft.read(tensor, constant)
            else:
                draft.stand_in(tensor, constant)
        if not is_output:
            draft.remove(operator)
        draft.say("constants", [operator.index], "it depends on constants alone")


def merge_equal(draft: Draft) -> None:
    """Let operators with equal names, options, operands and types of results be one.

    Constants are equal if their elements and quantizations are. Whatever is an output of the model
    stays; the others read it.
    """
    known: dict[Hashable, Operator] = {}
    for current in draft.each():
        first = known.setdefault(_key(draft, current), current)
        if first is current or draft.outputs() & set(current.outputs):
            continue
        draft.remove(current)
        for tensor, other in zip(current.outputs, first.outputs, strict=True):
            draft.stand_in(tensor, other)
        draft.say("equal", [current.index], f"it does what operator {first.index} has done")


def _key(draft: Draft, operator: Operator) -> Hashable:
    """Return what two operators have in common that compute the same."""
    options = (
        (name, value.tobytes() if isinstance(value, np.ndarray) else value)
        for name, value in sorted(operator.options.items())
    )
    return (
        operator.name,
        tuple(options),
        tuple(_operand(draft, tensor) for tensor in operator.inputs),
        tuple(_kind(draft.tensors[tensor]) for tensor in operator.outputs),
    )


def _operand(draft: Draft, tensor: int) -> Hashable:
    if tensor < 0 or draft.tensors[tensor].data is None:
        return tensor
    data = draft.tensors[tensor].data
    assert data is not None
    return (*_kind(draft.tensors[tensor]), data.tobytes())


def _kind(tensor: Tensor) -> tuple[Hashable, ...]:
    quantization = tensor.quantization
    codes = None
    if quantization is not None:
        codes = (quantization.scale.tobytes(), quantization.zero_point.tobytes(), quantization.axis)
    return (tensor.shape, tensor.dtype.str, codes)


RULES: dict[str, Callable[[Draft], None]] = {
    "unused": drop_unused,
    "constants": fold,
    "equal": merge_equal,
    "moves": tidy,
    "tables": compose,
    "clamps": clamp,
    "padding": pad,
    "channels": compact,
}
"""By their names, in the order in which they are applied; each changes a draft wherever it fits.

What is computed is the same as before, bit for bit."""

ALL = "all"
"""Stands for every rule where rules are left out."""


def unknown_rule(names: Collection[str]) -> str | None:
    """Return what is wrong with names of rules: the first that is none, and all there are."""
    if unknown := sorted(set(names) - {*RULES, ALL}):
        return f"there is no rule {unknown[0]!r}; rules are {', '.join((*RULES, ALL))}"
    return None


def rewrite(
    graph: Graph, reference: Reference = "litert", *, without: Collection[str] = ()
) -> Rewritten:
    """Return a graph with the same outputs that takes less to compute.

    ``graph``: from `eightfold.operators.load_model`; ``reference``, ``litert`` or ``tflm``: whose
    kernels to equal where they differ; ``without``: names of rules that are not applied, or `ALL`.
    """
    draft = Draft(graph, reference)
    for name, apply in RULES.items():
        if not {name, ALL} & set(without):
            apply(draft)
    return draft.rewritten()
