"""What the project's programs share: options, standard output, and how they end.

Standard output can be closed, full, or read by a program that has seen enough. An error of
Eightfold's own leaves a report in a file, with what somebody needs to find it.
"""

import errno
import io
import os
import platform
import re
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial, reduce
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from eightfold.common.child import one_line
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.extras import installed_versions
from eightfold.common.files import NETWORKS
from eightfold.target.config import PRESETS

STATUSES = (
    "Exit status: 0, all is well. 1, a comparison failed or was not made, the file that check was "
    "asked about does not run, or the hardware hung or broke a rule. 2, bad input, something "
    "unsupported, a tool that is missing or fails, a full disk. 3, an internal error; one line "
    "names the file with its report. 130, interrupted."
)
"""What every program returns, for its help."""

_ENVIRONMENT = {
    *(errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EISDIR, errno.EMFILE),
    *(errno.ENAMETOOLONG, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.ENOTDIR),
    *(errno.EPERM, errno.EROFS),
}
"""Errors of the system that are no fault of ours: permissions, full and broken disks, limits."""


class Stopped(SystemExit):
    """A signal ended the program: a status above 128, and in words which."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number
        self.advice: list[str] = []
        """What to do now; whoever lets it pass may add to it."""

    def __str__(self) -> str:
        what = "interrupted" if self.number == signal.SIGINT else "stopped"
        return "; ".join([what, *self.advice])


def stop_on_signals() -> None:
    """Let signals raise `Stopped`, so that all that was begun is ended: simulators for example."""

    def stop(number: int, _: object) -> NoReturn:
        raise Stopped(number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no terminal that hangs up
        if number is None:
            continue
        if signal.getsignal(number) != signal.SIG_IGN:  # as in the background, or after nohup
            signal.signal(number, stop)


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(dict)["debug"] = True


def add_debug_option(command: click.Command) -> None:
    """Let a command, and each command of a group, take ``--debug``; once is enough."""
    if all(parameter.name != "debug" for parameter in command.params):
        option = click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_set_debug,
            help="Show the traceback of an internal error instead of writing a report of it.",
        )
        command.params.append(option)
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        add_debug_option(each)


def one_line_errors(command: click.Command, *args: Any, **options: Any) -> NoReturn:
    """Run a command as a program: `STATUSES`, and one line on standard error but for status 0."""
    settings: dict[str, bool] = {}
    warnings.formatwarning = _warning_line
    try:
        guard_standard_output()
        add_debug_option(command)
        status = command.main(*args, **{**options, "standalone_mode": False, "obj": settings})
        sys.stdout.flush()
    except Stopped as stop:
        complain(f"eightfold: {stop}")
        status = stop.code
    except Exception as error:
        status = _complaint(error, "debug" in settings)
    sys.exit(status if isinstance(status, int) else 0)


def _complaint(error: Exception, debug: bool) -> int:
    """Say in one line what happened; return the exit status."""
    status = 2
    match error:
        case click.Abort():  # what click makes of an interrupt
            status, text = 130, "interrupted"
        case click.ClickException():
            text = error.format_message()
        case InputError():
            text = str(error)
        case HardwareError():
            status, text = 1, str(error)
        case MemoryError():
            text = f"out of memory: {error}".removesuffix(": ")
        case OSError() if error.errno in _ENVIRONMENT:
            text = f"{error.filename}: " if error.filename else ""
            text += os.strerror(error.errno)
        case _:
            return _internal(error, debug)
    complain(f"eightfold: {one_line(text)}")
    return status


def _internal(error: Exception, debug: bool) -> int:
    """Report an error of our own, on standard error or in a file."""
    what = one_line("".join(traceback.format_exception_only(error)))
    if debug:
        complain("".join(traceback.format_exception(error)).rstrip())
    elif path := write_report(error):
        complain(f"eightfold: internal error: {what}; please attach {path} to an issue")
    else:
        complain(
            f"eightfold: internal error: {what}; --debug shows where, no report can be written"
        )
    return 3


def _warning_line(message: Warning | str, *_: Any) -> str:
    """Return what Python or a library warns of without the lines of our source."""
    return f"eightfold: warning: {one_line(message)}\n"


if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_READER_GONE = 128 + 13
"""Status of a program that SIGPIPE ended; Windows has no such signal, and no number of it."""


class _Output(io.FileIO):
    """Standard output's file descriptor; the first failure ends the program, with its reason.

    Ours, because libraries end the program on a closed pipe with exit status 1, which means here
    that a comparison failed.
    """

    def write(self, data: "ReadableBuffer", /) -> int | None:
        """Write some of the bytes; return how many.

        Raises `SystemExit` if a pipe's reader has gone, with the status of a program that SIGPIPE
        ended. Raises `InputError` if the output cannot be written.
        """
        try:
            return super().write(data)
        except OSError as error:
            # What is still buffered must not fail again when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(_READER_GONE) from None
            raise InputError(f"standard output: cannot be written: {error.strerror}") from None


def guard_standard_output() -> None:
    """Let every failure to write standard output end the program with one line, or quietly.

    To be called first: a standard stream that is closed is replaced before a file of ours gets its
    number, and its contents with it.
    """
    for number, stream in enumerate((sys.__stdin__, sys.__stdout__, sys.__stderr__)):
        if stream is None:
            # The wrong way round, so that using it fails as it should; complaints may get lost.
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)
    if sys.stdout is not sys.__stdout__:
        return  # somebody has put another stream in its place, tests for example
    if os.name == "nt":
        return  # a console of Windows is written characters, which are no bytes of a file
    known = sys.stdout
    raw = io.BufferedWriter(_Output(1, "w", closefd=False))
    sys.stdout = io.TextIOWrapper(
        raw,
        encoding=known.encoding if known else None,
        errors=known.errors if known else None,
        line_buffering=bool(known and known.line_buffering),
    )


def complain(text: str) -> None:
    """Write a line to standard error; where that fails the exit status has to say enough."""
    with suppress(OSError, ValueError):
        click.echo(text, err=True)


def write_report(error: Exception) -> Path | None:
    """Write a report to a new file in the system's folder for temporary files, and return it.

    Where that cannot be written, the file is in the current folder; None if that cannot either.
    """
    text = report(error)
    try:
        number, name = tempfile.mkstemp(".txt", "eightfold-error-", text=True)
        with open(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return None
    return Path(name).absolute()


def report(error: Exception) -> str:
    """Return the command, the place, versions and traceback of an error."""
    variables = {name: text for name, text in os.environ.items() if name.startswith("EIGHTFOLD_")}
    lines = [
        "An internal error of Eightfold. Please attach this file to an issue, with the model if",
        "you may share it; look through the file first for names that you would rather not tell.",
        "",
        f"time: {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        f"command: {shlex.join(sys.argv)}",
        f"folder: {_current_folder()}",
        f"platform: {platform.platform()}, {os.cpu_count()} processors",
        f"python: {platform.python_version()}, {sys.executable}",
        *(f"{name}: {text}" for name, text in sorted(_versions().items())),
        *(f"{name}={text}" for name, text in sorted(variables.items())),
        "",
        "".join(traceback.format_exception(error)),
    ]
    return "\n".join(lines)


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return "none"


def _versions() -> dict[str, str]:
    """Return versions of Eightfold and of the packages that it asks for, where installed."""
    names = ["eightfold"]
    with suppress(PackageNotFoundError):  # run from a folder of sources that was never installed
        names += [re.split(r"[^\w.-]", line)[0] for line in requires("eightfold") or ()]
    return dict.fromkeys(names, "not installed") | installed_versions(names)


CONFIG_HELP = f"{', '.join(PRESETS)}, or a .toml file"


class _Model(click.Path):
    """A model's file, or the name of a network that comes with Eightfold, if no file has it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the file."""
        path = super().convert(value, param, ctx)
        assert isinstance(path, Path)
        known = NETWORKS / f"{path}.tflite"
        return known if path.name == str(path) and not path.is_file() and known.exists() else path


