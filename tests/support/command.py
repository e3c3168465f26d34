"""The command line in the process of a test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eightfold.common.program import one_line_errors

Call = Callable[..., tuple[int, str, str]]
"""Runs ``eightfold`` with arguments; returns status, standard output and standard error."""


def call_with(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return what runs ``eightfold``."""
    from eightfold.cli.main import commands  # loads most of the package

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            one_line_errors(commands, [str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, captured.out, captured.err

    return call


def saved(folder: Path, content: bytes, name: str = "model.tflite") -> Path:
    """Write a model into a folder; return its path."""
    path = folder / name
    path.write_bytes(content)
    return path


def printed(call: Call, *arguments: object) -> str:
    """Return the output of a command that ends well, with no word on standard error."""
    status, out, err = call(*arguments)
    assert (status, err) == (0, "")
    return out


def refusal(call: Call, *arguments: object) -> str:
    """Return the line by which a command refuses its arguments, with status 2 and nothing else."""
    status, out, err = call(*arguments)
    assert (status, out) == (2, ""), err
    assert err.startswith("eightfold: ")
    assert err.count("\n") == 1
    return err
