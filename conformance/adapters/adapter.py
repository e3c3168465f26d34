"""Adapters: what all of them are, something that answers cases; and how one is found by its name.

A name is ``mine.py:Mine``, or that of one that comes with the kit.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold.common.child import Closing, one_line
from eightfold.common.errors import InputError
from eightfold.common.program import Stopped
from eightfold.conformance.answers import Columns, ModelAnswer, UnitAnswers

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.build import Design


Inputs = Mapping[int, np.ndarray]
"""A model's inputs, by tensor index."""


class Adapter(Closing):
    """Something that answers cases; a context manager, which ends what it has started."""

    runtime: ClassVar[str | None] = None
    """A key of `eightfold.run.reference.runtimes.RUNTIMES`, of what asks one of these."""

    def close(self) -> None:
        """End what was started, if anything."""

    def designs(self) -> Sequence["Design"]:
        """Return what is simulated, so that it can be built before."""
        return ()

    def for_unit(self, unit: str, spec: str) -> "UnitAdapter | None":
        """Return what answers the cases of a unit of a spec; None if nothing here does."""
        return None

    def made_of(self) -> Iterable[Path]:
        """Return the files that it consists of, besides Python modules of its own folder.

        A run is of these files as they were when it began: see
        `eightfold.conformance.adapters.adapter.files_of`.

        Raises InputError if one does not exist.
        """
        return ()


class UnitAdapter(Adapter, ABC):
    """Answers the cases of one unit."""

    unit: str = "requantizer"
    """A name of `eightfold.conformance.units.registry.UNIT_KINDS`."""

    def for_unit(self, unit: str, spec: str) -> "UnitAdapter | None":
        return self if unit == self.unit else None

    @property
    def simulators(self) -> Sequence[str]:
        """The simulators that can have it, the one to take first."""
        return ("verilator", "icarus")

    def simulator_of(self, asked: str | None) -> str:
        """Return a simulator by the name that is asked for, or the first. Raises InputError if it
        is none of `simulators`."""
        if asked is not None and asked not in self.simulators:
            raise InputError(
                f"--backend {asked}: {type(self).__name__} is for {' or '.join(self.simulators)}"
            )
        return asked or self.simulators[0]

    @abstractmethod
    def answer(
        self, cases: Columns, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        """Return the answers to cases.

        ``cases``: by column of the unit's inputs, as `eightfold.conformance.units.unit.UnitCases`
        has them. ``simulator``: one of `simulators`. ``seed``: of pauses between cases. ``trace``:
        file for the waves.

        Raises InputError if the adapter, or what it names, is wrong: a file or a port that does not
        exist.
        """

    def paused(self, pauses: float) -> "UnitAdapter | None":
        """Return the same with ``pauses``, a probability, between cases; None if it has none."""
        return None

    def takes(self, cases: Columns) -> NDArray[np.bool_]:
        """Return which cases fit its ports, shape (cases,): all, where nothing is known of them."""
        return np.ones(len(next(iter(cases.values()))), bool)


class ModelRunner(Adapter, ABC):
    """Computes models."""

    simulator: Literal["verilator", "icarus"] | None = None
    """``verilator`` or ``icarus``, of what is a simulation."""

    @abstractmethod
    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        """Return what it makes of a ``.tflite`` file and its inputs by tensor index."""

    def answer_all(self, cases: Sequence[tuple[bytes, Inputs]]) -> list[ModelAnswer]:
        """Return the answers to many models and their inputs, in their order.

        One after the other; what computes many at once, such as a simulator, does it here.
        """
        return [self.answer(model, inputs) for model, inputs in cases]


BUILTIN = {
    "eightfold": "OnVerilator",
    "eightfold-icarus": "OnIcarus",
    "golden": "Golden",
    "litert": "LiteRT",
    "litert-optimized": "LiteRTOptimized",
    "openvino": "OpenVINO",
    "openvino-float": "OpenVINOFloat",
    "tflm": "TFLiteMicro",
    "tosa": "Tosa",
    "xnnpack": "XNNPACK",
}
"""Classes of `eightfold.conformance.adapters.builtin`, the adapters of the kit, by name."""


def load_adapter(name: str) -> Adapter:
    """Return an adapter by its name: a key of `BUILTIN`, or ``file.py:Class``.

    The file is imported under a name of its own, its folder on Python's path meanwhile.

    Raises InputError if there is no such file or class, the file cannot be imported, or the class
    is no adapter or cannot be made.
    """
    if name in BUILTIN:
        builtin = importlib.import_module("eightfold.conformance.adapters.builtin")
        return getattr(builtin, BUILTIN[name])()
    file, colon, kind = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise InputError(
            f"adapter {name!r}: name a class in a file, such as mine.py:Mine, or one of "
            f"{', '.join(BUILTIN)}"
        )
    found = adapter_class(file, kind)
    with somebodys_code(f"adapter {name}: cannot be made", file), _beside(Path(file)):
        return found()


@contextmanager
def somebodys_code(what: str, file: str) -> Iterator[None]:
    """Raise InputError, which begins with ``what``, for all that code of ``file`` raises, an exit
    too."""
    try:
        yield
    except (Stopped, InputError):
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{what}: {raised(error, file)}") from None


def files_of(name: str, adapter: Adapter) -> dict[str, str]:
    """Return the files that an adapter consists of: the SHA-256 of each by its whole path.

    These are its own file, the Python modules that are imported from the folder of that file,
    wherever the import stands, and what the adapter itself names: RTL with all that is included, an
    executable, other files. None of the adapter's own that comes with the kit.

    Raises InputError if a file does not exist, or cannot be read.
    """
    own = set[Path]() if name in BUILTIN else _modules(Path(name.rpartition(":")[0]).resolve())
    return {str(path): digest_of(path) for path in sorted({*own, *adapter.made_of()})}


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises InputError if it cannot be read, or is no regular file,
    which may never end."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: cannot be read: it is no file")
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _modules(path: Path) -> set[Path]:
    """Return a file and those in its folder that it imports, directly or not."""
    finder = ModuleFinder([str(path.parent)], excludes=["eightfold"])
    finder.run_script(str(path))
    found = [*finder.modules.values()]
    # An import by a computed name is seen where it has taken place.
    found += [module for name, module in [*sys.modules.items()] if not _OWN.match(name)]
    files = {Path(place).resolve() for each in found if (place := getattr(each, "__file__", None))}
    installed = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    beside = (each for each in files if each.is_relative_to(path.parent))
    return {path, *(each for each in beside if not any(map(each.is_relative_to, installed)))}


