"""The report of an error of Eightfold's own: what somebody needs to find it."""

import os
import platform
import re
import shlex
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path


def write_report(error: Exception) -> Path | None:
    """Write a report to a new file in the system's folder for temporary files.

    Where that cannot be written, the file is in the current folder.

    Returns
    -------
    Path or None
        The file; None if no folder can be written to.
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
    found = {}
    try:
        required = [re.split(r"[^\w.-]", line)[0] for line in requires("eightfold") or ()]
    except PackageNotFoundError:  # run from a folder of sources that was never installed
        required = []
    for name in ("eightfold", *required):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
