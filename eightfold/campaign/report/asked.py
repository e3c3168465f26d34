"""What a campaign was asked, as the commands that would ask it again."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eightfold.conformance.profile import PROFILES

_OPTIONS = {"suites": "--suite"}
"""Of fields that are not called as their options are."""

_FIRST = ("suite", "suites", "operators", "config")
"""Fields that come first; the others by name."""


def asked_commands(asked: Mapping[str, Any], folder: Path | None) -> list[str]:
    """Return ``eightfold campaign run`` with what ``campaign.json`` says was asked.

    An option's name is that of its field, with dashes. What is None, False or empty was not given;
    what is true is a flag; an option of several values is repeated. Whatever order somebody typed,
    the same question is the same text. A campaign that others were merged into has the command of
    each, without a folder. A run of somebody's implementation has ``eightfold conform run``.
    """
    if "merged" in asked:
        return [command for each in asked["merged"] for command in asked_commands(each, None)]
    if "adapter" in asked:
        return [shlex.join([*_conform_words(asked), *(["--out", str(folder)] if folder else [])])]
    words = ["eightfold", "campaign", "run"]
    names = [name for name in _FIRST if name in asked]
    for name in (*names, *sorted(set(asked) - set(names))):
        value = asked[name]
        words += _option(_OPTIONS.get(name, f"--{name.replace('_', '-')}"), value)
    return [shlex.join([*words, *(["--out", str(folder)] if folder else [])])]


def _conform_words(asked: Mapping[str, Any]) -> Iterator[str]:
    yield from ("eightfold", "conform", "run")
    options = {**asked, "claims": ",".join(asked.get("claims", ())), "profile": _profile(asked)}
    if asked["backend"] not in ("verilator", "icarus"):
        del options["backend"]  # it is the adapter's
    for name in ("adapter", "profile", "claims", "level", "seed", "backend"):
        yield from _option(f"--{name}", options.get(name))


def _profile(asked: Mapping[str, Any]) -> str:
    """Return the name of a profile that is built in; of another a name for its file."""
    table = json.dumps(asked.get("profile"))  # which has no tuples, as in the file
    found = (name for name, each in PROFILES.items() if json.dumps(each.as_dict()) == table)
    return next(found, "PROFILE.toml")


def seeds(asked: Mapping[str, Any]) -> list[int]:
    """Return the seed of the first case; of merged campaigns all of them."""
    if "merged" in asked:
        return sorted({seed for each in asked["merged"] for seed in seeds(each)})
    return [asked["seed"]] if "seed" in asked else []


def _option(name: str, value: Any) -> Iterator[str]:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    for each in value if several else [value]:
        if each is True:
            yield name
        elif each is not None and each is not False and each != "":
            yield from (name, str(each))
