"""What a worker process does before its first unit."""

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the process that the person looks at: a terminal sends it to all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
