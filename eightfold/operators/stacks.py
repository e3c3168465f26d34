"""When an operator computes a stack of inferences as one: the rules that its record names.

A stack of N inferences has axis 0 N times as long. An operator that treats the slices along axis 0
alike, and none together, computes the stack of its results from the stack of its inputs. A rule
holds in the sure cases; in any other inferences run one at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from eightfold.operators.call import OperatorCall


@dataclass(frozen=True)
class Stacks:
    """A rule, which says whether an operator works on stacks.

    ``holds``: the rule, for a call whose first input is there and which has an output.
    ``reshapes``: whether the result is the first input's elements in their order under another
        shape: the operator states that of one inference, the stack has the same with a longer axis
        0.
    """

    holds: Callable[[OperatorCall], bool]
    reshapes: bool = False


def _rank(call: OperatorCall) -> int:
    return len(call.input(0).shape)


def _first_only(call: OperatorCall) -> bool:
    """Only the first input is computed; the others are constants or absent."""
    return call.is_computed(0) and not any(map(call.is_computed, range(1, len(call.inputs))))


def _row(call: OperatorCall) -> bool:
    return _first_only(call) and _rank(call) >= 2


def _matrix(call: OperatorCall) -> bool:
    if not _row(call):
        return False
    weights = call.input(1).shape
    return len(weights) == 2 and prod(call.input(0).shape) % weights[1] == 0


def is_per_axis(call: OperatorCall) -> bool:
    """Return whether an element's place decides its scale."""
    return any(q is not None and q.axis is not None for q in call.every_quantization())


def _elementwise(call: OperatorCall) -> bool:
    if is_per_axis(call):
        return False
    output = call.output.shape
    for tensor in call.inputs:
        if tensor is None:
            return False
        if tensor.data is None:
            # Axis 0 counts slices in both; the axes behind it may broadcast.
            if len(tensor.shape) != len(output) or tensor.shape[0] != output[0]:
                return False
        elif len(tensor.shape) > len(output) or (
            len(tensor.shape) == len(output) and tensor.shape[0] != 1
        ):
            return False
    return any(map(call.is_computed, range(len(call.inputs))))


def _reshaping(call: OperatorCall) -> bool:
    x, y = call.input(0).shape, call.output.shape
    return _first_only(call) and len(x) > 0 and prod(x) == prod(y)


def _constants(call: OperatorCall) -> np.ndarray | None:
    """Return the second input; None if it is absent or computed."""
    tensor = call.tensor(1)
    return tensor.data if tensor is not None and _first_only(call) else None


def _padding(call: OperatorCall) -> bool:
    paddings = _constants(call)
    return paddings is not None and paddings.ndim == 2 and not paddings[0].any()


def _reduction(call: OperatorCall) -> bool:
    axes = _constants(call)
    rank = _rank(call)
    return axes is not None and rank >= 2 and not np.any(axes % rank == 0)


def _permutation(call: OperatorCall) -> bool:
    order = _constants(call)
    return order is not None and order.size > 0 and order.flat[0] in (0, -order.size)


def _joining(call: OperatorCall) -> bool:
    computed = all(map(call.is_computed, range(len(call.inputs))))
    return computed and _rank(call) >= 2 and call.options["axis"] % _rank(call) != 0


IMAGES = Stacks(lambda call: _first_only(call) and _rank(call) == 4)
"""Image by image, NHWC; all but the first input is constant."""

ROWS = Stacks(_row)
"""Along the last axis, which is not axis 0."""

WHOLE_ROWS = Stacks(_matrix)
"""As `ROWS`; each inference gives whole rows of the filter's length."""

ELEMENTS = Stacks(_elementwise)
"""Element by element: computed inputs have the output's slices; constants are the same for all."""

MATRICES = Stacks(lambda call: len(call.output.shape) > 2 and _elementwise(call))
"""As `ELEMENTS`, of matrices; axis 0 is before the last two."""

SHAPES = Stacks(_reshaping, reshapes=True)
"""The elements under another shape."""

PADDED = Stacks(_padding)
"""Nothing is padded along axis 0."""

AXES_BEHIND = Stacks(_reduction)
"""The axes that are reduced, or reversed, are not axis 0."""

FIRST_STAYS = Stacks(_permutation)
"""The permutation leaves axis 0 in its place."""

JOINED_BEHIND = Stacks(_joining)
"""Computed tensors are joined along an axis that is not axis 0."""
