"""Batch systems get the right job scripts, options are checked, schedulers that are not there."""

import os
import sys
from pathlib import Path

import pytest

from eightfold.campaign import campaign
from eightfold.campaign.builds import Builds, source_key
from eightfold.campaign.farm import (
    CLUSTERS,
    Farm,
    batch_cluster,
    connect,
    parse_options,
    parse_time,
)
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.cli import campaign as commands
from eightfold.errors import InputError

SCRIPTS = {
    "slurm": ["#SBATCH -J eightfold", "#SBATCH -p sim", "#SBATCH -t 08:00:00", "#SBATCH -n 1"],
    "lsf": ["#BSUB -J eightfold", "#BSUB -q sim", "#BSUB -W 08:00", "#BSUB -n 1"],
    "pbs": ["#PBS -N eightfold", "#PBS -q sim", "#PBS -l walltime=08:00:00"],
    "sge": ["#$ -N eightfold", "#$ -q sim", "#$ -l h_rt=08:00:00"],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_job_script_is_what_the_batch_system_reads(name: str) -> None:
    with batch_cluster(name, ["queue=sim", "memory=2GB"]) as cluster:
        lines = cluster.job_script().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert set(SCRIPTS[name]) <= set(lines)
    assert "export DASK_DISTRIBUTED__WORKER__DAEMON=False" in lines
    assert lines[-1].startswith(f"{sys.executable} -m distributed.cli.dask_worker tcp://")
    assert "--nthreads 1" in lines[-1]


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
        batch_cluster("slurm", ["colour=red"])


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200)])
def test_a_time_has_a_unit(text: str, seconds: float) -> None:
    assert parse_time("--budget", text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "0s", "1 parsec"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--budget .* is not a time such as"):
        parse_time("--budget", text)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_a_scheduler_that_is_not_there_is_one_line(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eightfold.campaign.farm.ANSWER_SECONDS", 1)
    with (
        pytest.raises(InputError, match=f"{address}: no scheduler answers: .*: dask scheduler"),
        connect(Farm(scheduler=address)),
    ):
        pass


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
    farm = Farm(cluster="slurm", workers=2, options=("queue=sim", "interface=lo"))
    assert campaign.go_on(folder, farm, Builds(source_key())) == "complete"
    with folder.store() as store:
        assert dict(store.verdicts()) == {"passed": 10}
    assert len(list(tmp_path.glob("job-*.sh"))) == 2
