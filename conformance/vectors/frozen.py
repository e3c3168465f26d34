"""Sets of vectors that stay as they are, to be cited: ``eightfold vectors --set smoke@1.0``.

A set is the same bytes wherever it is written: the recipe in ``sets.json`` has its digest, and
what does not give it is not written. ``SHA256SUMS`` lists the SHA-256 of every file but itself and
``README.md``, as sha256sum does; its own SHA-256 is the digest. Words and tensors are plain, so
that a set needs nothing of this project to be asked and judged: ``README.md`` says how.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress, tell
from eightfold.conformance.profile import EVERY_UNIT, PROFILES, Profile
from eightfold.conformance.tensors import tensor_files
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.manifest import SPECS, checksums, described, filled
from eightfold.conformance.vectors.models import OperatorCase, model_cases
from eightfold.conformance.vectors.unit_files import hex_lines
from eightfold.conformance.verdict import KIT

SET = "set.json"
SUMS = "SHA256SUMS"
README = "README.md"
REASON = "reason.txt"
"""In the folder of a model to refuse: why."""

LICENCE = "Apache-2.0"
FORM = 1
"""Version of the files' format, in `SET`."""

RECIPES = "sets.json"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a set is drawn by, and what came of it: digest, cases, and bytes of all files.

    ``tag`` is of the release that writes it; empty while the set is in preparation, and may change.
    ``claims`` are all of the profile's, if none is given.
    """

    name: str
    profile: str
    level: Level
    seed: int
    tag: str
    sha256: str = ""
    cases: int = 0
    size: int = 0
    claims: tuple[str, ...] = ()

    @property
    def claimed(self) -> Profile:
        """The profile, with no other claims than the set has."""
        profile = PROFILES[self.profile]
        return profile.replace(claims=self.claims) if self.claims else profile


def recipes() -> dict[str, Recipe]:
    text = files("eightfold.conformance.vectors").joinpath(RECIPES).read_text(encoding="utf-8")
    return {name: Recipe(name=name, **facts) for name, facts in json.loads(text).items()}


def write_set(folder: Path, recipe: Recipe, on_progress: OnProgress | None = None) -> Recipe:
    """Write a set into a new folder, all of it or nothing; return the recipe with what came of it.
    Raises InputError if the folder has something or cannot be written, or the set is not the one
    that the recipe's digest is of."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty; name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".eightfold-", dir=folder.parent) as scratch:
            made = _write(Path(scratch) / "set", recipe, on_progress)
            if recipe.sha256 not in ("", made.sha256):
                instead = f"write it with release {recipe.tag} of Eightfold"
                if not recipe.tag:
                    instead = "it is in preparation: python -m lab.documents sets states it anew"
                raise InputError(
                    f"--set {recipe.name}: its digest is {recipe.sha256[:12]}, and what is drawn "
                    f"here has {made.sha256[:12]}; {instead}"
                )
            with suppress(FileNotFoundError):
                folder.rmdir()
            (Path(scratch) / "set").rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return made


def _write(folder: Path, recipe: Recipe, on_progress: OnProgress | None) -> Recipe:
    facts: dict[str, Any] = {
        "form": FORM,
        "set": recipe.name,
        "licence": LICENCE,
        "kit": KIT,
        "standard": SPECS[recipe.claimed.spec],
        "spec": recipe.claimed.spec,
        "reference": recipe.claimed.reference,
        "profile": recipe.profile,
        "level": recipe.level,
        "seed": recipe.seed,
        "units": {},
        "models": {},
    }
    sums: dict[str, str] = {}
    size = 0
    claims = recipe.claimed.claims
    for number, claim in enumerate((*claims, SET)):
        tell(on_progress, f"drawing {claim}", number, len(claims))
        for name, content in _files_of(claim, recipe, facts):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            sums |= checksums({name: content})
            size += len(content)
    listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode()
    cases = sum(unit["cases"] for unit in facts["units"].values()) + sum(facts["models"].values())
    digest = hashlib.sha256(listed).hexdigest()
    made = replace(recipe, sha256=digest, cases=cases, size=size + len(listed))
    (folder / SUMS).write_bytes(listed)
    (folder / README).write_bytes(_readme(made))
    return made


def _files_of(claim: str, recipe: Recipe, facts: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a claim, and add to the facts; of `SET` the facts themselves."""
    if claim == SET:
        yield SET, (json.dumps(facts, indent=1) + "\n").encode()
    elif claim in EVERY_UNIT:
        kind = UNIT_KINDS[claim]
        cases = unit_cases(claim, recipe.claimed, recipe.level, recipe.seed)
        facts["units"][claim] = {
            "cases": len(cases),
            "inputs": described(kind.inputs),
            "results": described(kind.results),
        }
        yield f"{claim}/cases.hex", hex_lines(kind.inputs, cases.inputs)
        yield f"{claim}/expected.hex", hex_lines(kind.results, cases.results)
        yield f"{claim}/kinds.txt", "".join(f"{each}\n" for each in cases.kinds.tolist()).encode()
    else:
        facts["models"][claim] = 0
        cases = model_cases(claim, recipe.claimed, recipe.level, recipe.seed)
        for number, case in enumerate(cases):
            facts["models"][claim] += 1
            for name, content in model_files(case).items():
                yield f"{claim}/{number:04}/{name}", content


def model_files(case: OperatorCase) -> Mapping[str, bytes]:
    """Return the files of a model: it, its inputs, and what is expected or why it is refused."""
    found = {"model.tflite": case.model}
    found |= {f"inputs/{name}": content for name, content in tensor_files(case.inputs).items()}
    if case.refusal:
        return found | {REASON: f"{case.refusal}\n".encode()}
    expected = tensor_files(dict(sorted(case.tensors.items())))
    return found | {f"expected/{name}": content for name, content in expected.items()}


def _readme(made: Recipe) -> bytes:
    facts = {
        **vars(made),
        "licence": LICENCE,
        "standard": SPECS[made.claimed.spec],
        "state": f"Written by release {made.tag}" if made.tag else "In preparation: it may change",
    }
    return filled("set.md.in", **facts)
