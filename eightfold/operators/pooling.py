"""Pools: the codes inside the input, their mean or largest, clamped."""

from collections.abc import Callable, Sequence

import numpy as np

from eightfold.golden.pooling import (
    average_pool_2d,
    max_pool_2d,
    pooled_shape,
    prepare_average_pool_2d,
    prepare_max_pool_2d,
)
from eightfold.golden.quantization import fused_bounds
from eightfold.golden.steps import step_lines
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.convolution import check_padding
from eightfold.operators.definition import Definition, Element, Function, Shape, named_arguments
from eightfold.operators.lines import values_text
from eightfold.operators.rules import SpecEntry
from eightfold.operators.stacks import IMAGES


def _shapes(node: Node) -> Sequence[Shape]:
    window = node.pool_window()
    shape = pooled_shape(node.shape(0), window)
    check_padding(window, node.shape(0))
    return [shape]


def _explain(element: Element) -> list[str]:
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
    lines = [f"codes inside the input, {where} = {values_text(codes)}"]
    if call.operator.name == "MAX_POOL_2D":
        value = int(codes.max())
        lines += step_lines([("the largest", value)])
    else:
        total = int(codes.sum())
        count = len(codes)
        value = (abs(total) + count // 2) // count * (1 if total >= 0 else -1)
        lines += step_lines([("their sum", total), ("their number", count)])
        lines += step_lines([(f"{total} / {count} rounded, ties away from zero", value)])
    low, high = fused_bounds(call.activation(), call.output_quantization())
    clamped = min(high, max(low, value))
    return [*lines, *step_lines([(f"clamp({value}, low {low}, high {high})", clamped)])]


def _pool(golden: Function, prepare: Callable[..., Function | None], number: int) -> Definition:
    def prepared(definition: Definition, call: OperatorCall) -> Function | None:
        if call.is_constant(0):
            return None
        return prepare(call.array(0).shape, **named_arguments(prepare, 1, call, definition.named))

    return Definition(
        shapes=_shapes,
        golden=golden,
        named={"window": OperatorCall.pool_window},
        explain=_explain,
        stacks=IMAGES,
        prepare=prepared,
        spec=SpecEntry(number, same=True),
    )


POOLING: dict[str, Definition] = {
    "AVERAGE_POOL_2D": _pool(average_pool_2d, prepare_average_pool_2d, 2),
    "MAX_POOL_2D": _pool(max_pool_2d, prepare_max_pool_2d, 9),
}
"""Operators that move a window and have no weights."""
