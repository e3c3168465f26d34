"""Whatever happens to workers, every unit's outcome is kept once, and is the same."""

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from distributed import Client

from eightfold.campaign import campaign
from eightfold.campaign.engine import CampaignProgress, Engine
from eightfold.campaign.farm import Farm, connect
from eightfold.campaign.folder import Folder, commits
from eightfold.campaign.records import Unit
from eightfold.campaign.suite import campaign_sources, suites
from eightfold.campaign.worker import Builds, run_unit
from eightfold.common.errors import InputError
from tests.support.campaign.behaviour import SUITE, Teach, unit
from tests.support.campaign.schedulers import scheduler

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

OPERATORS = [
    Unit(suite="operators", operator=name, first=first, count=5, backend="golden")
    for name in ("ADD", "SOFTMAX", "SUM")
    for first in (0, 5)
]


@pytest.fixture(autouse=True)
def behaviour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process know the suite of tests too: who begins a campaign asks for its identity."""
    monkeypatch.setitem(suites(), SUITE.name, SUITE)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return the folder of a campaign that has not begun."""
    return Folder(tmp_path / "campaign")


@contextmanager
def workers(farm: Farm) -> Iterator[tuple[Client, Path]]:
    """Yield workers that know the suite of tests, and a private folder."""
    with tempfile.TemporaryDirectory() as name, connect(farm, Path(name), units=9) as client:
        client.register_plugin(Teach())
        yield client, Path(name)


@pytest.fixture(scope="module")
def living() -> Iterator[tuple[Client, Path]]:
    """Return workers of all tests in which none of them dies."""
    with workers(Farm(workers=2)) as them:
        yield them


@contextmanager
def engine(
    folder: Folder, farm: Farm, living: tuple[Client, Path] | None = None, **options
) -> Iterator[Engine]:
    """Yield an engine whose workers know the suite of tests; ``living`` ones, or its own."""
    with (
        nullcontext(living) if living else workers(farm) as (client, private),
        folder.store(writable=True) as store,
    ):
        yield Engine(
            folder=folder,
            store=store,
            client=client,
            builds=Builds(campaign_sources()),
            private=private,
            **options,
        )


def run(folder: Folder, units: list[Unit], **options) -> str:
    """Run units in a folder, new or begun; return why it ended."""
    if not folder.facts_file.exists():
        campaign.begin(folder, {"test": True}, units)
    with engine(folder, Farm(workers=2), **options) as one:
        return one.run()


def digests(folder: Folder) -> dict[str, str]:
    """Return the digest of every unit that is done."""
    with folder.store() as store:
        return dict(store._rows("SELECT record, digest FROM units WHERE state = 'done'"))


def verdicts(folder: Folder) -> dict[str, int]:
    """Return numbers of cases by verdict."""
    with folder.store() as store:
        return dict(store.verdicts())


def test_two_workers_give_what_one_process_gives(
    folder: Folder, living: tuple[Client, Path]
) -> None:
    assert run(folder, OPERATORS, living=living) == "complete"
    assert digests(folder) == {u.as_record(): run_unit(u.as_record())[1].digest for u in OPERATORS}
    assert verdicts(folder) == {"passed": 30}


def test_workers_of_another_scheduler_give_the_same(folder: Folder, tmp_path: Path) -> None:
    campaign.begin(folder, {}, OPERATORS)
    with scheduler(tmp_path, 2) as (farm, _), engine(folder, farm) as one:
        one.client.wait_for_workers(2, timeout=60)
        assert one.run() == "complete"
    assert digests(folder) == {u.as_record(): run_unit(u.as_record())[1].digest for u in OPERATORS}
    with folder.store() as store:
        assert len({spent.worker for spent in store.spent()}) == 2


def test_a_unit_whose_worker_dies_runs_again(folder: Folder, tmp_path: Path) -> None:
    units = [unit("dies_once", first, folder=tmp_path) for first in range(0, 8, 4)]
    assert run(folder, units) == "complete"
    assert verdicts(folder) == {"passed": 8}


def test_a_worker_that_is_killed_at_work_costs_nothing(folder: Folder, tmp_path: Path) -> None:
    units = [unit("slow", first, folder=tmp_path) for first in range(0, 80, 4)]
    killed = []

    def kill(progress: CampaignProgress) -> None:
        if not killed:
            latest = max(tmp_path.glob("begun-*"), key=lambda path: path.stat().st_mtime_ns)
            killed.append(int(latest.read_text(encoding="utf-8")))
            os.kill(killed[0], signal.SIGKILL)

    assert run(folder, units, on_progress=kill) == "complete"
    assert killed
    assert verdicts(folder) == {"passed": 80}


def test_what_always_kills_its_worker_is_lost_until_the_next_session_and_the_rest_passes(
    folder: Folder, tmp_path: Path
) -> None:
    units = [unit("dies"), *(unit("slow", first, folder=tmp_path) for first in range(0, 24, 4))]
    assert run(folder, units) == "complete"
    assert verdicts(folder) == {"passed": 24, "lost": 4}
    with folder.store() as store:
        assert Counter(each.state for each in store.units()) == {"done": 6, "lost": 1}
        assert "3 workers ended while they ran its unit" in next(store.rows("lost")).message
    with folder.store(writable=True) as store:
        ((number, lost),) = store.waiting()
        assert lost == unit("dies")
        store.keep(number, run_unit(OPERATORS[0].as_record())[1], "here")
        assert dict(store.verdicts()) == {"passed": 29}


