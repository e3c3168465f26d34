"""Adapters by name: ``mine.py:Mine``, or one that comes with the kit."""

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType

from eightfold.common.child import one_line
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import Adapter

_HERE = "eightfold.conformance.adapters.builtin"

BUILTIN: dict[str, tuple[str, str]] = {
    "eightfold": (_HERE, "OnVerilator"),
    "eightfold-icarus": (_HERE, "OnIcarus"),
    "golden": (_HERE, "Golden"),
    "litert": (_HERE, "LiteRT"),
    "litert-optimized": (_HERE, "LiteRTOptimized"),
    "openvino": (_HERE, "OpenVINO"),
    "openvino-float": (_HERE, "OpenVINOFloat"),
    "tflm": (_HERE, "TFLiteMicro"),
    "tosa": (_HERE, "Tosa"),
    "xnnpack": (_HERE, "XNNPACK"),
}
"""Module and class of the adapters that come with the kit, by name."""


def load_adapter(name: str) -> Adapter:
    """Return an adapter by its name: a key of `BUILTIN`, or ``file.py:Class``.

    The file is imported under a name of its own, its folder on Python's path meanwhile.

    Raises InputError if there is no such file or class, the file cannot be imported, or the class
    is no adapter or cannot be made.
    """
    if name in BUILTIN:
        module, kind = BUILTIN[name]
        return getattr(importlib.import_module(module), kind)()
    file, colon, kind = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise InputError(
            f"adapter {name!r}: name a class in a file, such as mine.py:Mine, or one of "
            f"{', '.join(BUILTIN)}"
        )
    found = adapter_class(file, kind)
    try:
        with _beside(Path(file)):
            return found()
    except Exception as error:
        raise InputError(f"adapter {name}: cannot be made: {raised(error, file)}") from None


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
    return {path, *(each for each in files if _is_beside(each, path.parent))}


_OWN = re.compile(r"eightfold(\.|$)")


def _is_beside(file: Path, folder: Path) -> bool:
    installed = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    return file.is_relative_to(folder) and not any(map(file.is_relative_to, installed))


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
    there = [
        each
        for each, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Adapter)
        and value.__module__ == _private(path)
    ]
    instead = f"; {path.name} has {', '.join(there)}" if there else ""
    raise InputError(f"adapter {file}:{name}: {what}{instead}")


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
    except KeyboardInterrupt:
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
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.realpath(frame.filename) == os.path.realpath(file)
    ]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    where = f"{Path(file).name}, line {lines[-1]}: " if lines else ""
    text = one_line(error.msg if isinstance(error, SyntaxError) else error)
    return f"{where}{type(error).__name__}" + (f": {text}" if text else "")
