"""A copy of a checkout in which one file is mutated, and children that work in it."""

import compileall
import os
import py_compile
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

from eightfold.common.child import Closing, run_alone
from eightfold.common.errors import InputError
from eightfold.common.files import hash_of_files
from eightfold.common.posix import locked
from eightfold.sim.simulator.cache import make_private, writable_cache
from eightfold.sim.simulator.limits import VARIABLES, limited, ran_out
from eightfold.sim.simulator.toolchain import OPTIMISATION_VARIABLE
from lab.mutants.mutator import Mutant

COPIED = (
    *("eightfold", "conformance", "hw", "sim", "golden", "lab"),
    *("constraints", "tests", "pyproject.toml"),
)
"""What of a checkout hardware and tests are made of."""

WALL = 20
"""Times its CPU seconds that a child may take on the clock: it waits for something then."""

_SHARED = "verilator-runtime"
"""In the cache of builds: what is the same for every design, and takes longest to compile."""


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    ``status``: as `subprocess` has it. ``output``: what it has written to its streams. ``seconds``:
    CPU time of it and all its children.
    """

    status: int
    output: str
    seconds: float

    @property
    def hung(self) -> bool:
        """Whether its CPU time was over."""
        return ran_out(self.status)


class Scratch(Closing):
    """A copy of a checkout, with a cache of builds of its own.

    Nothing else on the machine uses its folder as long as it is open; a folder that a process left
    behind is used again. ``place``: where the folders are, one for each process; by default in the
    cache of builds. Raises InputError if others can write to one of these folders.
    """

    def __init__(self, root: Path, place: Path | None = None) -> None:
        place = place or writable_cache() / "mutants"
        make_private(place)
        self._held = ExitStack()
        folder = next(filter(self._take, (place / str(number) for number in count())))
        shutil.rmtree(folder, ignore_errors=True)
        self.tree, self._cache = folder / "tree", folder / "cache"
        shared = writable_cache() / _SHARED
        make_private(shared)
        for new in (folder, self._cache):
            new.mkdir(mode=0o700)
        (self._cache / _SHARED).symlink_to(shared)
        ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "node_modules")
        for name in COPIED:
            if (source := root / name).is_dir():
                shutil.copytree(source, self.tree / name, symlinks=True, ignore=ignored)
            elif source.exists():
                shutil.copy(source, self.tree / name)
        # Bytecode is matched by a hash of the source: by time and size a mutant may pass for its
        # original.
        checked = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.tree, quiet=2, invalidation_mode=checked)

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.tree.parent, ignore_errors=True)
        self._held.close()

    def _take(self, folder: Path) -> bool:
        """Return whether no other process has a folder, which is this one's then."""
        try:
            self._held.enter_context(locked(folder.with_suffix(".lock"), wait=False))
        except BlockingIOError:
            return False
        return True

    @cached_property
    def key(self) -> str:
        """A hash of all that is copied: of the hardware as it is, and its tests; not of what judges
        mutants, which no test of the hardware imports."""
        judges = self.tree / "lab" / "mutants"
        files = (
            path
            for path in self.tree.rglob("*")
            if path.suffix in (".py", ".v", ".toml") and path.is_file()
            if not path.is_relative_to(judges)
        )
        return hash_of_files(self.tree, files)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Within it the copy has the mutant in place of its file."""
        path = self.tree / mutant.path
        path.write_text(mutant.after, "utf-8")
        try:
            yield
        finally:
            path.write_text(mutant.before, "utf-8")

    @contextmanager
    def builds_dropped(self) -> Iterator[None]:
        """Remove in the end what has been built within it: no other mutant has the same."""
        before = set(self._builds())
        try:
            yield
        finally:
            for path in set(self._builds()) - before:
                shutil.rmtree(path, ignore_errors=True)

    def _builds(self) -> Iterator[Path]:
        kinds = (kind for kind in self._cache.iterdir() if not kind.is_symlink())
        return (build for kind in kinds for build in kind.iterdir() if build.is_dir())

    def python(self, arguments: Sequence[str], seconds: int) -> Ended:
        """Run Python in the copy; each of its processes may take so much CPU time."""
        before = _children_seconds()
        status, output = run_alone(
            limited([sys.executable, *arguments], seconds),
            WALL * seconds,
            cwd=self.tree,
            env=self._environment(seconds),
        )
        if status is None:
            raise TimeoutError(f"{arguments[-1]}: no end after {WALL * seconds} s")
        return Ended(status, output, _children_seconds() - before)

    def _environment(self, seconds: int) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return {
            **inherited,
            "PYTHONPATH": str(self.tree),
            "PYTHONDONTWRITEBYTECODE": "1",  # of a mutant
            "EIGHTFOLD_CACHE": str(self._cache),
            OPTIMISATION_VARIABLE: "0",
            VARIABLES["seconds"]: str(seconds),
        }


def _children_seconds() -> float:
    import resource  # not on Windows

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def checked_checkout(root: Path) -> Path:
    """Return a checkout's folder."""
    if not (root / "tests" / "hw").is_dir() or not (root / "hw").is_dir():
        raise InputError(
            f"{root}: has no tests of the hardware; suite mutants runs in a checkout of Eightfold"
        )
    return root
