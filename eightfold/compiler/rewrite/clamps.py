"""A function of one byte goes into the requantizer in front of it, if that makes it a clamp.

Whether it does is checked for every code that the operator before can give
(`compaction.intervals`): there the function must leave codes as they are between two bounds, and
give the bounds beyond. RELU, RELU6, MINIMUM and MAXIMUM with a constant, and a QUANTIZE that
changes nothing are such functions. One that leaves all these codes as they are goes whatever is in
front.
"""

from dataclasses import replace

import numpy as np

from eightfold.compiler.rewrite.compaction.intervals import Interval, Intervals
from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import function_of, same_quantization

CLAMPING = frozenset(
    {
        "ADD",
        "AVERAGE_POOL_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "MAX_POOL_2D",
        "MUL",
        "SUB",
    }
)
"""Operators that clamp what they compute in any case."""


def clamp(draft: Draft) -> None:
    """Let operators clamp for the functions behind them, and drop functions that change nothing."""
    known = Intervals(draft.graph, draft.reference)
    for operator in draft.each():
        graph = draft.graph
        function = function_of(graph, operator, draft.reference)
        if function is None:
            continue
        source, (target,) = function.source, operator.outputs
        if not same_quantization(graph.tensors[source], graph.tensors[target]):
            continue
        bounds = clamping(function.table, known[source])
        if bounds is None:
            continue
        if bounds == reach(known[source]) and target not in draft.outputs():
            draft.remove(operator)
            draft.stand_in(target, source)
            draft.say("clamps", [operator.index], "it changes no code that there is")
        elif draft.between(source) and draft.producers()[source].name in CLAMPING:
            first = draft.producers()[source]
            options = {**first.options, "clamp": inner(bounds, first.options.get("clamp"))}
            merged = replace(first, index=operator.index, outputs=(target,), options=options)
            draft.remove(first)
            draft.replace(operator, merged)
            text = f"{first.name} clamps to {bounds[0]} to {bounds[1]}"
            draft.say("clamps", [first.index, operator.index], text)


def reach(interval: Interval) -> tuple[int, int]:
    """Return the least and the greatest code of a tensor."""
    return int(interval.low.min()), int(interval.high.max())


def clamping(table: np.ndarray, interval: Interval) -> tuple[int, int] | None:
    """Return the bounds between which a table leaves a tensor's codes as they are.

    None if it does something else to one of them.
    """
    low, high = reach(interval)
    entries = table[low + 128 : high + 129].astype(np.int64)
    floor, ceiling = int(entries[0]), int(entries[-1])
    if floor > ceiling or np.any(entries != np.clip(np.arange(low, high + 1), floor, ceiling)):
        return None
    return floor, ceiling


def inner(bounds: tuple[int, int], before: tuple[int, int] | None) -> tuple[int, int]:
    """Return the one clamp that is as one before and then ``bounds``."""
    low, high = np.clip(before or (-128, 127), *bounds).tolist()
    return low, high
