"""A terminal sees a bar, a pipe a line a minute."""

from io import StringIO

import pytest
from rich.console import Console

from eightfold.campaign import engine as progress
from eightfold.campaign.engine import CampaignProgress, shown_progress, text_of

HALF = CampaignProgress(done=1500, failed=2, lost=0, total=3000, rate=12.5, workers=2)
BEGUN = CampaignProgress(done=0, failed=0, lost=0, total=3000, rate=0.0, workers=1)


def test_progress_in_words() -> None:
    assert text_of(HALF) == "1,500 of 3,000, 2 failed, 12.5 a second, 0:02:00 left, 2 workers"
    assert text_of(HALF, short=True) == "1,500 of 3,000, 2 failed, 0:02:00 left"
    assert text_of(BEGUN) == "0 of 3,000, 0.0 a second, 1 worker"


def test_a_pipe_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    file = StringIO()
    with shown_progress(Console(file=file)) as show:
        for now in (1000.5, 1030.0, 1061.0, 1062.0, 1100.0, 1121.5):  # noqa: B007
            show(HALF)
    assert file.getvalue().splitlines() == [text_of(HALF)] * 2


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_gets_a_bar(width: int) -> None:
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=width)
    with shown_progress(console) as show:
        show(HALF)
        console.print("")  # drawn again with it
    assert text_of(HALF, width < 80)[:20] in file.getvalue()
