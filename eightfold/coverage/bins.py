"""The bins of every operator as cover points of cocotb-coverage, and what is kept of their hits."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from cocotb_coverage.coverage import CoverCross, CoverPoint, coverage_db, coverage_section

from eightfold.compiler import Compiled
from eightfold.coverage.points.elementwise import ELEMENTWISE
from eightfold.coverage.points.indexing import INDEXING
from eightfold.coverage.points.matrix import MATRIX
from eightfold.coverage.points.movement import MOVEMENT
from eightfold.coverage.points.reductions import REDUCTIONS
from eightfold.coverage.requantizations import Labels
from eightfold.coverage.sample import Point, Sample
from eightfold.coverage.traces import accelerator_labels, reference_labels
from eightfold.model import Graph

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


@dataclass(frozen=True, order=True)
class Bin:
    """A bin of a point of an operator."""

    operator: str
    point: str
    name: str


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


class Collector:
    """Samples operators; one per process, as cocotb-coverage has one database per process."""

    def __init__(self) -> None:
        self._samplers = {operator: _sampler(operator) for operator in POINTS}

    def sample(
        self,
        graph: Graph,
        compiled: Compiled,
        inputs: Mapping[int, np.ndarray],
        results: Mapping[int, np.ndarray],
    ) -> None:
        """Sample every operator of a graph that has run.

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
        for operator in graph.operators:
            reference = reference_labels(graph, operator, values) if asked else Labels(set)
            mine = labels.get(operator.index, Labels(set))
            self._samplers[operator.name](
                Sample(graph, operator, compiled.config, values, mine, reference)
            )

    def write(self, folder: Path) -> Path:
        """Write the hits of this process to a file of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"hits-{os.getpid()}.yml"
        coverage_db.export_to_yaml(str(path))
        return path


def _sampler(operator: str):
    """Return a function of a sample that counts the bins it shows."""
    points = POINTS[operator]
    covers: list[CoverPoint | CoverCross] = [
        CoverPoint(
            f"{operator}.{point.name}",
            xf=point.seen,
            rel=lambda seen, name: name in seen,
            bins=list(point.bins),
            inj=False,
        )
        for point in points
    ]
    if crossed(operator):
        name = f"{operator}.{' and '.join(CROSSED)}"
        covers.append(CoverCross(name, items=[f"{operator}.{each}" for each in CROSSED]))

    @coverage_section(*covers)
    def sampled(sample: Sample) -> None:
        """Be what cocotb-coverage decorates."""

    return sampled


def read_hits(path: Path) -> dict[Bin, int]:
    """Return the hits of a file of `Collector.write`, or of merged ones."""
    hits = {}
    for name, item in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        operator, _, point = name.partition(".")
        for each, count in item.get("bins:_hits", {}).items():
            hits[Bin(operator, point, str(each))] = count
    return hits
