"""The files of the checkout that is tested."""

import subprocess

import pytest

from eightfold.common.files import IMPORT_ROOT


def tracked_files(*patterns: str) -> list[str]:
    """Return the paths that git tracks, of all or of those like ``patterns``; skip without git."""
    command = ["git", "ls-files", "-z", *patterns]
    done = subprocess.run(command, cwd=IMPORT_ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return done.stdout.split("\0")[:-1]
