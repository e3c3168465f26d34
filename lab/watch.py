"""Golden against what its references will be next: ``python -m lab.watch``.

The newest nightly of LiteRT and the newest TFLite Micro are fetched into a folder of their own,
which lies before what is installed when a campaign of all operators runs. Nothing else changes. The
same campaign against what is installed says how many models that refused.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from eightfold.campaign.folder import Folder
from eightfold.common.child import python_path, run_to_end
from eightfold.common.errors import InputError
from eightfold.run.reference.runtimes import RUNTIMES

NEWEST = {"litert": "ai-edge-litert-nightly", "tflm": "tflite-micro"}
"""The package whose newest version is compared with, by reference."""


@dataclass
class Found:
    """What a reference has shown.

    ``version``: name and version of the package that its processes had loaded. ``lacks``: operators
    that it does not have. ``ended``: by operator, how many models are ``equal``, ``refused`` and
    ``drifted``; ``first``: what the first that has drifted says. ``before``: what the installed
    version has shown of the same models.
    """

    version: str
    lacks: frozenset[str] = frozenset()
    ended: dict[str, Counter[str]] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    before: "Found | None" = None

    def lines(self) -> list[str]:
        """Return the finding in lines, what has drifted last."""
        total = sum(self.ended.values(), Counter())
        of = f"{len(self.ended)} operator{'s' * (len(self.ended) != 1)}"
        compared = total["equal"] + total["drifted"]
        head = f"{self.version}: {total['equal']:,} of {compared:,} models of {of} are equal"
        refused = (f"{name} {n['refused']}" for name, n in self.ended.items() if n["refused"])
        listed = ", ".join(refused)
        return [head + (f"; refused: {listed}" if listed else ""), *self._drifts()]

    def _drifts(self) -> Iterator[str]:
        for name, count in self.ended.items():
            refused = count["refused"]
            if count["drifted"]:
                of = count["equal"] + count["drifted"]
                yield f"  {name}: {count['drifted']} of {of} have drifted, first {self.first[name]}"
            elif not count["equal"] and name not in self.lacks:
                yield f"  {name}: all {refused} models are refused"
            elif self.before and refused > (known := self.before.ended[name]["refused"]):
                yield f"  {name}: refused {refused}, {known} by {self.before.version}"

    @property
    def drifted(self) -> bool:
        """Whether a model has drifted, or more are refused than before."""
        return any(self._drifts())


def fetch(folder: Path) -> None:
    """Put the newest packages into a new folder."""
    # What they need is there already: of the versions that they replace.
    words = ["install", "--pre", "--no-deps", "--target", str(folder), "--retries", "1", "--quiet"]
    options = [*words, "--disable-pip-version-check", *NEWEST.values()]
    done = run_to_end([sys.executable, "-m", "pip", *options])
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = said[-1].removeprefix("ERROR: ") if said else "pip failed"
        raise InputError(f"{' and '.join(NEWEST.values())}: cannot be fetched: {reason}")


def compare(reference: str, packages: Path | None, out: Path, options: Sequence[str]) -> Found:
    """Run a campaign of operators against a reference.

    ``packages``: a folder that lies before what is installed; None: what is installed is meant.
    ``out``: folder of the campaign, a new one. ``options``: further ones of ``eightfold campaign
    run``. Raises InputError if it does not run to its end, or another package was loaded.
    """
    first = [packages.resolve()] if packages else []
    words = ["campaign", "run", "operators", "--reference", reference]
    done = subprocess.run(
        [sys.executable, "-m", "eightfold.cli.main", *words, "--out", str(out), *options],
        env={**os.environ, "PYTHONPATH": python_path(*first)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode not in (0, 1):
        name = NEWEST[reference] if packages else RUNTIMES[reference].title
        raise InputError(f"the campaign against {name} did not run")
    found = found_in(Folder(out), reference)
    if packages and not found.version.startswith(f"{NEWEST[reference]} "):
        raise InputError(f"{found.version} was loaded in place of {NEWEST[reference]}")
    return found


def found_in(folder: Folder, reference: str) -> Found:
    """Return what a campaign of operators has shown."""
    runtime = RUNTIMES[reference]
    found = Found(folder.facts()["identity"][runtime.title], runtime.lacks)
    with folder.store() as results:
        if results.left():
            raise InputError(f"{folder.path}: some cases have not run")
        for (_, operator, _, verdict), count in sorted(results.counts().items()):
            kind = {"passed": "equal", "refused": "refused"}.get(verdict, "drifted")
            found.ended.setdefault(operator, Counter())[kind] += count
        for row in results.rows("failed", "error"):
            found.first.setdefault(row.operator, f"{row.seed}: {row.message}")
    return found


def watch(folder: Path, options: Mapping[str, int | str | None]) -> bool:
    """Fetch, compare, and say what was found; return whether anything has drifted.

    All is done in a new folder within ``folder``, which stays, without the packages, if something
    has drifted: it has the cases.
    """
    words = [word for name, value in options.items() if value for word in (f"--{name}", str(value))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private = Path(tempfile.mkdtemp(prefix="watch-", dir=folder))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    packages = private / "packages"
    drifted = False
    try:
        fetch(packages)
        for reference in NEWEST:
            found = compare(reference, packages, private / reference, words)
            found.before = compare(reference, None, private / f"{reference}-installed", words)
            click.echo("\n".join(found.lines()))
            drifted |= found.drifted
    finally:
        shutil.rmtree(packages if drifted else private, ignore_errors=True)
    if drifted:
        click.echo(f"The cases are in {private}.")
    return drifted


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--operators", metavar="NAMES", help="Only these, as of eightfold campaign run.")
@click.option("--cases", type=click.IntRange(min=1), default=30, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(min=1), help="As of eightfold campaign run.")
def main(folder: Path, **options: int | str | None) -> None:
    """End with status 1 if something has drifted, 2 if it cannot be known."""
    try:
        drifted = watch(folder, options)
    except InputError as error:
        click.echo(f"watch: {error}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(drifted)


if __name__ == "__main__":
    main()
