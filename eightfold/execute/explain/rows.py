"""Operators along a row or over axes: what an element is made from, and MEAN's and SUM's steps."""

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.lines import Index, end_lines, pair_lines, values_text
from eightfold.execute.runners import RUNNERS
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.reduction import mean_multiplier, reduced_axes, sum_multiplier
from eightfold.golden.steps import step_lines


def _row(call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return the element's row, and golden's function of it alone."""
    row = call.codes(0)[index[:-1]]
    runner = RUNNERS[call.operator.name]
    shape = (*(1 for _ in index[:-1]), len(row))
    result = runner.run(call.substituted(row.reshape(shape)))[output].ravel()[index[-1]]
    return [
        f"row {list(index[:-1])} of {call.input(0)} = {values_text(row)}",
        f"{runner.golden_name} of the row, element {index[-1]} = {int(result)}",
    ]


def _reduced(call: OperatorCall, index: Index) -> tuple[np.ndarray, list[str]]:
    """Return the elements over whose axes one is made, their rank kept, and their line."""
    x = call.codes(0)
    axes = reduced_axes(call.array(1), x.ndim)
    kept = iter(index)
    if len(index) == x.ndim:
        places = [slice(None) if a in axes else slice(i, i + 1) for a, i in enumerate(index)]
    else:
        # What golden returns without dimensions has one behind them all where none is left.
        places = [
            slice(None) if a in axes else slice(at := next(kept), at + 1) for a in range(x.ndim)
        ]
    codes = x[tuple(places)]
    where = ", ".join(":" if p.start is None else str(p.start) for p in places)
    return codes, [f"elements [{where}] of {call.input(0)} = {values_text(codes.ravel())}"]


def _golden(call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return the elements, and golden's function of these alone."""
    codes, lines = _reduced(call, index)
    runner = RUNNERS[call.operator.name]
    (result,) = runner.run(call.substituted(codes))[output].ravel().tolist()
    return [*lines, f"{runner.golden_name} of them = {result}"]


def _sum(call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return the steps of MEAN and SUM."""
    codes, lines = _reduced(call, index)
    inputs, result = call.quantization(0), call.output_quantization()
    zero_point = inputs.per_tensor()[1]
    sum_of_codes, count = int(codes.sum(dtype=np.int64)), codes.size
    acc = int(wrap32(wrap32(sum_of_codes) - zero_point * count))
    lines += step_lines(
        [
            (f"sum of {count} codes", sum_of_codes),
            (f"wrap32({sum_of_codes} - {count} * zero point {zero_point})", acc),
        ]
    )
    source = f"scale {inputs.scale[0]} / {result.scale[0]}"
    if call.operator.name == "MEAN":
        multiplier, shift = mean_multiplier(count, inputs, result)
        source += f" / {count}"
    else:
        multiplier, shift = sum_multiplier(inputs, result)
    more, scaled = pair_lines(acc, multiplier, shift, source)
    return [*lines, *more, *end_lines(scaled, result)]


ROWS = {
    "ARG_MAX": _golden,
    "ARG_MIN": _golden,
    "L2_NORMALIZATION": _row,
    "LOG_SOFTMAX": _row,
    "MEAN": _sum,
    "REDUCE_MAX": _golden,
    "REDUCE_MIN": _golden,
    "SOFTMAX": _row,
    "SUM": _sum,
}
