"""Judge the units and runtimes of ``recipe.toml``, and keep what is found in ``results.json``.

A unit whose files DIR has not, or has otherwise, keeps the result that it has. ``python -m
lab.documents`` makes the tables.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from eightfold.common.child import run_to_end
from eightfold.common.extras import installed_versions
from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from eightfold.conformance.adapters.adapter import load_adapter
from eightfold.conformance.identify import profile_text
from eightfold.conformance.profile import Profile
from lab.others import HERE, RESULTS, read_results, units


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.argument("names", nargs=-1, metavar="[ADAPTER]...")
@click.option("--sources", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--level", type=click.Choice(["smoke", "standard", "full"]), default="standard")
def main(names: tuple[str, ...], sources: Path | None, level: str) -> None:
    """Judge those whose adapters are named, or all; say of each what came of it."""
    known = {unit["adapter"]: unit for unit in units()}
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"no adapter {unknown[0]}; use {', '.join(known)}")
    failed = False
    for unit in (known[name] for name in names or known):
        found = why_not(unit, sources) or judged(unit, "", sources, level)
        if isinstance(found, dict) and unit["contract"]:
            held = judged(unit, unit["contract"], sources, level)
            found = held if isinstance(held, str) else {**found, "contract": held["standing"]}
        if isinstance(found, dict):
            results = {**read_results(), unit["name"]: found}
            write_file(RESULTS, json.dumps(dict(sorted(results.items())), indent=1) + "\n")
        failed |= isinstance(found, str)
        said = f"not judged: {found}" if isinstance(found, str) else found["line"]
        click.echo(f"{unit['name']}: {said}")
    sys.exit(1 if failed else 0)


def why_not(unit: Mapping[str, Any], sources: Path | None) -> str:
    """Return why a unit's files cannot be judged; nothing if they are those of its commit."""
    for name, digest in unit["files"].items():
        if sources is None:
            return f"name the folder that has {unit['repository']}/{name}, with --sources"
        path = sources / unit["repository"] / name
        if not path.is_file():
            return f"{path}: no such file; it is in {unit['repository']} at {unit['commit']}"
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return f"{path}: is not the file of {unit['commit']}"
    return ""


def judged(
    unit: Mapping[str, Any], contract: str, sources: Path | None, level: str
) -> dict[str, Any] | str:
    """Return what ``conform run`` finds, as the tables need it; a text if it cannot be run."""
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        profile, report = Path(name) / "profile.toml", Path(name) / "found.json"
        if unit["rtl"]:
            profile.write_text(profile_text(profile_of(unit, contract)), encoding="utf-8")
        adapter = f"{HERE / 'adapters.py'}:{unit['adapter']}" if unit["rtl"] else unit["adapter"]
        claimed = str(profile) if unit["rtl"] else unit["profile"]
        options = ("--profile", claimed, "--level", level, "--workers", "1", "--json", str(report))
        words = ["eightfold.cli.main", "conform", "run", "--adapter", adapter, *options]
        environment = {**os.environ, "EIGHTFOLD_SOURCES": str(Path(sources or name).resolve())}
        done = run_to_end([sys.executable, "-m", *words], env=environment)
        if done.returncode not in (0, 1):
            return done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        own = () if unit["rtl"] else getattr(load_adapter(unit["adapter"]), "packages", ())
        found = json.loads(report.read_text(encoding="utf-8"))
        return summary(found, unit["show"], installed_versions(own))


def profile_of(unit: Mapping[str, Any], contract: str) -> Profile:
    """Return the profile of a unit in RTL."""
    fields = {"name": unit["name"], "claims": [unit["rtl"].get("unit", "requantizer")]}
    fields |= {"contract": contract} if contract else {}
    return Profile.from_dict({**fields, "limits": unit["profile"]})


def summary(
    found: Mapping[str, Any], show: list[str], packages: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the tables need of a statement as JSON, with the smallest cases of ``show`` and
    the versions of what only this adapter asks."""
    claims = {
        each["claim"]: {
            "counts": {k: v for k, v in each["finding"]["counts"].items() if v},
            "mistakes": each["finding"]["mistakes"],
            **({"smallest": each["finding"]["smallest"]} if each["claim"] in show else {}),
        }
        for each in found["claims"]
        if each["finding"] is not None
    }
    kept = {name: found[name] for name in ("kit", "level", "line", "standing")}
    kept["commit"] = found["facts"]["Commit of Eightfold"]
    own = [f"{name} {version}" for name, version in packages.items()]
    kept["version"] = ", ".join([found["facts"]["Versions"], *own])
    return {"date": f"{datetime.now(UTC):%Y-%m-%d}", **kept, "claims": claims}


if __name__ == "__main__":
    one_line_errors(main)
