"""Operators over rows and axes: softmax and its kin, sums, means, extremes and their indices."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from eightfold.golden import reduction
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.normalization import l2_normalization, log_softmax
from eightfold.golden.softmax import softmax
from eightfold.operators.call import Node
from eightfold.operators.definition import (
    BOOL,
    INDEX,
    INT8,
    INT32,
    Definition,
    Element,
    Function,
    Operand,
    Shape,
    Without,
)
from eightfold.operators.elementwise import same_shape
from eightfold.operators.lines import Lines, value_text, values_text
from eightfold.operators.rules import FixedQuantization, SpecEntry
from eightfold.operators.stacks import AXES_BEHIND, ROWS


def _explain(element: Element) -> list[str]:
    """Return the element's row, and golden's function of it alone."""
    call, index = element.call, element.index
    row = call.array(0)[index[:-1]]
    shape = (*(1 for _ in index[:-1]), len(row))
    result = element.of(call.substituted(row.reshape(shape))).ravel()[index[-1]]
    return [
        f"row {list(index[:-1])} of {call.input(0)} = {values_text(row)}",
        f"{element.definition.golden_name} of the row, element {index[-1]} = {value_text(result)}",
    ]


def _rows(golden: Function, *dtypes: str, **fields: Any) -> Definition:
    """Return the record of an operator on rows of int8 and of other types."""
    return Definition(
        shapes=same_shape,
        operands=(Operand(("int8", *dtypes), ranks=(1, 32)),),
        golden=golden,
        explain=_explain,
        stacks=ROWS,
        prepare=Without("an element depends on its whole row, so that no table has the results"),
        **fields,
    )


def _reduced_shapes(node: Node) -> Sequence[Shape]:
    axes = node.input(1).data
    keep = node.options["keep_dims"]
    if axes is None:
        return [(None,) * len(node.shape(0)) if keep else None]
    return [reduction.reduced_shape(node.shape(0), axes, keep)]


def _shapes_without_axis(node: Node) -> Sequence[Shape]:
    axis, shape = node.known_integer(1), node.shape(0)
    if axis is None:
        return [(None,) * (len(shape) - 1)]
    return [reduction.reduced_shape(shape, reduction.one_axis(axis, len(shape)))]


def _reduced_elements(element: Element) -> tuple[np.ndarray, Lines]:
    """Return the elements over whose axes one is made, their rank kept, and their line."""
    call, index = element.call, element.index
    x = call.array(0)
    axes = reduction.reduced_axes(call.array(1), x.ndim)
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
    return codes, Lines([f"elements [{where}] of {call.input(0)} = {values_text(codes.ravel())}"])


def _explain_golden(element: Element) -> list[str]:
    """Return the elements, and golden's function of these alone."""
    codes, lines = _reduced_elements(element)
    (result,) = element.of(element.call.substituted(codes)).ravel().tolist()
    return [*lines, f"{element.definition.golden_name} of them = {result}"]


def _explain_sum(element: Element) -> list[str]:
    """Return the steps of MEAN and SUM."""
    call = element.call
    codes, lines = _reduced_elements(element)
    inputs, result = call.quantization(0), call.output_quantization()
    zero_point = inputs.per_tensor()[1]
    sum_of_codes = int(codes.sum(dtype=np.int64))
    count = codes.size
    acc = int(wrap32(wrap32(sum_of_codes) - zero_point * count))
    lines.steps(
        (f"sum of {count} codes", sum_of_codes),
        (f"wrap32({sum_of_codes} - {count} * zero point {zero_point})", acc),
    )
    source = f"scale {inputs.scale[0]} / {result.scale[0]}"
    if call.operator.name == "MEAN":
        multiplier, shift = reduction.mean_multiplier(count, inputs, result)
        source += f" / {count}"
    else:
        multiplier, shift = reduction.sum_multiplier(inputs, result)
    return lines.ended(lines.multiplied(acc, multiplier, shift, source), result)


_reduction = partial(
    Definition,
    shapes=_reduced_shapes,
    operands=(INT8, INT32),  # the kernels count the axes, and never look at their rank
    explain=_explain_golden,
    stacks=AXES_BEHIND,
    prepare=Without("nothing that its axes fix takes long to derive"),
)

_index_of_extreme = partial(
    _reduction,
    shapes=_shapes_without_axis,
    operands=(Operand(ranks=(1, 32)), INDEX),
    dtype_option="output_type",
)


REDUCTION: dict[str, Definition] = {
    "L2_NORMALIZATION": _rows(
        l2_normalization,
        activations=frozenset({"NONE"}),
        spec=SpecEntry(7, output=FixedQuantization(1.0, 128.0, 0)),
    ),
    "LOG_SOFTMAX": _rows(
        log_softmax, "float32", spec=SpecEntry(25, output=FixedQuantization(16.0, 256.0, 127))
    ),
    "SOFTMAX": _rows(
        softmax, "float32", spec=SpecEntry(13, output=FixedQuantization(1.0, 256.0, -128))
    ),
    "ARG_MAX": _index_of_extreme(reduction.arg_max, spec=SpecEntry(27)),
    "ARG_MIN": _index_of_extreme(reduction.arg_min),
    "MEAN": _reduction(reduction.mean, explain=_explain_sum, spec=SpecEntry(21)),
    "REDUCE_ALL": _reduction(reduction.reduce_all, operands=(BOOL, INT32)),
    "REDUCE_ANY": _reduction(reduction.reduce_any, operands=(BOOL, INT32)),
    "REDUCE_MAX": _reduction(reduction.reduce_max),
    "REDUCE_MIN": _reduction(reduction.reduce_min),
    "SUM": _reduction(reduction.sum, explain=_explain_sum, spec=SpecEntry(23)),
}
"""Operators over axes."""
