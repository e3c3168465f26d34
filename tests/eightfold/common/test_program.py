"""Whatever goes wrong, a program says it in one line, and its exit status says of which kind."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from eightfold.cli.doctor import TOOLS, findings
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.extras import how_to_install
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.program import add_debug_option, one_line_errors
from eightfold.sim.simulator.toolchain import check_simulator
from eightfold.sim.simulator.waves import LIBRARIES


def ending(error: BaseException, *arguments: str, group: bool = False) -> int:
    """Run a program that raises an error; return its exit status."""

    @click.command()
    def fails() -> None:
        raise error

    program = click.Group("group", {"fails": fails}) if group else fails
    with pytest.raises(SystemExit) as ended:
        one_line_errors(program, list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def stale(path: str) -> OSError:
    """Return an error of the system that no folder or file of the user explains."""
    return OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("model.tflite: two\nlines"), 2, "model.tflite: two lines"),
        (click.UsageError("no such option"), 2, "no such option"),
        (HardwareError("hung\nlog: run/bench.log"), 1, "hung log: run/bench.log"),
        (MemoryError(), 2, "out of memory"),
        (MemoryError("Unable to allocate 8 EiB"), 2, "out of memory: Unable to allocate 8 EiB"),
        (OSError(errno.ENOSPC, "full", "/a"), 2, "/a: No space left on device"),
        (OSError(errno.ENOSPC, "full"), 2, "No space left on device"),
        (OSError(errno.EROFS, "read only", "/a"), 2, "/a: Read-only file system"),
        (OSError(errno.EMFILE, "many", "/a"), 2, "/a: Too many open files"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=repr,
)
def test_what_is_no_fault_of_ours_is_one_line(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(error) == status
    # click ends the line in which a terminal shows ^C
    assert capsys.readouterr().err.lstrip("\n") == f"eightfold: {line}\n"


@pytest.mark.parametrize(
    "error",
    [ValueError("of our\nown"), KeyError("of our own"), RuntimeError(), stale("/a")],
    ids=repr,
)
def test_an_internal_error_is_one_line_and_a_report(
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["eightfold", "run", "a model.tflite"])
    monkeypatch.setenv("EIGHTFOLD_CACHE", "/some/cache")
    assert ending(error) == 3
    out, err = capsys.readouterr()
    (path,) = tmp_path.iterdir()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"eightfold: internal error: {type(error).__name__}")
    assert err.endswith(f"; please attach {path} to an issue\n")
    text = path.read_text("utf-8")
    for part in ("command: eightfold run 'a model.tflite'\n", "EIGHTFOLD_CACHE=/some/cache\n"):
        assert part in text
    assert re.search(r"^eightfold: \d+\.\d+", text, re.MULTILINE)
    assert re.search(r"^numpy: \d+\.\d+", text, re.MULTILINE)
    assert "Traceback (most recent call last):" in text
    assert "test_program.py" in text


@pytest.mark.parametrize("arguments", [["--debug", "fails"], ["fails", "--debug"]])
def test_debug_shows_the_traceback_instead(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ending(ValueError("of our own"), *arguments, group=True) == 3
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("ValueError: of our own\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_internal_error_without_a_place_for_its_report_is_still_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert ending(ValueError("of our own")) == 3
    assert capsys.readouterr().err == (
        "eightfold: internal error: ValueError: of our own; --debug shows where, no report can be "
        "written\n"
    )


def test_every_command_takes_debug_once() -> None:
    from eightfold.cli.main import commands

    for _ in range(2):
        add_debug_option(commands)
    for each in (commands, *commands.commands.values()):
        assert [parameter.name for parameter in each.params].count("debug") == 1


def test_a_warning_is_one_line() -> None:
    program = (
        "import click, warnings; from eightfold.common.program import one_line_errors; "
        "warn = lambda: warnings.warn('overflow\\n  in exp', RuntimeWarning); "
        "one_line_errors(click.Command('x', callback=warn))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=IMPORT_ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "eightfold: warning: overflow in exp\n")


PACKAGES = [*(package for package, _ in TOOLS.values()), *LIBRARIES.values()]


def system(monkeypatch: pytest.MonkeyPatch, platform: str, *programs: str) -> None:
    """Make this a system that has some programs and no others."""
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name, path=None: name if name in programs else None)


def test_debian_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "linux", "apt-get", "brew")
    assert how_to_install("perl", "make") == "apt-get install perl make"


def test_macos_has_the_command_of_homebrew(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "darwin", "brew")
    assert how_to_install("perl", "iverilog") == "brew install perl icarus-verilog"
    several = "install Perl from https://www.perl.org, a C++ compiler from https://gcc.gnu.org"
    assert how_to_install("perl", "g++") == several


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    ("platform", "programs"),
    [("linux", ("brew",)), ("darwin", ("apt-get",)), ("win32", ("apt-get", "brew"))],
)
def test_others_have_no_command_that_cannot_work(
    platform: str, programs: tuple[str, ...], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system(monkeypatch, platform, *programs)
    assert re.fullmatch(r"install [\w+ -]+ from https://[\w./-]+", how_to_install(package))


def test_a_system_without_apt_is_told_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "linux")
    assert {each.name: each.install for each in findings()}["iverilog"] == (
        "install Icarus Verilog from https://steveicarus.github.io/iverilog/"
    )
    assert not any("apt" in each.install for each in findings())
    with pytest.raises(InputError, match="^iverilog is not installed: install Icarus Verilog from"):
        check_simulator("icarus")
