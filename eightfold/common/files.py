"""Files that a user named, written or read as TOML, and where and which Eightfold is."""

import hashlib
import io
import os
import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError

IMPORT_ROOT = Path(__file__).resolve().parents[2]
"""The folder that `eightfold` is imported from; in a checkout its root."""

NETWORKS = IMPORT_ROOT / "eightfold" / "networks"
"""The networks that come with Eightfold, ``.tflite`` files."""


@cache
def source_key() -> str:
    """Return a hash of Eightfold's own sources, of which two installations with the same compute
    the same."""
    package = IMPORT_ROOT / "eightfold"
    folders = [
        package,
        *(package / name for name in ("boards", "conformance", "golden", "hw", "sim")),
    ]
    kinds = ("*.py", "*.v")
    files = (path for folder in folders for kind in kinds for path in folder.rglob(kind))
    return hash_of_files(package, files)


def hash_of_files(root: Path, files: Iterable[Path]) -> str:
    """Return a hash of files within a folder: of their paths from there, and what they have."""
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def file_state(path: Path) -> tuple[int, int, int]:
    """Return the number, size and time of change of a file: others once it has been written to."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_ctime_ns


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file.

    Raises `InputError` if it cannot be read: it is not there, is cut, or holds Python objects.
    """
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                raise InputError(f"{path}: cannot be read as .npz, which numpy.savez writes")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return dict(archive)
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or error
    except Exception as error:  # a damaged archive raises whatever zipfile, zlib or numpy likes
        reason = error
    raise InputError(f"{path}: cannot be read as .npz: {reason}; see whether the file was cut")


def npz_bytes(arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False) -> bytes:
    """Return the content of an ``.npz`` file with these arrays."""
    # Not with ``allow_pickle``, which numpy 2.1 takes for the name of an array.
    save: Callable[..., None] = np.savez_compressed if compressed else np.savez
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


Content = str | bytes | Callable[[IO[bytes]], object]
"""A file's content: text, which is written as UTF-8, bytes, or a function that writes to it."""


def write_file(path: Path, content: Content) -> None:
    """Write one file; see `write_files`."""
    write_files({path: content})


def distinct_paths(inputs: Mapping[str, Path | None], outputs: Mapping[str, Path | None]) -> None:
    """Raise `InputError` if writing an output would replace an input, or an output before it.

    By the option or argument that names them; None, ``-``, devices and pipes replace nothing.
    """
    seen = {os.path.realpath(path): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None or str(path) == "-" or (path.exists() and not path.is_file()):
            continue
        other = seen.setdefault(os.path.realpath(path), name)
        if other != name:
            raise InputError(f"{name} {path}: would overwrite {other}; name another file")


def write_files(contents: Mapping[Path, Content]) -> None:
    """Write files that belong together: all of them, or none.

    Each is written under another name beside its place, and they take their places when all are
    complete: what was there is not lost to a full disk or an interrupt. A device or a pipe is
    written to as it is. Folders are made. Raises `InputError` if a file cannot be written; a full
    disk or a wrong path is the user's to hear about.
    """
    written: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                with path.open("wb") as file:
                    _write(file, content)
                continue
            beside = path.resolve().with_name(f".eightfold-{secrets.token_hex(8)}")
            written[path] = beside
            with beside.open("xb") as file:
                _write(file, content)
            if path.exists():
                shutil.copymode(path, beside)
        for path, beside in written.items():
            beside.replace(path.resolve())
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be written: {reason}") from None
    finally:
        for beside in written.values():
            with suppress(OSError):
                beside.unlink()


def _write(file: IO[bytes], content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)


T = TypeVar("T")


def named_or_file(
    option: str,
    noun: str,
    source: str | Path,
    known: Mapping[str, T],
    make: Callable[[Mapping[str, Any]], T],
) -> T:
    """Return what ``source`` names, or what a file of that name states.

    Raises `InputError` if there is no such name or file, or the file is not valid.

    ``option``, ``noun``: what messages call it: the option that takes it, and one of ``known``;
    ``source``: a name of ``known``, or the path of a ``.toml`` file; ``make``: makes it of the
    file's table; an InputError of it gets the file's path in front.
    """
    if str(source) in known:
        return known[str(source)]
    path = Path(source)
    if path.suffix != ".toml":
        raise InputError(
            f"{option} {source!s}: no such {noun}; use one of {', '.join(known)}, or a .toml file"
        )
    try:
        return make(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}; name a readable file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{option} {path}: not valid TOML: {error}") from None
    except InputError as error:
        raise InputError(f"{option} {path}: {error}") from None
