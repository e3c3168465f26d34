"""The files of a campaign: what was asked, the database, and a folder for each case that failed.

::

    DIR/campaign.json      what was asked, versions, commit, machine
    DIR/results.sqlite     units, cases, coverage: `eightfold.campaign.store`
    DIR/failures/CASE/     model.tflite, inputs.npz, expected.npz, got.npz, log.txt, repeat.txt
    DIR/answers/UNIT       what else units gave: results of somebody's implementation
"""

import hashlib
import json
import os
import platform
import shlex
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from eightfold.campaign.records import Case, Evidence, Unit
from eightfold.campaign.soundness import SCHEMA_VERSION, read_facts
from eightfold.campaign.store import Store
from eightfold.campaign.suite import adapter_of, suites
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT, file_state, npz_bytes, write_file
from eightfold.common.posix import locked
from eightfold.common.program import option_words


@dataclass(frozen=True)
class Folder:
    """The folder of a campaign."""

    path: Path

    @property
    def facts_file(self) -> Path:
        """What was asked, versions, commit, machine."""
        return self.path / "campaign.json"

    @property
    def database(self) -> Path:
        """Units and cases."""
        return self.path / "results.sqlite"

    @property
    def failures(self) -> Path:
        """Folders of cases."""
        return self.path / "failures"

    def create(
        self,
        asked: Mapping[str, Any],
        fill: Callable[[Store], None],
        known: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the folder of a campaign: its database, which ``fill`` fills, and what was asked.

        ``known`` are further facts, such as where outcomes come from
        (`eightfold.campaign.identity`). ``campaign.json`` comes last: a folder without it, left by
        whatever ended the program, is begun anew. Of two processes that begin in the same folder
        one does. Raises `InputError` if a campaign is there already, which can be resumed, or if
        the folder cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made: {error.strerror}") from None
        with self.alone():
            if self.facts_file.exists():
                raise InputError(
                    f"{self.path}: has a campaign; resume it by {self.resume_command()}, or name "
                    "another folder by --out"
                )
            for suffix in ("", "-wal", "-shm", "-journal"):
                self.database.with_name(self.database.name + suffix).unlink(missing_ok=True)
            with Store(self.database, writable=True) as store:
                fill(store)
            with Store(self.database) as store:
                plan = {"plan": store.plan_digest}
            self._write_facts({**_facts(asked), **plan, **(known or {})})

    def facts(self) -> dict[str, Any]:
        """Return the contents of ``campaign.json``.

        Raises `InputError` if there is none, it is not a campaign's, or the folder has links.
        """
        self._check_files()
        try:
            return read_facts(self.facts_file)
        except FileNotFoundError:
            raise InputError(
                f"{self.path}: no campaign; eightfold campaign run --out {self.path} begins one"
            ) from None

    def _check_files(self) -> None:
        """Raise `InputError` if a file is none: what is read or written must be in this folder."""
        ours = ("campaign.json", f"{self.database.name}*", "lock", "failures", "answers")
        waiting = [path for pattern in ours for path in self.path.glob(pattern)]
        for path in waiting:  # which grows
            try:
                kind = path.lstat().st_mode
                if folder := stat.S_ISDIR(kind) and path.parent in (self.path, self.failures):
                    waiting += path.iterdir()
            except FileNotFoundError:  # a campaign that runs has dropped it
                continue
            if not (folder or stat.S_ISREG(kind)):
                raise InputError(
                    f"{path}: is no file of a campaign, but a link or the like; remove it"
                )

    def store(self, *, writable: bool = False) -> Store:
        """Open the database.

        Raises `InputError` if it is damaged or was changed, is not of what ``campaign.json`` says,
        or has units of no suite of ours.
        """
        facts = self.facts()
        store = Store(self.database, writable=writable)
        try:
            self._check_plan(facts, store)
        except BaseException:
            store.close()
            raise
        return store

    def _check_plan(self, facts: Mapping[str, Any], store: Store) -> None:
        if store.plan_digest != facts["plan"]:
            raise InputError(
                f"{self.path}: was changed: the units of {self.database.name} are not those that "
                "were planned"
            )
        for name in store.suites():
            if name not in suites():  # nothing can run its units again, so nobody can believe them
                raise InputError(
                    f"{self.path}: has units of {name[:80]!r}, which is no suite; those that are "
                    f"installed are {', '.join(suites())}"
                )
        for unit, digest in store.answers():
            path = self._answers(unit)
            if not path.exists() or _digest(path, file_state(path)) != digest:
                raise InputError(f"{path}: is missing, or is not what {unit.name} gave")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process runs this campaign.

        Raises `InputError` if one does, or the folder cannot be written.
        """
        path = self.path / "lock"
        with ExitStack() as held:
            try:
                held.enter_context(locked(path, wait=False))
            except BlockingIOError:
                raise InputError(f"{self.path}: another process runs this campaign") from None
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}") from None
            yield

    def keep_failure(self, unit: Unit, case: Case) -> None:
        """Write what is known of a case that did not pass."""
        name = unit.case_name(case.seed)
        folder = self.failures / name
        evidence = case.evidence or Evidence()
        if evidence.model is not None:
            write_file(folder / "model.tflite", evidence.model)
        for file, content in evidence.files.items():
            write_file(folder / file, content)
        for kind in ("inputs", "expected", "got"):
            if tensors := getattr(evidence, kind):
                arrays = {f"tensor_{index}": tensor for index, tensor in tensors.items()}
                write_file(folder / f"{kind}.npz", npz_bytes(arrays))
        write_file(folder / "log.txt", f"{case.message}\n\n{evidence.log}".rstrip() + "\n")
        write_file(folder / "repeat.txt", repeat_command(self.path, name, unit) + "\n")

    def drop_failure(self, unit: Unit, case: Case) -> bool:
        """Remove what was known of a case that had not passed before; return whether it had not."""
        folder = self.failures / unit.case_name(case.seed)
        if known := folder.exists():
            shutil.rmtree(folder)
        return known

    def note_again(self, known: Mapping[str, Any]) -> None:
        """Note in ``campaign.json`` that cases which had failed run again, and at which commit.

        ``known`` are facts that are others from now on.
        """
        facts = self.facts()
        self._write_facts({**facts, **known, "again": [*facts.get("again", ()), _commit()]})

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        write_file(self.facts_file, json.dumps(facts, indent=2) + "\n")

    def keep_answers(self, unit: Unit, content: bytes) -> None:
        """Write what else a unit gave."""
        write_file(self._answers(unit), content)

    def answers(self, unit: Unit) -> bytes | None:
        """Return what else a unit gave; None if it gave nothing."""
        path = self._answers(unit)
        return path.read_bytes() if path.exists() else None

    def _answers(self, unit: Unit) -> Path:
        return self.path / "answers" / unit.name

    def resume_command(self) -> str:
        """Return the command that runs what is left."""
        named = self.facts()["asked"].get("adapter", "")
        words = ["eightfold", "campaign", "resume", str(self.path)]
        return shlex.join([*words, *(["--adapter", named] if ":" in named else [])])

    def copy_files(self, other: "Folder") -> None:
        """Copy failures and answers to those of another campaign; its own stay."""
        for source in sorted((self.path / "answers").glob("*")):
            if not (target := other.path / "answers" / source.name).exists():
                write_file(target, source.read_bytes())
        for source in sorted(self.failures.glob("*")):
            target = other.failures / source.name
            if not target.exists():
                shutil.copytree(source, target)
                write_file(target / "repeat.txt", repeat_command(other.path, source.name) + "\n")


@cache
def _digest(path: Path, state: tuple[int, ...]) -> str:
    """Return the SHA-256 of a file, which a process reads once as long as it is in a state."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def repeat_command(folder: Path, case: str, unit: Unit | None = None) -> str:
    """Return the command that runs a case again; ``unit`` is its own, which may name an adapter."""
    adapter = adapter_of(unit) if unit else ""
    named = f" --adapter {shlex.quote(adapter)}" if adapter else ""
    return f"eightfold campaign repeat {shlex.quote(str(folder))} {case}{named}"


def commits(facts: Mapping[str, Any]) -> str:
    """Return the commit that began a campaign, and those at which failed cases ran again.

    ``facts``: as `Folder.facts` returns them.
    """
    wheel = "of an installed package"
    began = facts["commit"] or wheel
    again = [f"failed cases again at {commit or wheel}" for commit in facts.get("again", ())]
    return ", ".join([began, *again])


def _facts(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "asked": dict(asked),
        "created": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "versions": {},
        "identity": {},
        "commit": _commit(),
        "machine": {"platform": platform.platform(), "processors": os.cpu_count()},
    }


def _commit() -> str | None:
    """Return the commit of the checkout, with ``-dirty`` if it has changes; None of a wheel."""
    if not (IMPORT_ROOT / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(IMPORT_ROOT), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


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
        words += option_words({"cases": several if len(same) > 1 else list(same)})
    elif "suites" in asked:
        options["suite"] = options.pop("suites")
    names = [name for name in _FIRST if name in options]
    ordered = (*names, *sorted(set(options) - set(names)))
    return words + option_words({name: options[name] for name in ordered})


def seeds(asked: Mapping[str, Any]) -> list[int]:
    """Return the seed of the first case; of merged campaigns all of them."""
    if "merged" in asked:
        return sorted({seed for each in asked["merged"] for seed in seeds(each)})
    return [asked["seed"]] if "seed" in asked else []
