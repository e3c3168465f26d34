"""What a terminal shows: tables of results, and how far long work is, and for how long."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from eightfold.common.progress import OnProgress, Progress


def output_console(width: int) -> Console:
    """Return what prints plain words to standard output: ``width`` columns if it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


class _Count(MofNCompleteColumn):
    """Steps done of all; nothing where nobody knows how many there are."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


@contextmanager
def terminal_progress(text: str, *, after: float = 0.0) -> Iterator[OnProgress | None]:
    """Yield a callback that shows a `Progress` on standard error, None where that is no terminal.

    Print to standard output when it has ended: a terminal would show both in one line.

    ``text``: what is being done until the first call; ``after``: seconds after which it is shown;
    not at all if it has ended by then.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    words = Column(no_wrap=True, overflow="ellipsis", ratio=3)
    columns = (
        TextColumn("{task.description}", markup=False, table_column=words),
        BarColumn(bar_width=None, table_column=Column(ratio=1)),
        _Count(),
        TimeElapsedColumn(),
    )
    # What is printed meanwhile to standard output would go to standard error with the bar.
    bar = Bar(*columns, console=console, transient=True, expand=True, redirect_stdout=False)
    task = bar.add_task(text, total=None)

    def show(progress: Progress) -> None:
        bar.update(task, completed=progress.done, total=progress.total, description=progress.text)
        if progress.total is None:  # rich takes None for no change
            bar.tasks[0].total = None

    begin = Timer(after, bar.start)
    begin.start() if after else bar.start()
    try:
        yield show
    finally:
        begin.cancel()
        if begin.ident is not None:
            begin.join()  # it may be about to start the bar
        bar.stop()
