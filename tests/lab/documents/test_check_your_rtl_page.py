"""The tutorial docs/check-your-rtl.md, followed literally among a stranger's packages."""

import doctest
import os
import re
import subprocess
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.documents.blocks import COMMAND, FILE
from tests.support.installation import Installation, build, install

PAGE = IMPORT_ROOT / "docs" / "check-your-rtl.md"
PROGRESS = re.compile(r"^[\d,]+ of [\d,]+, .*\n", re.MULTILINE)
"""A line a minute, where the machine is slow."""

SESSIONS = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_in_python_give_what_the_page_says() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted > 0 and failed == 0


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """What the page installs, in a folder with packages that have names of ours."""
    wheel = build("wheel", tmp_path_factory.mktemp("wheel"))
    made = install(wheel, tmp_path_factory.mktemp("installed"), {"campaign"})
    for name in ("conformance", "golden", "hw", "sim", "tests"):
        (made.cwd / name).mkdir()
        (made.cwd / name / "__init__.py").write_text(f'raise ImportError("a stranger\'s {name}")')
    return made


@pytest.mark.long  # tests/conformance has its commands
def test_the_tutorial_gives_what_the_page_says(stranger: Installation) -> None:
    text = PAGE.read_text(encoding="utf-8")
    files = dict(FILE.findall(text))
    assert set(files) == {"requant.v", "mine.toml", "mine.py", "runtime.py"}
    for name, content in files.items():
        (stranger.cwd / name).write_text(content, encoding="utf-8")
    commands = [found for session in SESSIONS.findall(text) for found in COMMAND.findall(session)]
    assert len(commands) == 7
    for command, expected in commands:
        if "xnnpack" in command:  # chooses its kernels by the processor
            continue
        check_command(command, expected, stranger.cwd, stranger.folder / "bin")


def check_command(command: str, expected: str, folder: Path, programs: Path) -> None:
    """Run a command of the shell; its output is what the page says, where it says no ``...``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert PROGRESS.sub("", done.stderr) == "", command
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not doctest.OutputChecker().check_output(expected, done.stdout, flags):
        assert done.stdout == expected, command
