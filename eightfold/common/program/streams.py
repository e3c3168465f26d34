"""Standard output that can be closed, full, or read by a program that has seen enough."""

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from eightfold.common.errors import InputError

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

        Raises
        ------
        SystemExit
            If a pipe's reader has gone, with the status of a program that SIGPIPE ended.
        InputError
            If the output cannot be written.
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
