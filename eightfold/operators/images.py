"""Operators on images without weights: pools, and resizes, which take pixels at other places."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from eightfold.golden import pooling, resize
from eightfold.golden.errors import RejectedError
from eightfold.golden.quantization import fused_bounds
from eightfold.golden.resize import COORDINATE_BITS
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.convolution import check_padding
from eightfold.operators.definition import (
    INT8,
    INT32_VECTOR,
    Definition,
    Element,
    Function,
    Shape,
    Shapes,
    named_arguments,
)
from eightfold.operators.lines import Lines, values_text
from eightfold.operators.movement import UNPREPARED, explain_copy
from eightfold.operators.rules import SpecEntry
from eightfold.operators.stacks import IMAGES


def _pool_shapes(node: Node) -> Sequence[Shape]:
    window = node.pool_window()
    shape = pooling.pooled_shape(node.shape(0), window)
    check_padding(window, node.shape(0))
    return [shape]


def _explain_pool(element: Element) -> list[str]:
    call = element.call
    x, window = call.array(0), call.pool_window()
    batch, *places, channel = element.index
    reach = []
    for axis, place in enumerate(places):
        start = place * window.stride[axis] - window.pads(axis, x.shape[1 + axis])[0]
        stop = min(start + window.kernel[axis], x.shape[1 + axis])
        reach.append(slice(max(start, 0), stop))
    codes = x[batch, reach[0], reach[1], channel].astype(np.int64).ravel()
    (top, bottom), (left, right) = ((part.start, part.stop) for part in reach)
    where = f"x[{batch}, {top}:{bottom}, {left}:{right}, {channel}]"
    lines = Lines([f"codes inside the input, {where} = {values_text(codes)}"])
    if call.operator.name == "MAX_POOL_2D":
        value = lines.steps(("the largest", int(codes.max())))
    else:
        total = int(codes.sum())
        count = len(codes)
        value = (abs(total) + count // 2) // count * (1 if total >= 0 else -1)
        rounded = f"{total} / {count} rounded, ties away from zero", value
        lines.steps(("their sum", total), ("their number", count), rounded)
    low, high = fused_bounds(call.activation(), call.output_quantization())
    lines.steps((f"clamp({value}, low {low}, high {high})", min(high, max(low, value))))
    return lines


def _pool(golden: Function, prepare: Callable[..., Function | None], number: int) -> Definition:
    def prepared(definition: Definition, call: OperatorCall) -> Function | None:
        if call.is_constant(0):
            return None
        return prepare(call.array(0).shape, **named_arguments(prepare, 1, call, definition.named))

    return Definition(
        shapes=_pool_shapes,
        golden=golden,
        named={"window": OperatorCall.pool_window},
        explain=_explain_pool,
        stacks=IMAGES,
        prepare=prepared,
        spec=SpecEntry(number, same=True),
    )


def _resize_shapes(least: int) -> Shapes:
    def shapes(node: Node) -> Sequence[Shape]:
        size, shape = node.known_vector(1), node.shape(0)
        unknown = [least] * node.shape(1)[0]
        height, width = resize.new_size(shape, unknown if size is None else size, least)
        if size is None:
            return [(shape[0], None, None, shape[3])]
        return [(shape[0], height, width, shape[3])]

    return shapes


def _bilinear_shapes(node: Node) -> Sequence[Shape]:
    if node.options["align_corners"] and node.options["half_pixel_centers"]:
        raise RejectedError("RESIZE_BILINEAR takes align_corners or half_pixel_centers, not both")
    return _resize_shapes(least=1)(node)


def _explain_bilinear(element: Element) -> list[str]:
    call, index = element.call, element.index
    x = call.array(0).astype(np.int64)
    one = 1 << COORDINATE_BITS
    corners = call.options["align_corners"], call.options["half_pixel_centers"]
    axes = []
    lines = Lines()
    for axis, name in ((1, "row"), (2, "column")):
        taps = resize.bilinear_taps(x.shape[axis], call.vector(1)[axis - 1], *corners)
        low, high, fraction = (int(tap[index[axis]]) for tap in taps)
        axes.append((low, high, fraction))
        between = f"{name} {index[axis]} lies between {name}s {low} and {high} of {call.input(0)}"
        lines.steps((f"{between}, in parts of 1/{one}", fraction))
    (top, bottom, down), (left, right, across) = axes
    blended = []
    for y in (top, bottom):
        near, far = (int(x[index[0], y, column, index[3]]) for column in (left, right))
        value = near * (one - across) + far * across
        formula = f"row {y}: {near} * ({one} - {across}) + {far} * {across}"
        blended.append(lines.steps((formula, value)))
    above, under = blended
    acc = above * (one - down) + under * down
    lines.steps((f"{above} * ({one} - {down}) + {under} * {down}", acc))
    bits = 2 * COORDINATE_BITS
    magnitude = (abs(acc) + (1 << (bits - 1))) >> bits
    result = magnitude if acc >= 0 else -magnitude
    lines.steps((f"{acc} / 2^{bits} rounded, ties away from zero", result))
    return lines


_resize = partial(Definition, operands=(INT8, INT32_VECTOR), stacks=IMAGES, prepare=UNPREPARED)


ON_IMAGES: dict[str, Definition] = {
    "AVERAGE_POOL_2D": _pool(pooling.average_pool_2d, pooling.prepare_average_pool_2d, 2),
    "MAX_POOL_2D": _pool(pooling.max_pool_2d, pooling.prepare_max_pool_2d, 9),
    "RESIZE_BILINEAR": _resize(
        resize.resize_bilinear,
        shapes=_bilinear_shapes,
        explain=_explain_bilinear,
        spec=SpecEntry(12, same=True),
    ),
    "RESIZE_NEAREST_NEIGHBOR": _resize(
        resize.resize_nearest_neighbor, shapes=_resize_shapes(least=0), explain=explain_copy
    ),
}
"""Operators that make an image of an image."""
