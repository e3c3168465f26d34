"""The checkout as a wheel in a virtual environment of its own, without a network."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.simulator.cache import cache_directory


def build(target: str, folder: Path, source: Path = IMPORT_ROOT) -> Path:
    """Build ``wheel`` or ``sdist`` of a folder of sources and return the file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run([*command, "--directory", str(folder)], cwd=source, check=True)
    (made,) = folder.iterdir()
    return made


@dataclass(frozen=True)
class Installation:
    """A virtual environment, and the folder in which its commands run."""

    folder: Path
    cwd: Path
    first: Path | None = None
    """Put before everything else on the import path of each program."""

    @property
    def packages(self) -> Path:
        """Return the folder of the installed packages."""
        (found,) = (self.folder / "lib").glob("python*/site-packages")
        return found

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment's ``bin``."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # A simulator is kept by the content of what it is made of, wherever that is installed.
        environment["EIGHTFOLD_CACHE"] = str(cache_directory())
        if self.first is not None:
            environment["PYTHONPATH"] = str(self.first)
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=self.cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


def install(wheel: Path, folder: Path, extras: set[str], first: Path | None = None) -> Installation:
    """Install a wheel with some of its extras.

    What it requires is not downloaded: the packages of the running environment are linked to, those
    that the wheel's metadata ask for and no others.
    """
    cwd = folder / "elsewhere"
    cwd.mkdir(parents=True)
    venv.create(folder / "venv", with_pip=False)
    made = Installation(folder / "venv", cwd, first)
    pip = [sys.executable, "-m", "pip", "--python", str(made.folder / "bin" / "python")]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True)
    (installed,) = Distribution.discover(name="eightfold", path=[str(made.packages)])
    for package in _required(installed, frozenset(extras), {}).values():
        _link(package, made.packages)
    return made


def _required(
    package: Distribution, extras: frozenset[str], found: dict[str, Distribution]
) -> dict[str, Distribution]:
    """Add all that a package requires to ``found``, by its normalized name."""
    for line in package.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in found:
            found[name] = distribution(name)
            _required(found[name], frozenset(requirement.extras), found)
    return found


def _link(package: Distribution, folder: Path) -> None:
    """Link to what a package has put beside the others; its programs are left out."""
    for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        (folder / name).symlink_to(Path(str(package.locate_file(name))))
