"""Golden equals LiteRT's reference kernels on random models of every operator.

``EIGHTFOLD_CASES`` sets the number of models per operator (200), ``EIGHTFOLD_SEED`` the seed of
the first (0).
"""

import os

import pytest

from eightfold.conformance.models.operators import OPERATORS
from eightfold.execute import SUPPORTED
from eightfold.reference.oracle import Oracle
from tests.support.models.comparison import assert_equals_litert

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
CASES = int(os.environ.get("EIGHTFOLD_CASES", "200"))
CHUNK = 25


def chunks() -> list:
    """Return (operator, seeds), at most `CHUNK` seeds each."""
    return [
        pytest.param(operator, seeds, id=f"{operator}-{seeds[0]}..{seeds[-1]}")
        for operator in OPERATORS
        for start in range(FIRST, FIRST + CASES, CHUNK)
        for seeds in [range(start, min(start + CHUNK, FIRST + CASES))]
    ]


@pytest.mark.parametrize(("operator", "seeds"), chunks())
def test_equals_litert(oracle: Oracle, operator: str, seeds: range) -> None:
    for seed in seeds:
        assert_equals_litert(oracle, operator, seed)


def test_every_supported_operator_is_compared() -> None:
    assert set(OPERATORS) == SUPPORTED
