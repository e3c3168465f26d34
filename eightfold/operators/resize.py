"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: pixels of an image at other places."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eightfold.golden import resize
from eightfold.golden.errors import RejectedError
from eightfold.golden.resize import COORDINATE_BITS, bilinear_taps, new_size
from eightfold.golden.steps import step_lines
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    INT8,
    INT32,
    Definition,
    Element,
    Explain,
    Function,
    Shape,
    Shapes,
    reader,
)
from eightfold.operators.movement import UNPREPARED, explain_copy
from eightfold.operators.rules import SpecEntry
from eightfold.operators.stacks import IMAGES


def _shapes(least: int) -> Shapes:
    def shapes(node: Node) -> Sequence[Shape]:
        size, shape = node.known_vector(1), node.shape(0)
        unknown = [least] * node.shape(1)[0]
        height, width = new_size(shape, unknown if size is None else size, least)
        if size is None:
            return [(shape[0], None, None, shape[3])]
        return [(shape[0], height, width, shape[3])]

    return shapes


def _bilinear_shapes(node: Node) -> Sequence[Shape]:
    if node.options["align_corners"] and node.options["half_pixel_centers"]:
        raise RejectedError("RESIZE_BILINEAR takes align_corners or half_pixel_centers, not both")
    return _shapes(least=1)(node)


def _corners(call: OperatorCall) -> dict[str, bool]:
    return {name: call.options[name] for name in ("align_corners", "half_pixel_centers")}


def _explain_bilinear(element: Element) -> list[str]:
    call, index = element.call, element.index
    x = call.array(0).astype(np.int64)
    one = 1 << COORDINATE_BITS
    axes = []
    lines = []
    for axis, name in ((1, "row"), (2, "column")):
        taps = bilinear_taps(x.shape[axis], call.vector(1)[axis - 1], **_corners(call))
        low, high, fraction = (int(tap[index[axis]]) for tap in taps)
        axes.append((low, high, fraction))
        between = f"{name} {index[axis]} lies between {name}s {low} and {high} of {call.input(0)}"
        lines += step_lines([(f"{between}, in parts of 1/{one}", fraction)])
    (top, bottom, down), (left, right, across) = axes
    blended = []
    for y in (top, bottom):
        near, far = (int(x[index[0], y, column, index[3]]) for column in (left, right))
        value = near * (one - across) + far * across
        lines += step_lines([(f"row {y}: {near} * ({one} - {across}) + {far} * {across}", value)])
        blended.append(value)
    acc = blended[0] * (one - down) + blended[1] * down
    formula = f"{blended[0]} * ({one} - {down}) + {blended[1]} * {down}"
    bits = 2 * COORDINATE_BITS
    magnitude = (abs(acc) + (1 << (bits - 1))) >> bits
    result = magnitude if acc >= 0 else -magnitude
    rounded = f"{acc} / 2^{bits} rounded, ties away from zero"
    return [*lines, *step_lines([(formula, acc), (rounded, result)])]


def _resize(golden: Function, shapes: Shapes, explain: Explain, **spec: Any) -> Definition:
    return Definition(
        shapes=shapes,
        operands=(INT8, INT32),
        golden=golden,
        operands_of=reader("codes", "vector"),
        explain=explain,
        stacks=IMAGES,
        prepare=UNPREPARED,
        **spec,
    )


RESIZE: dict[str, Definition] = {
    "RESIZE_BILINEAR": _resize(
        resize.resize_bilinear, _bilinear_shapes, _explain_bilinear, spec=SpecEntry(12, same=True)
    ),
    "RESIZE_NEAREST_NEIGHBOR": _resize(
        resize.resize_nearest_neighbor, _shapes(least=0), explain_copy
    ),
}
"""Operators that change the size of an image."""
