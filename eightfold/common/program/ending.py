"""How a program ends: what went wrong as one line, and an exit status."""

import errno
import os
import signal
import sys
import traceback
import warnings
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.program.crash import write_report
from eightfold.common.program.streams import complain, guard_standard_output

STATUSES = (
    "Exit status: 0, all is well. 1, a comparison failed or was not made, check found a violation, "
    "or the hardware hung or broke a rule. 2, bad input, something unsupported, a tool that is "
    "missing or fails, a full disk. 3, an internal error; one line names the file with its report. "
    "130, interrupted."
)
"""What every program returns, for its help."""

_ENVIRONMENT = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EISDIR,
    errno.EMFILE,
    errno.ENAMETOOLONG,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
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


@dataclass
class _Settings:
    """What concerns the program as a whole, whatever its command."""

    debug: bool = False


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(_Settings).debug = True


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
    settings = _Settings()
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
        status = _complaint(error, settings.debug)
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
    complain(f"eightfold: {_one_line(text)}")
    return status


def _internal(error: Exception, debug: bool) -> int:
    """Report an error of our own, on standard error or in a file."""
    what = _one_line("".join(traceback.format_exception_only(error)))
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
    return f"eightfold: warning: {_one_line(str(message))}\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
