"""What POSIX alone has is taken away; all that simulates nothing works on, the rest is one line."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.common.posix import limit_data, locked

DIGITS = "examples/digits/digits.tflite"

WINDOWS = """
import importlib.abc, os, shlex, signal, sys
import distributed, psutil  # their parts for Linux ask for what is taken away

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in list(sys.modules):
    if name in ("fcntl", "grp", "pwd", "resource", "termios"):
        del sys.modules[name]
sys.meta_path.insert(0, Absent())
for name in ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGXCPU"):
    delattr(signal, name)
for name in ("getuid", "geteuid", "killpg", "mkfifo", "setsid", "statvfs", "sysconf"):
    delattr(os, name)

from eightfold.common import posix
# A module of the name msvcrt would have others call more of Windows.
posix._lock_first_byte = lambda descriptor, wait: None
from eightfold.cli.main import commands
from eightfold.common.program import one_line_errors, stop_on_signals
stop_on_signals()
for line in sys.argv[1:]:
    try:
        one_line_errors(commands, shlex.split(line))
    except SystemExit as end:
        print(f"status {int(end.code)} of {line}", flush=True)
"""
"""Runs each of its arguments as a command line."""


def on_windows(*lines: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WINDOWS, *lines]
    return subprocess.run(command, cwd=IMPORT_ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_all_that_simulates_nothing_works(tmp_path: Path) -> None:
    lines = [
        "--version",
        "--help",
        f"run {DIGITS}",
        f"check {DIGITS}",
        f"info {DIGITS}",
        f"estimate {DIGITS}",
        f"compile {DIGITS} -o {tmp_path}/compiled",
        "ops",
        "doctor",
        f"header -o {tmp_path}/header.h",
        f"golden-c -o {tmp_path}/c",
        f"vectors requantizer -o {tmp_path}/vectors",
        f"verilog --unit requantizer -o {tmp_path}/requantizer.v",
        "campaign run operators --operators ADD --cases 2 --list",
    ]
    done = on_windows(*lines)
    ends = [line for line in done.stdout.splitlines() if line.startswith("status ")]
    assert ends == [f"status 0 of {line}" for line in lines], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"run {DIGITS} --compare", "a process for the reference kernels"),
        (f"run {DIGITS} --backend icarus", "simulation with Icarus"),
    ],
    ids=["compare", "simulate"],
)
def test_what_needs_posix_is_one_line(line: str, what: str) -> None:
    done = on_windows(line)
    assert done.stdout == f"status 2 of {line}\n"
    advice = "needs Linux or macOS; on Windows use WSL, its subsystem for Linux"
    assert done.stderr == f"eightfold: {what} {advice}\n"


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, wait=False), pytest.raises(BlockingIOError), locked(path, wait=False):
        pass
    with locked(path, wait=True):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("wait", [False, True], ids=["at once", "waits"])
def test_windows_locks_a_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: bool) -> None:
    class Msvcrt:
        LK_NBLCK = 2
        refusals = 2

        def locking(self, descriptor: int, mode: int, count: int) -> None:
            assert (mode, count) == (2, 1)
            self.refusals -= 1
            if self.refusals >= 0:
                raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    path = tmp_path / "lock"
    with nullcontext() if wait else pytest.raises(BlockingIOError), locked(path, wait=wait):
        pass


def test_a_limit_of_data_is_left_out_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    limit_data(1)


def test_a_console_of_windows_stays_as_it_is() -> None:
    program = (
        "import os, sys; "
        "from eightfold.common.program import guard_standard_output as guard; "
        "before = sys.stdout; os.name = {name!r}; guard(); print(sys.stdout is before)"
    )
    for name, kept in (("nt", "True"), ("posix", "False")):
        command = [sys.executable, "-c", program.format(name=name)]
        done = subprocess.run(command, cwd=IMPORT_ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == f"{kept}\n"
