"""Operators that copy: which element of which input an element is."""

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.lines import Index, value_text
from eightfold.execute.runners import RUNNERS
from eightfold.execute.runners.movement import MOVEMENT

BASE = 128
"""Of the digits that number the elements: an int8 holds one."""

_COMPUTED = ("RESIZE_BILINEAR", "SHAPE")
_JOINED = ("CONCATENATION", "PACK")


def _explain(call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return where the element comes from, or that it is a fill.

    The operator itself tells: it copies the numbers of the elements, digit by digit, in place of
    the codes. A second time all digits are replaced by their complements: what has not changed
    with them is a fill.
    """
    runner = RUNNERS[call.operator.name]
    positions = _copied(call)
    arrays = [call.codes(position) for position in positions]
    sizes = [array.size for array in arrays]
    numbers = np.arange(sum(sizes))
    number, scale, is_copy = 0, 1, True
    while scale == 1 or scale < sum(sizes):
        digits = numbers // scale % BASE
        seen = []
        for plane in (digits, BASE - 1 - digits):
            parts = np.split(plane.astype(np.int8), np.cumsum(sizes)[:-1])
            planes = [part.reshape(a.shape) for part, a in zip(parts, arrays, strict=True)]
            seen.append(int(runner.run(_replaced(call, planes))[output][index]))
        is_copy = is_copy and sum(seen) == BASE - 1
        number += scale * seen[0]
        scale *= BASE
    value = value_text(runner.run(call)[output][index])
    if not is_copy:
        return [f"no element of the input: a fill = {value}"]
    part = int(np.searchsorted(np.cumsum(sizes), number, side="right"))
    place = np.unravel_index(number - sum(sizes[:part]), arrays[part].shape)
    source = call.input(positions[part])
    where = [int(at) for at in place]
    return [f"copy of input {positions[part]}, {source}, element {where} = {value}"]


def _copied(call: OperatorCall) -> list[int]:
    """Return the positions of the inputs that are copied from."""
    if call.operator.name in _JOINED:
        return list(range(len(call.inputs)))
    return [1 if call.operator.name == "SPLIT" else 0]


def _replaced(call: OperatorCall, planes: list[np.ndarray]) -> OperatorCall:
    before = [call.array(0)] if call.operator.name == "SPLIT" else []
    return call.substituted(*before, *planes)


COPIES = {name: _explain for name in MOVEMENT if name not in _COMPUTED}
