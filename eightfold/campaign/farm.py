"""Workers: processes of this machine, of a running scheduler, or jobs of a batch system.

All by `dask.distributed` and `dask_jobqueue`; docs/decisions/0005 says why. Machines
know each other by keys, for whoever reaches a scheduler runs code.
"""

import logging
import os
import re
import shlex
import signal
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import distributed
from dask import config as dask_config
from dask.utils import parse_timedelta
from distributed import Client, Nanny, SpecCluster
from distributed.security import Security

from eightfold.common.child import one_line
from eightfold.common.errors import InputError


class _Unreached:
    """What no browser reaches."""

    def start_http_server(self, *args: object, **options: object) -> None:
        """Start nothing: dask has no option that leaves the server away, only its pages."""


class Scheduler(_Unreached, distributed.Scheduler):
    """A scheduler that no browser reaches."""


class Worker(_Unreached, distributed.Worker):
    """A worker that no browser reaches."""


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the process that the person looks at: a terminal sends it to all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


TRIES = 3
"""Workers that may die of a unit before it is lost."""

CLUSTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "slurm": ("SLURMCluster", {"job_name": "eightfold", "walltime": "08:00:00"}),
    "lsf": ("LSFCluster", {"job_name": "eightfold", "walltime": "08:00"}),  # hours and minutes
    "pbs": ("PBSCluster", {"job_name": "eightfold", "walltime": "08:00:00"}),
    "sge": ("SGECluster", {"job_name": "eightfold", "walltime": "08:00:00"}),
    "htcondor": ("HTCondorCluster", {"disk": "2GB"}),
}
"""Batch systems: their classes in `dask_jobqueue`, and what these are given unless it is said."""

ANSWER_SECONDS = 30
"""Within which a scheduler has to answer."""


@dataclass(frozen=True, kw_only=True)
class Farm:
    """Where units run.

    Raises `InputError` if a scheduler or a cluster has no keys, or the scheduler's address is of no
    encrypted one.
    """

    workers: int | None = None
    """Processes on this machine, or jobs of a batch system; None: as many as processors."""
    scheduler: str | None = None
    """Address of a running scheduler, ``tls://HOST:PORT``, in place of all else."""
    cluster: str | None = None
    """A name of `CLUSTERS`."""
    options: Sequence[str] = field(default=())
    """Of the batch system's class, ``name=value``; a name that comes twice makes a list."""
    keys: Path | None = None
    """Folder of `make_keys`, for a scheduler or a cluster: who knows them may connect. Processes of
    this machine have keys of their own, which are in no file."""

    def __post_init__(self) -> None:
        if (self.scheduler or self.cluster) and self.keys is None:
            raise InputError(
                f"{'--scheduler' if self.scheduler else '--cluster'} needs --keys DIR, for who can "
                "reach a scheduler runs code on all its workers; eightfold campaign keys DIR makes "
                "them"
            )
        if self.scheduler and not self.scheduler.startswith("tls://"):
            raise InputError(
                f"--scheduler {self.scheduler}: is not of the form tls://HOST:PORT; start one with "
                "keys, as eightfold campaign keys DIR says"
            )


@contextmanager
def connect(farm: Farm, private: Path, *, units: int) -> Iterator[Client]:
    """Yield a client of the workers; those that were started here are ended.

    All connections are encrypted, and both ends have to know the keys. Of processes on this machine
    nothing listens but on its loopback. Raises `InputError` if no scheduler answers, or the batch
    system's options or the keys are wrong.

    ``farm``: where the workers are; ``private``: a folder that only the user can read, for what
    workers on this machine put into files; ``units``: how many there are to run: more processes
    than that are not begun on this machine.
    """
    security = Security.temporary() if farm.keys is None else security_of(farm.keys)
    # Dask would work in a folder of /tmp whose name everybody knows, and import from there.
    with dask_config.set({**_SETTINGS, "temporary-directory": str(private)}), _quiet():
        if farm.scheduler:
            with _client(farm.scheduler, farm.scheduler, security) as client:
                client.run_on_scheduler(_set_limits)
                yield client
            return
        with (
            _cluster(farm, security, private, units) as cluster,
            _client(cluster, farm.cluster or "this machine", security) as client,
        ):
            yield client


_SETTINGS = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    # A worker is given a unit when it has nothing else to do: one that waits behind another must
    # not be taken for the reason of that one's death.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.worker-ttl": "2 minutes",
    "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS}s",
    "distributed.comm.require-encryption": True,
    "distributed.worker.memory.target": False,  # nothing is kept in workers
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.daemon": False,  # a worker has children: runtimes, simulators
    "distributed.admin.log-length": 100,
    # Nobody looks at these; without them two waiting workers take half of the time.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.preload": ["eightfold.campaign.farm"],
}


