"""How far a campaign is: a bar on a terminal, a line a minute in a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from eightfold.campaign.engine import CampaignProgress

LINE_SECONDS = 60.0


@contextmanager
def shown_progress(console: Console | None = None) -> Iterator[Callable[[CampaignProgress], None]]:
    """Yield what shows a `CampaignProgress` on standard error."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
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


class _Lines:
    """Prints a line a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + LINE_SECONDS

    def __call__(self, progress: CampaignProgress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_SECONDS
            self._console.print(text_of(progress), markup=False, highlight=False, soft_wrap=True)


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
