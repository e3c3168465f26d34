"""Fixtures of the golden tests."""

from collections.abc import Iterator

import pytest

from eightfold.run.reference.oracle import Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """LiteRT's reference kernels, one child process for all tests of this worker."""
    with Oracle() as oracle:
        yield oracle
