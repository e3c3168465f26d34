"""Batch systems get the right job scripts, options are checked, keys are for the user alone."""

import os
import shlex
import shutil
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed.security import Security

from eightfold.campaign import campaign
from eightfold.campaign.farm import (
    CLUSTERS,
    Farm,
    batch_cluster,
    connect,
    farm_commands,
    make_keys,
    parse_options,
    parse_time,
    security_of,
)
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.suite import campaign_sources
from eightfold.campaign.worker import Builds
from eightfold.cli import campaign as commands
from eightfold.common.errors import InputError

SCRIPTS = {
    "slurm": ["#SBATCH -J eightfold", "#SBATCH -p sim", "#SBATCH -t 08:00:00", "#SBATCH -n 1"],
    "lsf": ["#BSUB -J eightfold", "#BSUB -q sim", "#BSUB -W 08:00", "#BSUB -n 1"],
    "pbs": ["#PBS -N eightfold", "#PBS -q sim", "#PBS -l walltime=08:00:00"],
    "sge": ["#$ -N eightfold", "#$ -q sim", "#$ -l h_rt=08:00:00"],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_job_script_is_what_the_batch_system_reads(name: str, tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    given = ["queue=sim", "memory=2GB"]
    with batch_cluster(name, given, security_of(tmp_path / "keys")) as cluster:
        lines = cluster.job_script().splitlines()
        assert not cluster.scheduler.services  # no page
    assert lines[0] == "#!/usr/bin/env bash"
    assert set(SCRIPTS[name]) <= set(lines)
    assert "export DASK_DISTRIBUTED__WORKER__DAEMON=False" in lines
    assert lines[-1].startswith(f"{sys.executable} -m distributed.cli.dask_worker tls://")
    for words in (
        "--nthreads 1",
        "--worker-class eightfold.campaign.farm.Worker",
        f"--tls-key {tmp_path}/keys/key.pem",
    ):
        assert words in lines[-1]


def test_the_options_of_the_command_line_are_those_of_the_farm() -> None:
    assert set(commands.CLUSTERS) == set(CLUSTERS)


def test_options_are_numbers_texts_and_lists() -> None:
    found = parse_options(["cores=2", "queue=sim", "job_extra_directives=-A x", "a=1", "a=2"])
    assert found == {"cores": 2, "queue": "sim", "job_extra_directives": "-A x", "a": [1, 2]}


@pytest.mark.parametrize("option", ["queue", "=sim", "two words=1"])
def test_an_option_without_a_value_is_refused(option: str) -> None:
    with pytest.raises(InputError, match="is not of the form name=value"):
        parse_options([option])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_option_that_the_batch_system_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match=r"--cluster slurm: .*dask_jobqueue.SLURMCluster does"):
        batch_cluster("slurm", ["colour=red"], Security())


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200)])
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert parse_time("--budget", text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "0s", "1 parsec", "1e400s", "9999d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--budget .* is not a time such as"):
        parse_time("--budget", text)


def test_a_scheduler_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eightfold.campaign.farm.ANSWER_SECONDS", 1)
    make_keys(tmp_path / "keys")
    farm = Farm(scheduler="tls://127.0.0.1:9", keys=tmp_path / "keys")
    with (
        pytest.raises(InputError, match=r"127.0.0.1:9: no scheduler answers: .*; start one with"),
        connect(farm, tmp_path, units=1),
    ):
        pass


