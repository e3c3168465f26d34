"""Fixtures of the golden tests."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from eightfold.oracle import Oracle

# A deadline per example would fail on a busy machine, and says nothing about the arithmetic.
settings.register_profile("eightfold", deadline=None)
settings.load_profile("eightfold")


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """LiteRT's reference kernels, one child process for all tests of this worker."""
    with Oracle() as oracle:
        yield oracle
