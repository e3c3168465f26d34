"""Units to workers, outcomes to the folder, until all have ended or somebody stops it.

How far it is, is told by a bar on a terminal, and in a pipe by a line a minute.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import cast

from distributed import Client, Future, KilledWorker
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from eightfold.campaign.farm import ANSWER_SECONDS, TRIES
from eightfold.campaign.folder import Folder
from eightfold.campaign.records import GOOD, Case, Evidence, Result, Unit, Verdict
from eightfold.campaign.store import Store
from eightfold.campaign.worker import Builds, run_unit, where_it_hung
from eightfold.common.errors import InputError

UNIT_SECONDS = 600.0
"""Time limit of a unit: a hundred times what most take."""

IN_FOLDER = 1000
"""Failures whose evidence is kept; all others have their message alone."""


_LOOK_SECONDS = 5.0
"""After which without an outcome it is looked whether the scheduler is there."""


@dataclass(kw_only=True)
class CampaignProgress:
    """How far a campaign is: cases that have ended, those before this session too."""

    done: int = 0
    failed: int = 0
    lost: int = 0
    total: int = 0
    rate: float = 0.0
    """Cases per second in this session."""
    workers: int = 0

    @property
    def left(self) -> float | None:
        """Seconds until the end at this rate, if it is known."""
        return (self.total - self.done) / self.rate if self.rate else None


@dataclass(kw_only=True)
class Engine:
    """Runs what waits in a campaign."""

    folder: Folder
    store: Store
    client: Client
    builds: Builds
    private: Path
    """Folder of this run that nobody else can read."""
    limit: float = UNIT_SECONDS
    """Seconds of a unit, after which its worker ends itself."""
    deadline: float | None = None
    """Value of `time.monotonic` after which no more units begin."""
    stop_after: int | None = None
    """Failures after which no more units begin."""
    on_progress: Callable[[CampaignProgress], None] = lambda progress: None
    """Called whenever a unit has ended."""
    _progress: CampaignProgress = field(init=False, default_factory=CampaignProgress)
    _begun: float = field(init=False, default=0.0)
    _before: int = field(init=False, default=0)
    _kept: int = field(init=False, default=0)
    _missed: int = field(init=False, default=0)

    def run(self) -> str:
        """Run what waits; return why no more runs: complete, budget, or failures.

        Raises `InputError` if the scheduler is gone, a worker has another version, or a disk is
        full. What had ended until then is kept.
        """
        verdicts = self.store.verdicts()
        self._before = sum(verdicts.values()) - verdicts["lost"]
        self._progress.total = self.store.total_cases()
        self._progress.done = self._before
        self._kept = sum(1 for _ in self.folder.failures.glob("*"))
        self._look()
        session = self.store.begin_session(self._progress.workers)
        self._begun = time.monotonic()
        why = "interrupted"
        try:
            self.client.register_plugin(self.builds)
            why = self._run()
        except (OSError, TimeoutError, RuntimeError) as error:
            why = "scheduler lost"
            raise InputError(
                f"the scheduler or all its workers are gone ({error}); what has run is kept: "
                f"{self.folder.resume_command()}"
            ) from None
        finally:
            self.store.end_session(session, why)
        return why

    def _run(self) -> str:
        waiting = iter(self.store.waiting())
        running: dict[Future, tuple[int, Unit]] = {}
        ended: SimpleQueue[Future] = SimpleQueue()
        why = ""
        while True:
            why = why or self._why_to_stop()
            window = 2 * self._look() + 2  # few, so that stopping is quick
            while not why and len(running) < window:
                if (following := next(waiting, None)) is None:
                    break
                future = self._submit(*following)
                running[future] = following
                future.add_done_callback(ended.put)
            if not running:
                return why or "complete"
            try:
                future = ended.get(timeout=_LOOK_SECONDS)
            except Empty:
                self._check_scheduler()
                continue
            number, unit = running.pop(future)
            self._take(number, unit, future)

    def _check_scheduler(self) -> None:
        """Raise ConnectionError if the scheduler has been gone for a while."""
        if self.client.status == "running":
            self._missed = 0
            return
        self._missed += 1
        if self._missed * _LOOK_SECONDS > ANSWER_SECONDS:
            raise ConnectionError("no answer")

    def _why_to_stop(self) -> str:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "budget"
        if self.stop_after is not None and self._progress.failed >= self.stop_after:
            return "failures"
        return ""

    def _look(self) -> int:
        """Ask which workers there are; return how many units they run at once."""
        threads = cast(dict[str, int], self.client.nthreads())  # the client is no coroutine's
        self._progress.workers = len(threads)
        return sum(threads.values())

    def _submit(self, number: int, unit: Unit) -> Future:
        # A new name each time: dask must not know the outcome of an earlier session.
        return self.client.submit(
            run_unit,
            unit.as_record(),
            self.limit,
            str(self.private),
            key=f"{unit.name}-{number}-{self._begun}",
            pure=False,
        )

    def _take(self, number: int, unit: Unit, future: Future) -> None:
        state, worker = "done", ""
        error = future.exception() if future.status != "finished" else None
        if error is None and future.status == "finished":
            worker, outcome = future.result()
        elif isinstance(error, KilledWorker):
            state = "lost"
            text = (
                f"{TRIES} workers ended while they ran its unit: it took more time "
                "than --unit-limit gives it, or killed them"
            )
            outcome = _of_all(unit, "lost", text, where_it_hung(unit, self.private))
        elif error is not None:
            if isinstance(error, InputError):
                raise error
            outcome = _of_all(unit, "error", f"{type(error).__name__}: {error}")
        else:
            raise RuntimeError(f"unit {unit.name} was {future.status}")
        for case in outcome.cases:
            if self._kept and self.folder.drop_failure(unit, case):
                self._kept -= 1
            if case.verdict not in GOOD and self._kept < IN_FOLDER:
                self.folder.keep_failure(unit, case)
                self._kept += 1
        if outcome.answers:
            self.folder.keep_answers(unit, outcome.answers)
        self.store.keep(number, outcome, worker, state)
        self._count(outcome, state)

    def _count(self, outcome: Result, state: str) -> None:
        progress = self._progress
        if state == "lost":
            progress.lost += len(outcome.cases)
        else:
            progress.done += len(outcome.cases)
        progress.failed += sum(case.verdict not in GOOD for case in outcome.cases)
        progress.rate = (progress.done - self._before) / (time.monotonic() - self._begun)
        self.on_progress(replace(progress))  # theirs to keep; the next unit changes this one


def _of_all(unit: Unit, verdict: Verdict, text: str, log: str = "") -> Result:
    evidence = Evidence(log=log)
    cases = (
        Case(seed=seed, operator=unit.operator, verdict=verdict, message=text, evidence=evidence)
        for seed in unit.seeds
    )
    return Result(cases=tuple(cases))


LINE_SECONDS = 60.0


@contextmanager
def shown_progress(console: Console | None = None) -> Iterator[Callable[[CampaignProgress], None]]:
    """Yield what shows a `CampaignProgress` on standard error."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        due = time.monotonic() + LINE_SECONDS

        def tell(progress: CampaignProgress) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + LINE_SECONDS
                console.print(text_of(progress), markup=False, highlight=False, soft_wrap=True)

        yield tell
        return
    bar = Progress(
        BarColumn(bar_width=None),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        expand=True,
        redirect_stdout=False,
    )
    with bar:
        task = bar.add_task("starting workers", total=None)

        def show(progress: CampaignProgress) -> None:
            bar.update(
                task,
                total=progress.total,
                completed=progress.done,
                description=text_of(progress, bar.console.width < 80),
            )

        yield show


def text_of(progress: CampaignProgress, short: bool = False) -> str:
    """Return how far a campaign is, in words."""
    words = [f"{progress.done:,} of {progress.total:,}"]
    words += [f"{progress.failed:,} failed"] if progress.failed else []
    words += [f"{progress.lost:,} lost"] if progress.lost else []
    if not short:
        words += [f"{progress.rate:.1f} a second"]
    if progress.left is not None:
        words += [f"{timedelta(seconds=round(progress.left))} left"]
    if not short:
        workers = f"{progress.workers} worker" + "s" * (progress.workers != 1)
        words += [workers]
    return ", ".join(words)