model_argument = click.argument("model", type=_Model(path_type=Path))

config_option = click.option("--config", default="base", show_default=True, help=CONFIG_HELP)

memory_option = click.option(
    "--memory",
    default="ideal",
    show_default=True,
    help="How long memory takes: ideal, soc-100, ddr3-16, sdr-sdram-16, litedram-sdr-16, "
    "litedram-ddr3-16, or fields such as latency=40,shared=1,bytes_per_cycle=2.",
)


def is_given(name: str) -> bool:
    """Return whether an option of the command that runs stands on its line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return options as somebody types them: names with dashes, those of several values repeated.

    What is None, False or empty was not given; what is true is a flag.
    """
    words = []
    for name, value in options.items():
        several = isinstance(value, Sequence) and not isinstance(value, str)
        for each in value if several else [value]:
            if each is None or each is False or each == "":
                continue
            words.append(f"--{name.replace('_', '-')}")
            words += [] if each is True else [str(each)]
    return words


def option_group(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return what adds options to a command, which its help lists in this order."""
    return lambda command: reduce(lambda known, option: option(known), reversed(options), command)


def path_option(*names: str, metavar: str = "FILE", **more: Any) -> Callable[..., Any]:
    """Return an option that takes a path."""
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, **more)


number_option = partial(click.option, type=click.IntRange(min=1), metavar="N")
"""Returns an option that takes a number, 1 at least."""

output_folder_option = path_option(
    "-o", "--output", required=True, metavar="DIR", help="Where to write; made if it is not there."
)
