"""Functional coverage: what random models must have shown on the accelerator.

`computing` and `copying` say of each operator which bins there are, in the terms of `points`.
`covered` samples operators that have run, `EXCLUDED` has the bins that no model can hit.
`eightfold.campaign.coverage` holds the hits against the floor.

Imports compiler, campaign, sim.machine; never hw.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from eightfold.campaign.coverage import Bin
from eightfold.compiler import Compiled
from eightfold.model import Graph
from eightfold.model.graph import Arrays
from lab.coverage.computing import COMPUTING
from lab.coverage.copying import COPYING
from lab.coverage.points import Point, Sample
from lab.coverage.requantizations import PAIR_SHIFTS, Labels, accelerator_labels, reference_labels

POINTS: dict[str, list[Point]] = COMPUTING | COPYING
"""Points by operator."""

REQUANTIZED = frozenset(
    operator
    for operator, points in POINTS.items()
    if {point.name for point in points} & {"pair shift", "single shift", "tie", "saturation"}
)
"""Operators of which the requantizations are asked for."""

CROSSED = ("activation", "saturation")
"""Points whose bins are crossed where an operator has both."""

_CROSSED = " and ".join(CROSSED)


def _bins(operator: str, named: Mapping[str, Collection[str]]) -> Iterator[Bin]:
    """Yield the bins of an operator that are named by point, and those of its crossed points."""
    yield from (Bin(operator, point, name) for point, names in named.items() for name in names)
    if set(CROSSED) <= named.keys():
        pairs = itertools.product(*(named[point] for point in CROSSED))
        yield from (Bin(operator, _CROSSED, str(pair)) for pair in pairs)


def every_bin() -> list[Bin]:
    """Return all bins, in the order of operators and points."""
    return [
        bin_
        for operator in sorted(POINTS)
        for bin_ in _bins(operator, {point.name: point.bins for point in POINTS[operator]})
    ]


def covered(graph: Graph, compiled: Compiled, inputs: Arrays, results: Arrays) -> Counter[Bin]:
    """Return how many operators of a graph that has run have shown each bin.

    ``inputs``, ``results``: tensors by index; ``results`` are the accelerator's.
    """
    asked = any(operator.name in REQUANTIZED for operator in graph.operators)
    values = {**graph.initial_state(), **inputs, **results}
    labels = accelerator_labels(compiled, values, results) if asked else {}
    hits: Counter[Bin] = Counter()
    for operator in graph.operators:
        both = {
            "accelerator": labels.get(operator.index, Labels(set)),
            "reference": reference_labels(graph, operator, values) if asked else Labels(set),
        }
        sample = Sample(graph, operator, values, compiled.config, both)
        seen = {point.name: point.seen(sample) for point in POINTS[operator.name]}
        hits.update(_bins(operator.name, seen))
    return hits


_ADDED = "the multiplier of a sum of two, 2 max(s_a, s_b) / (2^20 s_out), must be below 1"
_PASSED = "codes are int8 already, and only a fused activation leaves some out"
_NOT_NEGATIVE = "results are 0 or more, and the zero point at least -128"
_MAGNITUDE = "what ABS rescales is 0 or more"
_NO_RELU_END = "RELU's upper bound is 127, and codes are int8 already"
_RECIPROCAL = (
    "the sum of a row is 1 or more, its largest element's, and then the right shift 23 or more"
)
_ROOT = "128 / sqrt(sum) is {} only if the sum of squares is {}"

POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
POSITIVE = ("EXP", "LOGISTIC", "RSQRT", "SQRT")


def _none_of(
    operators: tuple[str, ...], point: str, names: tuple[str, ...], reason: str
) -> dict[Bin, str]:
    return {Bin(operator, point, name): reason for operator in operators for name in names}


EXCLUDED: dict[Bin, str] = {
    **_none_of(("ADD", "SUB"), "pair shift", ("left 8..30", "left 1..7"), _ADDED),
    **_none_of(POOLS, _CROSSED, ("('NONE', 'below')", "('NONE', 'above')"), _PASSED),
    **_none_of(POOLS, _CROSSED, ("('RELU', 'above')",), _NO_RELU_END),
    **_none_of(POSITIVE, "saturation", ("below",), _NOT_NEGATIVE),
    Bin("ABS", "tie", "negative"): _MAGNITUDE,
    Bin("ABS", "product tie", "negative"): _MAGNITUDE,
    Bin("SOFTMAX", "saturation", "below"): "no probability is below 0, code -128",
    **_none_of(("SOFTMAX",), "pair shift", PAIR_SHIFTS[:5], _RECIPROCAL),
    Bin("LOG_SOFTMAX", "saturation", "above"): "a logarithm of at most 1 is 0 or less, code 127",
    Bin("L2_NORMALIZATION", "saturation", "below"): "no element is below -1, code -128",
    **{
        Bin("L2_NORMALIZATION", "pair shift", name): _ROOT.format(root, total)
        for name, root, total in (
            ("left 8..30", "above 2^7", "below 1"),
            ("right 8..15", "below 2^-8", "2^30 or more: rows of 16,512 elements"),
            ("right 16..30", "below 2^-16", "2^46 or more, above int32"),
            ("right 31", "below 2^-31", "2^76 or more, above int32"),
        )
    },
}
"""The reason by the bin. A bin that is excluded and hit is an error: its reason is wrong."""
