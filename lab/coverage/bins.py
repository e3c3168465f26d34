"""The bins of every operator, and which of them a run has shown."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from eightfold.campaign.coverage import Bin
from eightfold.compiler import Compiled
from eightfold.model import Graph
from lab.coverage.points.elementwise import ELEMENTWISE
from lab.coverage.points.indexing import INDEXING
from lab.coverage.points.matrix import MATRIX
from lab.coverage.points.movement import MOVEMENT
from lab.coverage.points.reductions import REDUCTIONS
from lab.coverage.requantizations import Labels
from lab.coverage.sample import Point, Sample
from lab.coverage.traces import accelerator_labels, reference_labels

POINTS: dict[str, list[Point]] = MATRIX | ELEMENTWISE | REDUCTIONS | MOVEMENT | INDEXING
"""Points by operator."""

REQUANTIZED = frozenset(
    operator
    for operator, points in POINTS.items()
    if {point.name for point in points} & {"pair shift", "single shift", "tie", "saturation"}
)
"""Operators of which the requantizations are asked for."""

CROSSED = ("activation", "saturation")
"""Points whose bins are crossed where an operator has both."""


def crossed(operator: str) -> bool:
    """Return whether an operator has both points of `CROSSED`."""
    return set(CROSSED) <= {point.name for point in POINTS[operator]}


def every_bin() -> list[Bin]:
    """Return all bins, in the order of operators and points."""
    found = []
    for operator in sorted(POINTS):
        points = {point.name: point.bins for point in POINTS[operator]}
        if crossed(operator):
            pairs = itertools.product(*(points[name] for name in CROSSED))
            points[" and ".join(CROSSED)] = tuple(str(pair) for pair in pairs)
        found += [Bin(operator, point, name) for point, bins in points.items() for name in bins]
    return found


def covered(
    graph: Graph,
    compiled: Compiled,
    inputs: Mapping[int, np.ndarray],
    results: Mapping[int, np.ndarray],
) -> Counter[Bin]:
    """Return how many operators of a graph that has run have shown each bin.

    Parameters
    ----------
    compiled
        What ran.
    inputs, results
        Tensors by index; ``results`` are the accelerator's.
    """
    asked = any(operator.name in REQUANTIZED for operator in graph.operators)
    labels = accelerator_labels(compiled, inputs, results) if asked else {}
    values = {**inputs, **results}
    hits: Counter[Bin] = Counter()
    for operator in graph.operators:
        reference = reference_labels(graph, operator, values) if asked else Labels(set)
        mine = labels.get(operator.index, Labels(set))
        sample = Sample(graph, operator, compiled.config, values, mine, reference)
        hits.update(_shown(sample))
    return hits


def _shown(sample: Sample) -> Iterator[Bin]:
    operator = sample.operator.name
    seen = {point.name: point.seen(sample) for point in POINTS[operator]}
    for point, names in seen.items():
        yield from (Bin(operator, point, name) for name in names)
    if crossed(operator):
        pairs = itertools.product(*(seen[name] for name in CROSSED))
        yield from (Bin(operator, " and ".join(CROSSED), str(pair)) for pair in pairs)
