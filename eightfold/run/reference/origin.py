"""Which installed package the loaded files of a module are from, whatever else is installed."""

import base64
import contextlib
import hashlib
import os
import re
import sys
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

_MAPS = Path("/proc/self/maps")
"""Lists the shared libraries of this process, on Linux."""


def loaded_from(module: str) -> str:
    """Return name and version of the package that a loaded module is from.

    Packages may bring a module of the same name, as ``ai-edge-litert`` and
    ``ai-edge-litert-nightly`` do, and the last one installed lies over the others. So a package is
    known by its ``RECORD``: it must name every loaded file of the module, its shared libraries too,
    by the content that each has.

    Returns
    -------
    str
        Such as ``ai-edge-litert 2.3.0``. If the files are no package's as it was installed, the
        module's name with its ``__version__`` and the beginning of the files' SHA-256.
    """
    files = _loaded_files(module)
    for package in distributions():
        # All of a package's files are read only where it has such a module.
        if f"{module}/" in (package.read_text("RECORD") or "") and files <= _intact(package, files):
            name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
            return f"{name} {package.version}"
    version = getattr(sys.modules[module], "__version__", "of no known version")
    content = "".join(sorted(map(_digest, files)))
    return f"{module} {version}, SHA-256 {hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _loaded_files(module: str) -> set[str]:
    """Return the files of a module and all within it that this process has loaded."""
    names = [name for name in sys.modules if f"{name}.".startswith(f"{module}.")]
    found = {getattr(sys.modules[name], "__file__", None) for name in names}
    files = {os.path.realpath(file) for file in found if file}
    folders = tuple(f"{place}{os.sep}" for place in map(os.path.realpath, _folders(module)))
    with contextlib.suppress(OSError):
        mapped = (line.split(maxsplit=5) for line in _MAPS.read_text("utf-8").splitlines())
        files |= {words[5] for words in mapped if len(words) == 6 and words[5].startswith(folders)}
    return files


def _folders(module: str) -> list[str]:
    return list(getattr(sys.modules[module], "__path__", ()))


def _intact(package: Distribution, files: set[str]) -> set[str]:
    """Return those of some files that a package has brought, and that are as it brought them."""
    found = set()
    for file in package.files or ():
        path = os.path.realpath(str(package.locate_file(file)))
        if path in files and (file.hash is None or file.hash.value == _digest(path)):
            found.add(path)
    return found


@cache
def _digest(path: str) -> str:
    """Return the SHA-256 of a file as ``RECORD`` writes it."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
