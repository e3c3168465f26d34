"""The exact rules, in the order in which they are applied; those on whole operators are here."""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Rule:
    """``apply`` changes a draft wherever the rule fits; ``text`` says in a line what it does."""

    name: str
    text: str
    apply: Callable[[Draft], None]


RULES = (
    Rule("unused", "operators from which no output comes are left out", drop_unused),
    Rule("constants", "what depends on constants alone is computed once, by golden", fold),
    Rule("equal", "operators that do the same to the same are computed once", merge_equal),
    Rule("moves", "what only moves elements is dropped, merged, or moved back", tidy),
    Rule("tables", "functions of one byte that follow each other become one table", compose),
    Rule("clamps", "RELU and its like go into the requantizer before them", clamp),
    Rule("padding", "convolutions pad for the PAD or PADV2 before them", pad),
    Rule("channels", "channels that are constant or that nobody reads are not computed", compact),
)
"""Each computes the same outputs as before, bit for bit."""

NAMES = tuple(rule.name for rule in RULES)

ALL = "all"
"""Stands for every rule where rules are left out."""


def unknown_rule(names: Collection[str]) -> str | None:
    """Return what is wrong with names of rules: the first that is none, and all there are."""
    if unknown := sorted(set(names) - {*NAMES, ALL}):
        return f"there is no rule {unknown[0]!r}; rules are {', '.join((*NAMES, ALL))}"
    return None


def rewrite(
    graph: Graph, reference: Reference = "litert", *, without: Collection[str] = ()
) -> Rewritten:
    """Return a graph with the same outputs that takes less to compute.

    ``graph``: from `eightfold.operators.load_model`; ``reference``, ``litert`` or ``tflm``: whose
    kernels to equal where they differ; ``without``: names of rules that are not applied, or `ALL`.
    """
    draft = Draft(graph, reference)
    for rule in RULES:
        if not {rule.name, ALL} & set(without):
            rule.apply(draft)
    return draft.rewritten()
