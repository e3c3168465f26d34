"""Sets of `eightfold.conformance.vectors.frozen`, read again: judged by what they carry.

Nothing is drawn, so that a set of another version of Eightfold is as good. What vouches for it is
its digest, which the statement names; of a set that this version knows it has to be the known one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile
from eightfold.conformance.results.unit_results import read_words
from eightfold.conformance.tensors import read_listed
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import Level, UnitCases, as_columns
from eightfold.conformance.vectors.frozen import FORM, README, REASON, SET, SUMS, recipes
from eightfold.conformance.vectors.manifest import checksums, described
from eightfold.conformance.vectors.operators import OperatorCase
from eightfold.operators import load_model

WHOLE = "get the set again, or write it with eightfold vectors --set"


@dataclass(frozen=True)
class FrozenSet:
    """A set whose files are those that its digest is of; how many cases each claim has."""

    folder: Path
    name: str
    digest: str
    profile: Profile
    level: Level
    seed: int
    units: Mapping[str, int]
    models: Mapping[str, int]

    @property
    def title(self) -> str:
        """What a statement says of it."""
        return f"vectors {self.name} (SHA-256 {self.digest[:12]})"


def load_set(folder: Path) -> FrozenSet:
    """Return a set, every file of it checked before any is understood.

    Raises
    ------
    InputError
        If a file is missing, more, or has changed; if the digest is not that of the set's name, or
        the set has what this version cannot judge.
    """
    digest = _checked(folder)
    path = folder / SET
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["form"] != FORM:
            raise InputError(f"{path}: form {facts['form']}, and this Eightfold reads {FORM}")
        name, level = str(facts["set"]), facts["level"]
        units = {unit: _count(each["cases"]) for unit, each in facts["units"].items()}
        models = {claim: _count(count) for claim, count in facts["models"].items()}
        if level not in get_args(Level) or not (units or models):
            raise ValueError(f"level {level!r}, {len(units)} units, {len(models)} kinds of models")
        profile = Profile(
            name=facts["profile"],
            spec=facts["spec"],
            reference=facts["reference"],
            claims=(*units, *models),
        )
        for unit, each in facts["units"].items():
            kind = UNIT_KINDS[unit]
            if _places(each["inputs"]) != _places(described(kind.inputs)) or (
                _places(each["results"]) != _places(described(kind.results))
            ):
                raise InputError(f"{path}: {unit} has other columns than this Eightfold judges")
        seed = _count(facts["seed"])
    except InputError as error:
        raise InputError(f"{error}; judge by the Eightfold that wrote it") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: is no set of vectors: {error!r}; {WHOLE}") from None
    known = recipes().get(name)
    if known is not None and known.sha256 not in ("", digest):
        raise InputError(
            f"{folder}: has digest {digest[:12]}, and that of {name} is {known.sha256[:12]}: it "
            f"was edited, or written while the set was in preparation; {WHOLE}"
        )
    return FrozenSet(folder, name, digest, profile, level, seed, units, models)


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no number of cases")
    return value


def _places(columns: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    keys = ("name", "bits", "signed", "length", "lsb")
    return [tuple(column[key] for key in keys) for column in columns]


def _checked(folder: Path) -> str:
    """Return the digest of a folder whose files are all that it lists."""
    try:
        listed = (folder / SUMS).read_bytes()
        lines = [line.split("  ", 1) for line in listed.decode().splitlines()]
        sums = {name: digest for digest, name in lines}
        there = {
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        }
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / SUMS}: no list of SHA-256: {error}; {WHOLE}") from None
    same = checksums({name: (folder / name).read_bytes() for name in sums.keys() & there})
    wrong = {
        "files are missing": sums.keys() - there,
        "are not listed": there - sums.keys() - {SUMS, README},
        "have changed": {name for name, digest in same.items() if digest != sums[name]},
    }
    if faults := [f"{len(them)} {it}, such as {min(them)}" for it, them in wrong.items() if them]:
        raise InputError(f"{folder}: not what {SUMS} lists: {'; '.join(faults)}; {WHOLE}")
    return hashlib.sha256(listed).hexdigest()


def frozen_unit(found: FrozenSet, unit: str) -> UnitCases:
    """Return the cases of a unit, with the results that the set expects.

    Raises
    ------
    InputError
        If a file has not as many cases as the set says.
    """
    kind, count = UNIT_KINDS[unit], found.units[unit]
    folder = found.folder / unit
    arrays = []
    for name, columns in (("cases.hex", kind.inputs), ("expected.hex", kind.results)):
        answers, _ = read_words(folder / name, columns, count)
        try:
            arrays.append(as_columns(columns, answers.results))
        except OverflowError:  # of what is missing
            raise InputError(f"{folder / name}: has not {count} cases; {WHOLE}") from None
    kinds = (folder / "kinds.txt").read_text(encoding="utf-8").splitlines()
    if len(kinds) != count:
        raise InputError(f"{folder / 'kinds.txt'}: has not {count} cases; {WHOLE}")
    return UnitCases(arrays[0], arrays[1], np.array(kinds), {})


def frozen_models(found: FrozenSet, claim: str) -> dict[str, OperatorCase]:
    """Return the models of a claim by their folders, with what the set expects of them.

    Raises
    ------
    InputError
        If a file is not as `eightfold.conformance.vectors.frozen` writes it, or this version takes
        no such model.
    """
    cases = {}
    for number in range(found.models[claim]):
        name = f"{claim}/{number:04}"
        try:
            cases[name] = _model(found.folder / name, claim)
        except (OSError, ValueError, TypeError, InputError) as error:
            raise InputError(
                f"{found.folder / name}: cannot be judged here: {error}; judge by the Eightfold "
                "that wrote it"
            ) from None
    return cases


def _model(folder: Path, claim: str) -> OperatorCase:
    model, reason = (folder / "model.tflite").read_bytes(), folder / REASON
    inputs = read_listed(folder / "inputs")
    if reason.exists():
        return OperatorCase(claim, model, inputs, {}, reason.read_text(encoding="utf-8").strip())
    expected = read_listed(folder / "expected")
    graph = load_model(model)
    computed = {index for operator in graph.operators for index in operator.outputs}
    if {*graph.inputs} != {*inputs} or computed != {*expected}:
        raise ValueError("inputs or expected tensors are not those of its model")
    return OperatorCase(claim, model, inputs, expected)
