"""A scheduler and workers that are no children of a campaign, as on a farm."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eightfold.campaign.farm import Farm, farm_commands, make_keys
from eightfold.common.files import IMPORT_ROOT


@contextmanager
def scheduler(
    folder: Path, workers: int, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[Farm, list[subprocess.Popen[bytes]]]]:
    """Yield a farm: a scheduler with workers, and all processes, the scheduler's first.

    They are started as `farm_commands` says. ``variables`` are environment variables of the
    workers.
    """
    make_keys(folder / "keys")
    commands = farm_commands(folder / "keys").replace("$(mktemp -d)", str(folder))
    scheduling, working, _ = commands.splitlines()
    file = folder / "scheduler.json"
    scheduling = scheduling.replace("--host HOST", "--host 127.0.0.1")
    listen = ["--port", "0", "--scheduler-file", str(file)]
    settings, words = scheduling.removeprefix("env ").split(" dask ")
    given = dict(setting.split("=", 1) for setting in settings.split())
    processes = [_start(folder, given, *words.split(), *listen)]
    try:
        wait_for(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("}"))
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        words = working.replace("tls://HOST:8786", address).split()[1:]
        processes += [_start(folder, variables or {}, *words) for _ in range(workers)]
        yield Farm(scheduler=address, keys=folder / "keys"), processes
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
