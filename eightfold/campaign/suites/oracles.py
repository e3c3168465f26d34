"""The runtimes that golden is compared with: one child process for each, as long as this one."""

import atexit
from functools import cache

from eightfold.reference.oracle import Oracle


@cache
def oracle(reference: str) -> Oracle:
    """Return the runtime of a reference, started by its first model."""
    started = Oracle(reference)
    atexit.register(started.close)
    return started
