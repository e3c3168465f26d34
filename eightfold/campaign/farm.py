"""Workers: processes of this machine, of a running scheduler, or jobs of a batch system.

All by `dask.distributed` and `dask_jobqueue`; docs/decisions/0005 says why.
"""

import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from dask import config as dask_config
from dask.utils import parse_timedelta
from distributed import Client, LocalCluster

from eightfold.errors import InputError

TRIES = 3
"""Workers that may die of a unit before it is lost."""

CLUSTERS = {
    "slurm": "SLURMCluster",
    "lsf": "LSFCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
}
"""Batch systems, and their classes in `dask_jobqueue`."""

ANSWER_SECONDS = 30
"""Within which a scheduler has to answer."""


@dataclass(frozen=True, kw_only=True)
class Farm:
    """Where units run.

    Attributes
    ----------
    workers
        Processes on this machine, or jobs of a batch system; None: as many as processors.
    scheduler
        Address of a running scheduler, ``tcp://HOST:PORT``, in place of all else.
    cluster
        A name of `CLUSTERS`.
    options
        Of the batch system's class, ``name=value``; a name that comes twice makes a list.
    """

    workers: int | None = None
    scheduler: str | None = None
    cluster: str | None = None
    options: Sequence[str] = field(default=())


@contextmanager
def connect(farm: Farm) -> Iterator[Client]:
    """Yield a client of the workers; those that were started here are ended.

    Raises
    ------
    InputError
        If no scheduler answers, or the batch system's options are wrong.
    """
    with dask_config.set(_SETTINGS), _quiet():
        if farm.scheduler:
            with _client(farm.scheduler, farm.scheduler) as client:
                client.run_on_scheduler(_set_limits)
                yield client
            return
        with _cluster(farm) as cluster, _client(cluster, farm.cluster or "this machine") as client:
            yield client


_SETTINGS = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    # A worker is given a unit when it has nothing else to do: one that waits behind another must
    # not be taken for the reason of that one's death.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.worker-ttl": "2 minutes",
    "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS}s",
    "distributed.worker.memory.target": False,  # nothing is kept in workers
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.daemon": False,  # a worker has children: runtimes, simulators
    "distributed.admin.log-length": 100,
    "distributed.worker.preload": ["eightfold.campaign.preload"],
}


def _set_limits(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = TRIES - 1
    dask_scheduler.WORKER_SATURATION = 1.0


@contextmanager
def _client(address: Any, name: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"{name}: no scheduler answers: {' '.join(str(error).split()) or 'timeout'}; "
            "start one by: dask scheduler"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # it may have gone
            client.close(timeout=5)


@contextmanager
def _cluster(farm: Farm) -> Iterator[Any]:
    if farm.cluster is None:
        with _interrupts_ignored():
            cluster = LocalCluster(
                n_workers=farm.workers or os.cpu_count() or 1,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # any port, no page
                silence_logs=logging.CRITICAL,
            )
    else:
        cluster = batch_cluster(farm.cluster, farm.options)
        cluster.scale(jobs=farm.workers or 1)
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.close(timeout=10)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let child processes begin without heeding Ctrl-C; for these seconds nobody does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def batch_cluster(name: str, options: Sequence[str]) -> Any:
    """Return a cluster of `dask_jobqueue` whose jobs have one worker with one thread each.

    Raises
    ------
    InputError
        If an option has no value, is unknown, or has a wrong value.
    """
    import dask_jobqueue

    given: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "4GB", **_LONGEST[name]}
    given |= {"job_name": "eightfold"} if name != "htcondor" else {}
    given |= parse_options(options)
    # A worker has children, runtimes and simulators.
    prologue = ["export DASK_DISTRIBUTED__WORKER__DAEMON=False"]
    given["job_script_prologue"] = prologue + _as_list(given.get("job_script_prologue", []))
    try:
        return getattr(dask_jobqueue, CLUSTERS[name])(
            python=sys.executable, scheduler_options={"dashboard_address": None}, **given
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"--cluster {name}: {' '.join(str(error).split())}; --cluster-option takes what "
            f"dask_jobqueue.{CLUSTERS[name]} does"
        ) from None


_LONGEST: dict[str, dict[str, Any]] = {
    "slurm": {"walltime": "08:00:00"},
    "pbs": {"walltime": "08:00:00"},
    "sge": {"walltime": "08:00:00"},
    "lsf": {"walltime": "08:00"},  # hours and minutes
    "htcondor": {"disk": "2GB"},
}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def parse_options(options: Sequence[str]) -> Mapping[str, Any]:
    """Return options of the form ``name=value``: integers as such, repeated ones as a list."""
    found: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"--cluster-option {option}: is not of the form name=value")
        value: Any = int(text) if text.isdecimal() else text
        if name in found:
            value = [*_as_list(found[name]), value]
        found[name] = value
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask's words about lost connections from the terminal: what matters is told by us."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def parse_time(option: str, text: str) -> float:
    """Return the seconds of a time such as ``90s``, ``30m`` or ``2h``.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        seconds = float(parse_timedelta(text))
    except (ValueError, KeyError, TypeError, IndexError):
        seconds = 0.0
    if seconds <= 0:
        raise InputError(f"{option} {text}: is not a time such as 90s, 30m or 2h")
    return seconds
