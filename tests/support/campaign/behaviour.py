"""A suite whose cases do what its operators' names say, on workers of a test's own."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker, WorkerPlugin

from eightfold.campaign.records import Case, Evidence, Unit
from eightfold.campaign.suite import Result, Suite, suites

NAME = "behaviour"


def unit(operator: str, first: int = 0, count: int = 4, folder: Path | None = None) -> Unit:
    """Return a unit; what it leaves behind for the next try is in ``folder``."""
    return Unit(
        suite=NAME,
        operator=operator,
        first=first,
        count=count,
        backend="golden",
        settings=str(folder or ""),
    )


def run(given: Unit, trace: Path | None) -> Result:
    """Do what the unit's operator says, then pass, fail or end with an exception."""
    if given.operator == "dies_once":
        marker = Path(given.settings) / f"died-{given.first}"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if given.operator == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if given.operator == "hangs":
        time.sleep(3600)
    if given.operator == "slow":
        Path(given.settings, f"begun-{given.first}").write_text(str(os.getpid()))
        time.sleep(0.2)
    if given.operator == "raises":
        raise ValueError("a mistake of the suite")
    return Result([_case(given, seed) for seed in given.seeds], {("ADD", "rank", "1"): given.count})


def _case(given: Unit, seed: int) -> Case:
    fails = {"fails": True, "fails_until_mended": not Path(given.settings, "mended").exists()}
    if fails.get(given.operator) and seed % 3 == 0:
        evidence = Evidence(model=b"model", log="step by step")
        return Case(
            seed=seed,
            operator=given.operator,
            verdict="failed",
            message="differs",
            evidence=evidence,
        )
    return Case(seed=seed, operator=given.operator, verdict="passed")


SUITE = Suite(name=NAME, text="what tests need", run=run)


@dataclass
class Teach(WorkerPlugin):
    """Lets workers know the suite."""

    name = "behaviour"

    def setup(self, worker: Worker) -> None:
        """Add the suite to a worker's."""
        suites()[NAME] = SUITE