@pytest.mark.parametrize(
    ("farm", "said"),
    [
        ({"scheduler": "tls://a:1"}, "--scheduler needs --keys DIR"),
        ({"cluster": "slurm"}, "--cluster needs --keys DIR"),
        ({"scheduler": "tcp://a:1", "keys": Path()}, "is not of the form tls://HOST:PORT"),
        ({"scheduler": "nowhere", "keys": Path()}, "is not of the form tls://HOST:PORT"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, dict) else "",
)
def test_a_farm_has_keys_and_encryption(farm: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Farm(**farm)


def get_listening() -> dict[int, str]:
    """Return ports and addresses at which this process and its children listen."""
    me = psutil.Process()
    found = {}
    for process in (me, *me.children(recursive=True)):
        for each in process.net_connections("inet"):
            if each.status == psutil.CONN_LISTEN:
                found[each.laddr.port] = each.laddr.ip
    return found


ALERT = 7
"""Bytes of the alert with which TLS refuses who speaks no TLS."""


def answer(port: int, context: ssl.SSLContext | None, said: bytes = b"") -> bytes:
    """Return what a port answers; empty if it hangs up. A farm says who it is before all else."""
    try:
        with socket.create_connection(("127.0.0.1", port)) as plain:
            end = context.wrap_socket(plain) if context else plain
            end.sendall(said)
            return end.recv(4096)
    except OSError:
        return b""


def keys_of(security: Security) -> ssl.SSLContext:
    """Return a context with these keys, which takes whatever keys the other end has."""
    context = security.get_connection_args("client")["ssl_context"]
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_campaign_on_this_machine_is_nobody_elses(tmp_path: Path) -> None:
    before = get_listening()
    with connect(Farm(workers=2), tmp_path, units=2) as client:
        client.wait_for_workers(2, timeout=60)
        ports = {port: at for port, at in get_listening().items() if port not in before}
        assert len(ports) == 5  # a scheduler, two workers, and a nanny of each
        assert set(ports.values()) == {"127.0.0.1"}
        browser = ssl.create_default_context()
        browser.check_hostname, browser.verify_mode = False, ssl.CERT_NONE
        for port in ports:
            for stranger in (None, browser, keys_of(Security.temporary())):
                assert len(answer(port, stranger, b"GET / HTTP/1.0\r\n\r\n")) <= ALERT
            assert len(answer(port, keys_of(client.security))) > ALERT  # it is the keys
        assert client.submit(os.getpid).result(60) != os.getpid()  # it works on
        # What workers put into files lies in the folder.
        folder = client.submit(tempfile.gettempdir, pure=False).result(60)
        assert folder == str(tmp_path)
    assert get_listening() == before


SBATCH = """#!/bin/sh
# Starts the job on this machine, in the background.
cp "$1" "$STAND_IN/job-$$.sh"
setsid sh "$STAND_IN/job-$$.sh" >"$STAND_IN/log-$$" 2>&1 &
echo "$!" >"$STAND_IN/$$.pid"
echo "$$"
"""

SCANCEL = """#!/bin/sh
for number; do kill -- "-$(cat "$STAND_IN/$number.pid")"; done
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_jobs_of_slurm_are_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(tmp_path))
    units = [
        Unit(suite="operators", operator="ADD", first=first, count=5, backend="golden")
        for first in (0, 5)
    ]
    folder = Folder(tmp_path / "campaign")
    campaign.begin(folder, {}, units)
    make_keys(tmp_path / "keys")
    farm = Farm(
        cluster="slurm", workers=2, options=("queue=sim", "interface=lo"), keys=tmp_path / "keys"
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert campaign.go_on(folder, farm, Builds(campaign_sources())) == "complete"
    with folder.store() as store:
        assert dict(store.verdicts()) == {"passed": 10}
    assert len(list(tmp_path.glob("job-*.sh"))) == 2
    assert not list(tmp_path.glob("dask-scratch-space*"))


def test_keys_are_the_users_alone(tmp_path: Path) -> None:
    keys = tmp_path / "new" / "keys"
    make_keys(keys)
    assert keys.stat().st_mode & 0o777 == 0o700
    for name in ("cert.pem", "key.pem"):
        assert (keys / name).stat().st_mode & 0o777 == 0o600
    security = security_of(keys)
    assert security.require_encryption
    for role in ("scheduler", "worker", "client"):
        for arguments in (security.get_connection_args(role), security.get_listen_args(role)):
            assert arguments["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert f"--scheduler tls://HOST:8786 --keys {keys}" in farm_commands(keys)


def test_a_folder_with_a_space_is_quoted_in_commands() -> None:
    scheduler, worker, run = farm_commands(Path("my keys")).splitlines()
    for command in (scheduler, worker):
        assert "--tls-cert 'my keys/cert.pem' --tls-key 'my keys/key.pem'" in command
    assert run.endswith("--keys 'my keys'")


def test_a_scheduler_listens_where_its_workers_look_for_it_and_nowhere_else() -> None:
    scheduler, worker, run = map(shlex.split, farm_commands(Path("keys")).splitlines())
    host = scheduler[scheduler.index("--host") + 1]
    assert f"tls://{host}:8786" in worker
    assert f"tls://{host}:8786" in run


def test_keys_are_not_written_over(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    before = (tmp_path / "keys" / "key.pem").read_bytes()
    with pytest.raises(InputError, match="keys: cannot be made: File exists; name a new folder"):
        make_keys(tmp_path / "keys")
    assert (tmp_path / "keys" / "key.pem").read_bytes() == before


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda keys: (keys / "key.pem").chmod(0o640), "others can read the key; chmod 600 "),
        (lambda keys: (keys / "cert.pem").write_text("cut"), "is no key with its certificate"),
        (shutil.rmtree, "No such file or directory; eightfold campaign keys DIR"),
    ],
    ids=["readable", "damaged", "gone"],
)
def test_wrong_keys_are_one_line(
    spoil: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    make_keys(tmp_path / "keys")
    spoil(tmp_path / "keys")
    with pytest.raises(InputError, match=message):
        security_of(tmp_path / "keys")
