"""The runtimes that golden is compared with: one child process for each, as long as this one."""

import atexit
from functools import cache

from eightfold.common.errors import InputError
from eightfold.run.reference.oracle import Oracle, OracleAborted
from eightfold.run.reference.runtimes import RUNTIMES


@cache
def oracle(reference: str) -> Oracle:
    """Return the runtime of a reference, started by its first model."""
    started = Oracle(reference)
    atexit.register(started.close)
    return started


def loaded(reference: str) -> str:
    """Return name and version of the package whose kernels the runtime of a reference has loaded.

    Raises
    ------
    InputError
        If it is not installed, or does not start.
    """
    try:
        return oracle(reference).loaded
    except OracleAborted as error:
        raise InputError(f"{RUNTIMES[reference].title} does not start: {error}") from None
