"""Pools: the codes inside the input, their mean or largest, clamped."""

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.lines import Index, values_text
from eightfold.golden.quantization import fused_bounds
from eightfold.golden.steps import step_lines


def _explain(call: OperatorCall, output: int, index: Index) -> list[str]:
    x, window = call.codes(0), call.pool_window()
    batch, *places, channel = index
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
        total, count = int(codes.sum()), len(codes)
        value = (abs(total) + count // 2) // count * (1 if total >= 0 else -1)
        lines += step_lines([("their sum", total), ("their number", count)])
        lines += step_lines([(f"{total} / {count} rounded, ties away from zero", value)])
    low, high = fused_bounds(call.activation(), call.output_quantization())
    clamped = min(high, max(low, value))
    return [*lines, *step_lines([(f"clamp({value}, low {low}, high {high})", clamped)])]


POOLS = {"AVERAGE_POOL_2D": _explain, "MAX_POOL_2D": _explain}
