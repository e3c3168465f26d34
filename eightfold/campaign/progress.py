"""How far a campaign is: a bar on a terminal, a line a minute in a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from eightfold.campaign.engine import Standing

LINE_SECONDS = 60.0


@contextmanager
def shown_progress(console: Console | None = None) -> Iterator[Callable[[Standing], None]]:
    """Yield what shows a `Standing` on standard error."""
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

        def show(standing: Standing) -> None:
            bar.update(
                task,
                total=standing.total,
                completed=standing.done,
                description=text_of(standing, bar.console.width < 80),
            )

        yield show


class _Lines:
    """Prints a line a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + LINE_SECONDS

    def __call__(self, standing: Standing) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_SECONDS
            self._console.print(text_of(standing), markup=False, highlight=False, soft_wrap=True)


def text_of(standing: Standing, short: bool = False) -> str:
    """Return a standing in words."""
    words = [f"{standing.done:,} of {standing.total:,}"]
    words += [f"{standing.failed:,} failed"] if standing.failed else []
    words += [f"{standing.lost:,} lost"] if standing.lost else []
    if not short:
        words += [f"{standing.rate:.1f} a second"]
    if standing.left is not None:
        words += [f"{timedelta(seconds=round(standing.left))} left"]
    if not short:
        workers = f"{standing.workers} worker" + "s" * (standing.workers != 1)
        words += [workers]
    return ", ".join(words)
