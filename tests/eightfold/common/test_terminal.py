"""What long work shows on a terminal, and that it is quiet in a pipe."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from eightfold.common import terminal
from eightfold.common.progress import Progress
from eightfold.common.terminal import terminal_progress
from tests.support.command import Call


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> str:
    """Return what a terminal of some width is sent for three steps of work, without colours."""
    monkeypatch.setattr(
        terminal, "Console", lambda **given: Console(**given, force_terminal=True, width=width)
    )
    with terminal_progress("elaborating a unit") as tell:
        assert tell is not None
        tell(Progress(3, 18, "run 1 of 2"))
        tell(Progress(0, None, "compiling with Verilator"))
    captured = capsys.readouterr()
    assert captured.out == ""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", captured.err)


def test_a_pipe_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal_progress("elaborating a unit") as tell:
        assert tell is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("width", [80, 40])
def test_a_terminal_shows_what_is_done_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    lines = shown(monkeypatch, capsys, width).split("\r")
    assert max(map(len, lines)) <= width + 1
    assert re.search(r"compiling with.*0:00:0\d", lines[-1] + lines[-2])
    assert "/" not in lines[-1] + lines[-2]  # of how many steps is not known


class Clock:
    """In place of a timer: its time comes at once, or never."""

    comes = True

    def __init__(self, seconds: float, begin: Callable[[], None]) -> None:
        assert seconds == 2
        self._begin = begin
        self.ident = None

    def start(self) -> None:
        if self.comes:
            self._begin()

    def cancel(self) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("comes", [True, False], ids=["slow", "quick"])
@pytest.mark.parametrize("command", ["estimate", "compile"])
def test_what_compiles_says_so_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path, command: str, comes: bool
) -> None:
    monkeypatch.setattr(Clock, "comes", comes)
    monkeypatch.setattr(terminal, "Timer", Clock)
    monkeypatch.setattr(
        terminal,
        "Console",
        lambda **given: Console(**{**given, "force_terminal": True, "width": 80}),
    )
    words = ["digits", *(("-o", str(tmp_path)) if command == "compile" else ())]
    status, out, err = call(command, *words)
    assert (status, bool(out)) == (0, True)
    verb = {"estimate": "estimating", "compile": "compiling"}[command]
    assert (f"{verb} digits" in err) == comes
    if not comes:
        assert err == ""
