"""A scheduler and workers that are no children of a campaign, as on a farm."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eightfold.files import IMPORT_ROOT


@contextmanager
def scheduler(
    folder: Path, workers: int, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a scheduler with workers, and all processes, the scheduler's first.

    ``variables`` are environment variables of the workers.
    """
    file = folder / "scheduler.json"
    listen = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    work = ["worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard"]
    processes = [_start(folder, {}, *listen, "--scheduler-file", str(file))]
    try:
        wait_for(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("}"))
        processes += [_start(folder, variables or {}, *work) for _ in range(workers)]
        yield json.loads(file.read_text(encoding="utf-8"))["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _start(folder: Path, variables: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
    known = {
        **os.environ,
        "PYTHONPATH": str(IMPORT_ROOT),
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        cwd=folder,
        env={**known, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is true, a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