def _set_limits(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = TRIES - 1
    dask_scheduler.WORKER_SATURATION = 1.0


@contextmanager
def _client(address: Any, name: str, security: Security) -> Iterator[Client]:
    try:
        client = Client(address, security=security, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"{name}: no scheduler answers: {one_line(error) or 'timeout'}; "
            "start one with these keys, as eightfold campaign keys DIR says"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # it may have gone
            client.close(timeout=5)


@contextmanager
def _cluster(farm: Farm, security: Security, private: Path, units: int) -> Iterator[Any]:
    if farm.cluster is None:
        workers = min(farm.workers or os.cpu_count() or 1, units)
        with _interrupts_ignored():
            cluster = _local_cluster(workers, security, private)
    else:
        cluster = batch_cluster(farm.cluster, farm.options, security)
        cluster.scale(jobs=farm.workers or 1)
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.close(timeout=10)


def _local_cluster(workers: int, security: Security, private: Path) -> SpecCluster:
    # Not dask's LocalCluster, whose scheduler always has a server of web pages.
    common = {
        "host": "127.0.0.1",
        "protocol": "tls://",
        "security": security,
        "dashboard": False,
        "dashboard_address": None,
    }
    options = {
        "worker_class": Worker,
        "nthreads": 1,
        "memory_limit": 1.0 / workers,
        "env": {"TMPDIR": str(private)},  # what is left of those that are killed goes with it
        "silence_logs": logging.CRITICAL,
    }
    worker = {"cls": Nanny, "options": common | options}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": common},
        workers=dict.fromkeys(range(workers), worker),
        worker=worker,
        security=security,
        silence_logs=logging.CRITICAL,  # pyright: ignore[reportArgumentType] (or a level)
    )


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let child processes begin without heeding Ctrl-C; for these seconds nobody does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def batch_cluster(name: str, options: Sequence[str], security: Security) -> Any:
    """Return a cluster of `dask_jobqueue` whose jobs have one worker with one thread each.

    Raises `InputError` if an option has no value, is unknown, or has a wrong value.
    """
    import dask_jobqueue

    kind, usual = CLUSTERS[name]
    given: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "4GB", **usual}
    given |= parse_options(options)
    prologue = given.get("job_script_prologue", [])
    extra = given.get("worker_extra_args", [])
    given["job_script_prologue"] = [*_PROLOGUE, *_as_list(prologue)]
    given["worker_extra_args"] = ["--worker-class", _WORKER_CLASS, *_as_list(extra)]
    try:
        return getattr(dask_jobqueue, kind)(
            python=sys.executable,
            scheduler_cls=Scheduler,
            scheduler_options={"dashboard": False, "dashboard_address": None},
            security=security,
            **given,
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"--cluster {name}: {one_line(error)}; --cluster-option takes what "
            f"dask_jobqueue.{kind} does"
        ) from None


_WORKER_CLASS = f"{Worker.__module__}.{Worker.__name__}"

_PROLOGUE = (
    # A worker has children, runtimes and simulators.
    "export DASK_DISTRIBUTED__WORKER__DAEMON=False",
    # Its files are nobody else's, and go with it.
    'TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/eightfold-XXXXXXXX") || exit 1',
    "export TMPDIR",
    "trap 'rm -rf \"$TMPDIR\"' EXIT",
)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def parse_options(options: Sequence[str]) -> Mapping[str, Any]:
    """Return options of the form ``name=value``: integers as such, repeated ones as a list."""
    found: dict[str, list[int | str]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"--cluster-option {option}: is not of the form name=value")
        found.setdefault(name, []).append(int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


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


LONGEST = 366 * 86400
"""Seconds of a year: beyond some such number timers of threads do not go."""


def parse_time(option: str, text: str) -> float:
    """Return the seconds of a time such as ``90s``, ``30m`` or ``2h``.

    Raises `InputError` if it is none.
    """
    try:
        seconds = float(parse_timedelta(text))
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise InputError(f"{option} {text}: is not a time such as 90s, 30m or 2h, a year at most")
    return seconds


CERTIFICATE, KEY = "cert.pem", "key.pem"


def make_keys(folder: Path) -> None:
    """Make a key and its certificate, which is good for a year, in a new folder.

    All of a farm share them: scheduler, workers, and who runs campaigns. Only the user can read the
    folder (0700). Raises `InputError` if the folder is there already, or cannot be made.
    """
    made = Security.temporary()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        for name, text in ((CERTIFICATE, made.tls_client_cert), (KEY, made.tls_client_key)):
            number = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(number, "w", encoding="ascii") as file:
                file.write(str(text))
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}; name a new folder") from None


def security_of(folder: Path) -> Security:
    """Return the keys of `make_keys`, for connections that are authenticated and encrypted.

    Raises `InputError` if the folder has none, or others can read the key.
    """
    certificate, key = (str((folder / name).absolute()) for name in (CERTIFICATE, KEY))
    try:
        mode = os.stat(key).st_mode
        os.stat(certificate)
    except OSError as error:
        raise InputError(
            f"--keys {folder}: {error.strerror}; eightfold campaign keys DIR makes keys"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"--keys {folder}: others can read the key; chmod 600 {key}")
    made = Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in _ROLES},
        **{f"tls_{role}_key": key for role in _ROLES},
    )
    try:
        made.get_connection_args("client")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"--keys {folder}: is no key with its certificate: {reason}; eightfold campaign keys "
            "DIR makes new ones"
        ) from None
    return made


_ROLES = ("scheduler", "worker", "client")


def farm_commands(folder: Path) -> str:
    """Return the commands that start a farm with the keys in a folder."""
    certificate, key = (shlex.quote(str(folder / name)) for name in (CERTIFICATE, KEY))
    tls = f"--tls-ca-file {certificate} --tls-cert {certificate} --tls-key {key}"
    return "\n".join(
        [
            # Its pages, which it cannot leave out, are none, and on the loopback.
            "env DASK_TEMPORARY_DIRECTORY=$(mktemp -d) "
            "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES=[] dask scheduler --protocol tls "
            f"--host HOST --no-dashboard --dashboard-address 127.0.0.1:0 {tls}",
            f"dask worker tls://HOST:8786 --nthreads 1 --local-directory $(mktemp -d) "
            f"--worker-class eightfold.campaign.farm.Worker {tls}",
            "eightfold campaign run SUITE --scheduler tls://HOST:8786 "
            f"--keys {shlex.quote(str(folder))}",
        ]
    )
