"""What is chosen by a name or stated in a ``.toml`` file of the user's."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from eightfold.common.errors import InputError

T = TypeVar("T")


def named_or_file(
    option: str,
    noun: str,
    source: str | Path,
    known: Mapping[str, T],
    make: Callable[[Mapping[str, Any]], T],
) -> T:
    """Return what ``source`` names, or what a file of that name states.

    Parameters
    ----------
    option, noun
        What messages call it: the option that takes it, and one of ``known``.
    source
        A name of ``known``, or the path of a ``.toml`` file.
    make
        Makes it of the file's table; an InputError of it gets the file's path in front.

    Raises
    ------
    InputError
        If there is no such name or file, or the file is not valid.
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
