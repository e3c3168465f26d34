"""The program among others: closed and full streams, limits, signals."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from tests.eightfold.cli.test_cli import MODEL

pytestmark = pytest.mark.slow

LINE = "eightfold: standard output: cannot be written: "


def shell(script: str, **variables: str) -> tuple[int, str, str]:
    """Run a line of shell in which ``$E`` is the program; return status, output and errors."""
    done = subprocess.run(
        ["bash", "-c", script],
        env=os.environ
        | {"E": f"{sys.executable} -m eightfold.cli.main", "M": MODEL}
        | {"PYTHONPATH": str(IMPORT_ROOT)}
        | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ["header", "run $M"])
@pytest.mark.parametrize(
    ("to", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_output_that_cannot_be_written_is_one_line(command: str, to: str, why: str) -> None:
    assert shell(f"$E {command} {to}") == (2, "", f"{LINE}{why}\n")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # before there is anything to read, so that it does not depend on time
    command = [sys.executable, "-m", "eightfold.cli.main", "header"]
    done = subprocess.run(
        command, cwd=IMPORT_ROOT, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_errors_that_nobody_hears_leave_the_status(to: str) -> None:
    assert shell(f"$E check missing.tflite {to}") == (2, "", "")


def test_a_limit_of_size_leaves_the_good_file(tmp_path: Path) -> None:
    path = tmp_path / "eightfold.h"
    path.write_text("good")
    status, out, err = shell('ulimit -f 4; $E header -o "$O"', O=str(path))
    assert (status, out) == (2, "")
    assert err == f"eightfold: {path}: cannot be written: File too large\n"
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("backend", "missing"), [("verilator", "perl make g++"), ("icarus", "iverilog")]
)
def test_missing_tools_are_one_line(backend: str, missing: str) -> None:
    status, out, err = shell(f'PATH= $E run "$M" --backend {backend}')
    assert (status, out) == (2, "")
    assert err.endswith(f"apt-get install {missing}\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("signal", "status"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_a_signal_is_one_line_and_its_status(signal: str, status: int) -> None:
    # bash lets what it starts in the background ignore INT: the program sends it to itself.
    program = (
        "import os, signal, click; from eightfold.cli import main; "
        # What is ignored where the tests run, as after nohup, stays ignored.
        f"signal.signal(signal.SIG{signal}, signal.SIG_DFL); "
        f"command = click.Command('x', callback=lambda: os.kill(os.getpid(), signal.SIG{signal})); "
        "main.commands = command; main.main()"
    )
    said = "interrupted" if signal == "INT" else "stopped"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=IMPORT_ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, f"eightfold: {said}\n")
