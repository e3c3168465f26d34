"""Tutorials, followed as they stand: docs/add-an-operator.md and docs/check-your-rtl.md."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.documents.blocks import COMMAND, FILE
from tests.support.checkout import tracked_files
from tests.support.installation import Installation, build, install

PAGE = IMPORT_ROOT / "docs" / "add-an-operator.md"
TEXT = PAGE.read_text(encoding="utf-8")

CHANGES = {
    re.findall(r"^\+\+\+ b/(.*)$", change, re.MULTILINE)[0]: change
    for change in re.findall(r"^```diff\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
}
"""The page's unified diffs by the file that each changes, in the order of work."""

GOLDEN, RECORD = "golden/unary.py", "eightfold/operators/elementwise.py"
"""What comes first: without it nothing else of ABS is missing."""

NAMED = {
    "docs/numerics.md": "docs/numerics.md has nothing for ABS",
    "eightfold/cases/elementwise.py": "eightfold/cases has nothing for ABS",
    "eightfold/compiler/lower/pointwise.py": "compiler/lower/lowering.py has nothing for ABS",
    "lab/coverage/computing.py": "lab/coverage has nothing for ABS",
    "examples/operators.py": "examples/operators.py has nothing for ABS",
    "lab/measure/series.py": "lab/measure/series.py has nothing for ABS",
    "tests/golden/test_mutations.py": "tests/golden/test_mutations.py has nothing for ABS",
    "eightfold/cli/operators.json": "by python -m lab.measure has nothing for ABS",
}
"""What is said until the change of a file is there; of the mutation, once there is a series."""

ASK = """
from tests.lab.test_catalogue import PLACES, missing, test_the_readme_counts_them
print(*filter(None, map(missing, PLACES)), sep="\\n")
test_the_readme_counts_them()
"""


def test_the_table_names_the_files_that_change() -> None:
    rows = re.findall(r"^\| [\w ]+ \| (`.*?`) \| .* \|$", TEXT, re.MULTILINE)
    files = re.findall(r"`(.*?)`", " ".join(rows))
    assert sorted(files) == sorted({*CHANGES, "README.md"})
    assert CHANGES.keys() == {GOLDEN, RECORD, *NAMED}
    tests = [file for file in files if file.startswith("tests/")]
    code = [file for file in files if file.endswith((".py", ".json")) and file not in tests]
    assert len(code) <= 8
    assert len(tests) <= 2


def apply(file: str, root: Path, *options: str) -> None:
    """Apply the change of a file, with options of ``git apply``."""
    done = subprocess.run(
        ["git", "apply", *options, "-"],
        input=CHANGES[file],
        cwd=root,
        capture_output=True,
        text=True,
    )
    block = f"block {[*CHANGES].index(file) + 1} of docs/add-an-operator.md, the change of {file}"
    assert done.returncode == 0, f"{block}, does not apply any more:\n{done.stderr}"


@pytest.mark.parametrize("file", CHANGES)
def test_a_change_can_be_taken_out(file: str) -> None:
    apply(file, IMPORT_ROOT, "--check", "--reverse")


def test_a_change_that_does_not_apply_is_named(tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / GOLDEN).write_text('"""Another module."""\n')
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    message = "block 2 of docs/add-an-operator.md, the change of golden/unary.py, does not apply"
    with pytest.raises(AssertionError, match=message):
        apply(GOLDEN, tmp_path)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the checkout from which the page's command has taken its changes."""
    root = tmp_path / "copy"
    for name in tracked_files():
        source = IMPORT_ROOT / name
        if os.path.lexists(source):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, root / name, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    (command,) = re.findall(r"^sed .* \| git apply --reverse$", TEXT, re.MULTILINE)
    subprocess.run(["sh", "-c", command], cwd=root, check=True)
    return root


def run(root: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with the modules of a checkout."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd or root,
        env=environment | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_model_runs_as_the_page_shows(tmp_path: Path) -> None:
    ((name, script),) = FILE.findall(TEXT)
    (tmp_path / name).write_text(script, encoding="utf-8")
    assert run(IMPORT_ROOT, name, cwd=tmp_path).returncode == 0
    command = ("-m", "eightfold.cli.main", "run", "abs.tflite", "--compare")
    done = run(IMPORT_ROOT, *command, cwd=tmp_path)
    shown = re.findall(r"^```text\n\$ .*\n((?:.*\n)*?)```$", TEXT, re.MULTILINE)
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown[0].splitlines(), (
        done.stderr
    )


@pytest.mark.slow
@pytest.mark.long
def test_what_is_missing_is_named_until_it_is_there(copy: Path) -> None:
    done = run(copy, "-c", ASK)
    assert "for ABS" not in done.stdout
    assert "README.md does not say" in done.stderr, "it counts ABS, which is not there"
    apply(GOLDEN, copy)
    apply(RECORD, copy)
    waiting = [*NAMED]
    while waiting:
        said = run(copy, "-c", ASK).stdout
        named = [file for file, words in NAMED.items() if words in said]
        without_series = "lab/measure/series.py" in waiting
        assert named == [file for file in waiting if not (without_series and "mutation" in file)]
        apply(waiting.pop(0), copy)
    done = run(copy, "-c", ASK)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
    for file in CHANGES:
        assert (copy / file).read_bytes() == (IMPORT_ROOT / file).read_bytes()


RTL_PAGE = IMPORT_ROOT / "docs" / "check-your-rtl.md"
PROGRESS = re.compile(r"^[\d,]+ of [\d,]+, .*\n", re.MULTILINE)
"""A line a minute, where the machine is slow."""

SESSIONS = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_in_python_give_what_the_page_says() -> None:
    failed, attempted = doctest.testfile(str(RTL_PAGE), module_relative=False, encoding="utf-8")
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
    text = RTL_PAGE.read_text(encoding="utf-8")
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