@pytest.mark.long
def test_what_hangs_is_ended_and_lost(folder: Folder) -> None:
    assert run(folder, [unit("hangs"), unit("passes")], limit=1.0) == "complete"
    assert verdicts(folder) == {"passed": 4, "lost": 4}
    log = (folder.failures / "behaviour-hangs-0-golden" / "log.txt").read_text("utf-8")
    assert log.count("Timeout (0:00:01)!") == 3  # of three workers
    assert "behaviour.py" in log  # which says where


def test_a_mistake_of_a_suite_is_an_error_of_its_cases(
    folder: Folder, living: tuple[Client, Path]
) -> None:
    run(folder, [unit("raises"), unit("passes")], living=living)
    assert verdicts(folder) == {"passed": 4, "error": 4}
    with folder.store() as store:
        assert next(store.rows("error")).message == "ValueError: a mistake of the suite"


def test_failures_have_a_folder_with_the_command_that_repeats_them(
    folder: Folder, living: tuple[Client, Path]
) -> None:
    run(folder, [unit("fails", 0, 9)], living=living)
    kept = sorted(path.name for path in folder.failures.iterdir())
    assert kept == [f"behaviour-fails-{seed}-golden" for seed in (0, 3, 6)]
    first = folder.failures / kept[0]
    assert (first / "model.tflite").read_bytes() == b"model"
    assert "step by step" in (first / "log.txt").read_text(encoding="utf-8")
    repeat = (first / "repeat.txt").read_text(encoding="utf-8")
    assert repeat == f"eightfold campaign repeat {folder.path} {kept[0]}\n"


def test_what_has_failed_runs_again_when_it_is_asked_to(
    folder: Folder, tmp_path: Path, living: tuple[Client, Path]
) -> None:
    units = [unit("fails_until_mended", first, 2, tmp_path) for first in range(0, 8, 2)]
    units.append(unit("fails", 0, 2))
    run(folder, units, living=living)
    assert verdicts(folder) == {"passed": 6, "failed": 4}
    (tmp_path / "mended").touch()
    assert run(folder, units, living=living) == "complete"
    assert verdicts(folder) == {"passed": 6, "failed": 4}  # nobody has asked
    assert campaign.failed_again(folder) == 4
    assert verdicts(folder) == {"passed": 2}  # of the unit in which nothing had failed
    assert run(folder, units, living=living) == "complete"
    assert verdicts(folder) == {"passed": 9, "failed": 1}
    assert [path.name for path in folder.failures.iterdir()] == ["behaviour-fails-0-golden"]
    facts = folder.facts()
    assert facts["again"] == [facts["commit"]]
    assert commits(facts) == f"{facts['commit']}, failed cases again at {facts['commit']}"
    assert campaign.failed_again(folder) == 1
    assert campaign.failed_again(folder) == 0  # it waits already
    assert len(folder.facts()["again"]) == 2


def test_a_budget_and_failures_stop_it_and_the_rest_runs_later(
    folder: Folder, living: tuple[Client, Path]
) -> None:
    units = [unit("fails", first, 3) for first in range(0, 90, 3)]
    assert run(folder, units, stop_after=2, living=living) == "failures"
    stopped = sum(verdicts(folder).values())
    assert 2 * 3 <= stopped < 90
    assert run(folder, units, deadline=time.monotonic(), living=living) == "budget"
    assert sum(verdicts(folder).values()) == stopped
    assert run(folder, units, living=living) == "complete"
    assert verdicts(folder) == {"passed": 60, "failed": 30}
    with folder.store() as store:
        assert [why for *_, why in store.sessions()] == ["failures", "budget", "complete"]


@pytest.mark.long
def test_a_scheduler_that_is_killed_leaves_what_can_be_resumed(
    folder: Folder, tmp_path: Path
) -> None:
    units = [unit("slow", first, folder=tmp_path) for first in range(0, 80, 4)]
    campaign.begin(folder, {}, units)
    with scheduler(tmp_path, 1) as (farm, processes):

        def kill(progress: CampaignProgress) -> None:
            processes[0].kill()

        with (
            engine(folder, farm, on_progress=kill) as one,
            pytest.raises(InputError, match="what has run is kept: eightfold campaign resume"),
        ):
            one.run()
    kept = sum(verdicts(folder).values())
    assert 0 < kept < 80
    assert run(folder, units) == "complete"
    assert verdicts(folder) == {"passed": 80}
    with folder.store() as store:
        assert [why for *_, why in store.sessions()] == ["scheduler lost", "complete"]


def test_a_worker_with_other_sources_is_refused(folder: Folder) -> None:
    campaign.begin(folder, {}, [unit("passes")])
    with engine(folder, Farm(workers=1)) as one:
        one.builds = Builds("another")
        with pytest.raises(InputError, match="has other sources of Eightfold"):
            one.run()


def test_nobody_else_runs_the_same_campaign(folder: Folder) -> None:
    campaign.begin(folder, {}, OPERATORS)
    with folder.alone(), pytest.raises(InputError, match="another process runs this campaign"):
        campaign.go_on(folder, Farm(workers=1), Builds(campaign_sources()))
