"""What a campaign was asked, as the command that would ask it again."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def asked_command(asked: Mapping[str, Any], folder: Path) -> str:
    """Return ``eightfold campaign run`` with the options that ``campaign.json`` has.

    An option's name is that of its field, with dashes. What is None, False or empty was not given;
    what is true is a flag; an option with several values is repeated.
    """
    words = ["eightfold", "campaign", "run"]
    for name, value in {**asked, "out": str(folder)}.items():
        words += _option(f"--{name.replace('_', '-')}", value)
    return shlex.join(words)


def _option(name: str, value: Any) -> Iterable[str]:
    if value is None or value is False or value == "" or value == [] or value == {}:
        return []
    if value is True:
        return [name]
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in (name, f"{key}={each}")]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for each in values for word in (name, str(each))]
