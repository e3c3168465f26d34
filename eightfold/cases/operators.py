"""Random models of one operator each, and random inputs for them.

Scales are random, often powers of two (which force exact ties), and lie near the value that
spreads the results over int8; zero points favour both ends; inputs favour extreme codes.
Every model is one that the reference accepts.
"""

import zlib

import numpy as np

from eightfold.cases.draws import Bounds, Case, Maker, Random, bounded_by
from eightfold.cases.elementwise import ELEMENTWISE
from eightfold.cases.indexing import INDEXING
from eightfold.cases.matrix import MATRIX
from eightfold.cases.movement import MOVEMENT
from eightfold.cases.state import STATE

MAKERS: dict[str, Maker] = MATRIX | ELEMENTWISE | MOVEMENT | INDEXING | STATE
"""By the operator's name."""

OPERATORS = tuple(sorted(MAKERS))
"""Operators that `random_case` makes models of."""


def random_case(operator: str, rng: Random) -> Case:
    """Return a model of one of `OPERATORS`, and an array for each of its inputs by tensor index."""
    return MAKERS[operator].single(rng)


def accelerator_case(operator: str, rng: Random) -> Case:
    """Return a case without axes, sizes or shapes at run time; GATHER may compute its indices."""
    if operator == "GATHER":
        return random_case(operator, rng)
    with bounded_by(Bounds(constants=True)):
        return random_case(operator, rng)


def case_rng(operator: str, seed: int) -> Random:
    """Return the generator of case ``seed`` of an operator: no two cases share a stream."""
    return np.random.default_rng([zlib.crc32(operator.encode()), seed])
