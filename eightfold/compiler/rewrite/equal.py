"""Operators that do the same to the same are computed once."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from eightfold.compiler.rewrite.draft import Draft
from eightfold.model import Operator, Tensor


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
    return (
        operator.name,
        tuple((name, _frozen(value)) for name, value in sorted(operator.options.items())),
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
        codes = (
            quantization.scale.tobytes(),
            quantization.zero_point.tobytes(),
            quantization.axis,
        )
    return (tensor.shape, tensor.dtype.str, codes)


def _frozen(value: Any) -> Hashable:
    return value.tobytes() if isinstance(value, np.ndarray) else value