_OWN = re.compile(r"eightfold(\.|$)")


def adapter_class(file: str, name: str) -> type[Adapter]:
    """Return the class of an adapter in a file; raises as `load_adapter`."""
    path = Path(file)
    if not path.is_file():
        raise InputError(f"adapter {file}:{name}: no such file")
    module = imported(path)
    found = getattr(module, name, None)
    if isinstance(found, type) and issubclass(found, Adapter):
        if unwritten := sorted(getattr(found, "__abstractmethods__", ())):
            raise InputError(f"adapter {file}:{name}: {', '.join(unwritten)} is not written")
        return found
    what = "is no adapter" if hasattr(module, name) else "no such class"
    there = classes_of(module, Adapter)
    instead = f"; {path.name} has {', '.join(there)}" if there else ""
    raise InputError(f"adapter {file}:{name}: {what}{instead}")


def classes_of(module: ModuleType, kind: type) -> list[str]:
    """Return the names of the classes of a kind that a module defines itself."""
    classes = (each for each in vars(module).values() if isinstance(each, type))
    own = (each for each in classes if each.__module__ == module.__name__)
    return [each.__name__ for each in own if issubclass(each, kind)]


def _private(path: Path) -> str:
    """Return the name that a file is imported under, which no other module has."""
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    return f"eightfold_adapter_{digest[:16]}"


def imported(path: Path, what: str = "adapter") -> ModuleType:
    """Return the module of a file, under a name of its own; raises as `load_adapter`. ``what`` the
    file is, for messages."""
    name = _private(path)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{what} {path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _beside(path):
            spec.loader.exec_module(module)
    except (KeyboardInterrupt, Stopped):
        raise
    except BaseException as error:  # SystemExit too
        del sys.modules[name]
        raise InputError(f"{what} {path}: cannot be imported: {raised(error, str(path))}") from None
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let Python find the modules in a file's folder."""
    folder = str(path.resolve().parent)
    before = list(sys.path)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path[:] = before


def raised(error: BaseException, file: str) -> str:
    """Return an exception in one line, with the last line of ``file`` that it came through."""
    own = os.path.realpath(file)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if os.path.realpath(each.filename) == own]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    where = f"{Path(file).name}, line {lines[-1]}: " if lines else ""
    text = one_line(error.msg if isinstance(error, SyntaxError) else error)
    return f"{where}{type(error).__name__}" + (f": {text}" if text else "")
