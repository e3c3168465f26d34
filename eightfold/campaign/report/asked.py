"""What a campaign was asked, as the commands that would ask it again."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eightfold.campaign.suite import suites

_FIRST = ("suite", "suites", "operators", "config")
"""Fields that come first; the others by name."""


def asked_commands(asked: Mapping[str, Any], folder: Path | None) -> list[str]:
    """Return ``eightfold campaign run`` with what ``campaign.json`` says was asked.

    An option's name is that of its field, with dashes. What is None, False or empty was not given;
    what is true is a flag; an option of several values is repeated. Whatever order somebody typed,
    the same question is the same text. A campaign that others were merged into has the command of
    each, without a folder. A suite that another command begins has that one. The command of a
    campaign that was begun before suites were arguments is the one of then.
    """
    if "merged" in asked:
        return [command for each in asked["merged"] for command in asked_commands(each, None)]
    own = (words for suite in suites().values() if (words := suite.asked_by(asked)))
    words = next(own, None) or _campaign_words(asked)
    return [shlex.join([*words, *(["--out", str(folder)] if folder else [])])]


def _campaign_words(asked: Mapping[str, Any]) -> list[str]:
    words = ["eightfold", "campaign", "run"]
    options = dict(asked)
    if "cases" in asked:
        words += options.pop("suites")
        counts = options.pop("cases")
        several = [f"{suite}={count}" for suite, count in counts.items()]
        same = set(counts.values())
        words += _option("--cases", several if len(same) > 1 else list(same))
    elif "suites" in asked:
        options["suite"] = options.pop("suites")
    names = [name for name in _FIRST if name in options]
    for name in (*names, *sorted(set(options) - set(names))):
        words += _option(f"--{name.replace('_', '-')}", options[name])
    return words


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
