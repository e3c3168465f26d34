"""The statement on a folder of results, held against the vectors that they were made from.

Each model has a folder: ``results.npz`` with ``tensor_<index>``, or ``output_<place>`` of the
model's outputs; or files of `eightfold.conformance.tensors`; or one of ``refused.txt``,
``crashed.txt`` and ``timeout.txt``, whose first line says why there are no tensors.

Sets of `eightfold.conformance.vectors.frozen` are judged by what they carry: nothing is drawn, so
that a set of another version of Eightfold is as good. What vouches for it is its digest, which the
statement names; of a set that this version knows it has to be the known one.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays
from eightfold.conformance.answers import Ending, ModelAnswer
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.profile import ASPECTS, EVERY_UNIT, NETWORKS, OPERATORS, Profile, parted
from eightfold.conformance.results.unit_results import (
    copied_manifest,
    identified_answers,
    read_answers,
    read_words,
)
from eightfold.conformance.results.vectors import (
    OF_MODELS,
    Draw,
    Vectors,
    check_models,
    load_vectors,
    model_cases_of,
    model_digests,
    unit_cases_of,
)
from eightfold.conformance.tensors import read_known, read_listed
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import Level, UnitCases, as_columns
from eightfold.conformance.vectors.frozen import FORM, README, REASON, SET, SUMS, recipes
from eightfold.conformance.vectors.manifest import NAME, checksums, described
from eightfold.conformance.vectors.models import OperatorCase
from eightfold.conformance.verdict import ClaimFinding, Judged, Statement
from eightfold.model import read_model
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
        return f"vectors {self.name} (SHA-256 {self.digest[:12]})"


def load_set(folder: Path) -> FrozenSet:
    """Return a set, every file of it checked before any is understood. Raises InputError if a file
    is missing, more, or has changed; if the digest is not that of the set's name, or the set has
    what this version cannot judge."""
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
        stated = {name: facts[name] for name in ("spec", "reference")}
        profile = Profile(name=facts["profile"], claims=(*units, *models), **stated)
        for unit, each in facts["units"].items():
            kind = UNIT_KINDS[unit]
            theirs = [_places(each[part]) for part in ("inputs", "results")]
            if theirs != [_places(described(part)) for part in (kind.inputs, kind.results)]:
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
        files = (path for path in folder.rglob("*") if path.is_file())
        there = {path.relative_to(folder).as_posix() for path in files}
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
    """Return the cases of a unit, with the results that the set expects. Raises InputError if a
    file has not as many cases as the set says."""
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
    """Return the models of a claim by their folders, with what the set expects of them. Raises
    InputError if a file is not as `eightfold.conformance.vectors.frozen` writes it, or this version
    takes no such model."""
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


ENDINGS: tuple[Ending, ...] = ("refused", "crashed", "timeout")
"""How a model may end in place of tensors, each a file ``.txt``."""

MESSAGE = 300
"""Characters of what a file says that are kept."""

_NAME = re.compile(r"(tensor|output)_(\d{1,9})")


def model_answer(folder: Path, model: bytes) -> ModelAnswer:
    """Return what was made of a model, ``missing`` if the folder has nothing. Raises InputError if
    there are several files, or one cannot be read, or an array has no place in the model."""
    names = ("results.npz", *(f"{ending}.txt" for ending in ENDINGS))
    found = [name for name in names if (folder / name).is_file()]
    found += ["tensor_*.bin"] if any(folder.glob("tensor_*.bin")) else []
    if len(found) > 1:
        raise InputError(f"{folder}: {' and '.join(found)}; a model has one end: leave one of them")
    if not found:
        return ModelAnswer(ending="missing")
    if found[0] not in names:
        return _plain_tensors(folder, model)
    path = folder / found[0]
    if path.suffix == ".npz":
        return ModelAnswer(ending="computed", tensors=_tensors(path, model))
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            message = file.readline(MESSAGE).strip()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be a text") from None
    return ModelAnswer(ending=ENDINGS[names.index(found[0]) - 1], message=message)


def _plain_tensors(folder: Path, model: bytes) -> ModelAnswer:
    """Return the answer in files of elements."""
    try:
        return ModelAnswer(ending="computed", tensors=read_known(folder, read_model(model).tensors))
    except ValueError as error:
        raise InputError(f"{folder}: {error}; see whether the file was cut") from None


def _tensors(path: Path, model: bytes) -> dict[int, np.ndarray]:
    tensors: dict[int, np.ndarray] = {}
    outputs: list[int] | None = None
    for name, array in read_arrays(path).items():
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise InputError(f"{path}: {name!r} is no tensor_<index> or output_<place>")
        index = int(parts[2])
        if parts[1] == "output":
            outputs = _outputs(model) if outputs is None else outputs
            if index >= len(outputs):
                raise InputError(f"{path}: {name}, and the model has {len(outputs)} outputs")
            index = outputs[index]
        if index in tensors:
            raise InputError(f"{path}: {name} is tensor {index}, which is there already")
        tensors[index] = array
    return tensors


def _outputs(model: bytes) -> list[int]:
    try:
        return list(read_model(model).outputs)
    except InputError:  # a model to refuse: which tensors were made of it does not matter
        return list(range(1 << 10))


DOUBTED = 0.5
"""Results of which less are exact may be those of other cases: those of another seed agree by
chance in up to two fifths, as ranges that have no int8 do in all seeds."""


def judge_folders(
    vectors: Path, results: Path, draw: Draw = model_digests, *, power: bool = True
) -> Judged:
    """Judge results by vectors, whose cases are drawn again; by a frozen set as it is.

    ``vectors``: a folder that ``eightfold vectors`` has written, a set or one with several such
    folders, all of one profile, level and seed; ``results`` is then one with a folder of the same
    name for each. ``draw``: draws models again; one that remembers saves time. ``power``: as
    `eightfold.conformance.judge.models.finding.judge_models` takes it.

    Raises InputError if the vectors are not those that are drawn or do not belong together, or
    results cannot be read or are of other cases.
    """
    if (vectors / SUMS).exists() or (vectors / SET).exists():
        return _judge_set(load_set(vectors), results, power)
    loaded = [(load_vectors(folder), theirs) for folder, theirs in _pairs(vectors, results)]
    first = loaded[0][0]
    for other, _ in loaded[1:]:
        if (other.profile, other.level, other.seed) != (first.profile, first.level, first.seed):
            raise InputError(
                f"{vectors}: {first.folder.name} has {first.drawn_by}, and {other.folder.name} "
                f"{other.drawn_by}; judge them one by one"
            )
    findings: dict[str, ClaimFinding] = {}
    models = _Models(first.profile, power)
    for each, theirs in loaded:
        if each.unit in OF_MODELS:
            found = _judge_models(each, theirs, models, draw)
        else:
            found = {each.unit: _judge_unit(each, theirs)}
        if twice := sorted(findings.keys() & found.keys()):
            raise InputError(f"{vectors}: {twice[0]} is in two folders; leave one of them")
        findings |= found
    ordered = (
        findings[name]
        for aspect in ("", *ASPECTS)
        for claim in (*EVERY_UNIT, *OPERATORS, NETWORKS)
        if (name := f"{claim}.{aspect}".rstrip(".")) in findings
    )
    return _stated(first, results, ordered, models)


@dataclass(frozen=True)
class _Models:
    """What judges models, claim by claim; the names of their cases are kept."""

    profile: Profile
    power: bool
    names: dict[str, Sequence[str]] = field(default_factory=dict)

    def finding(
        self, claim: str, named: Mapping[str, OperatorCase], answers: Sequence[ModelAnswer]
    ) -> ClaimFinding:
        """Judge the models of a claim; failed ones are called by their folders."""
        # What judges models loads only where there are some.
        from eightfold.conformance.judge.models.finding import judge_models

        folders = self.names[claim] = list(named)
        name, cases = parted(claim)[0], list(named.values())
        found = judge_models(name, cases, answers, self.profile, power=self.power)
        failed = tuple(
            replace(each, name=folders[int(each.name)]) if each.name.isdecimal() else each
            for each in found.failed
        )
        return replace(found, claim=claim, failed=failed)


def _stated(
    drawn: Vectors | FrozenSet, results: Path, findings: Iterable[ClaimFinding], models: _Models
) -> Judged:
    statement = Statement(
        subject=results.resolve().name or str(results),
        profile=drawn.profile,
        level=drawn.level,
        seed=drawn.seed,
        findings=tuple(findings),
        vectors=drawn.title if isinstance(drawn, FrozenSet) else "",
    )
    return Judged(statement, models.names)


def _judge_set(found: FrozenSet, results: Path, power: bool) -> Judged:
    """Judge by a set; what the results have no folder of is not asked."""
    asked = [claim for claim in found.profile.claims if (results / claim).is_dir()]
    if not asked:
        raise InputError(
            f"{results}: no folder of any claim of {found.folder}; give results of one at least, "
            f"{' or '.join(found.profile.claims[:2])} for example"
        )
    findings: list[ClaimFinding] = []
    models = _Models(found.profile, power)
    for claim in asked:
        if claim in found.units:
            cases = frozen_unit(found, claim)
            answers, *_ = read_answers(results / claim, claim, len(cases))
            findings.append(judge_unit(claim, found.profile, cases, answers))
        else:
            named = frozen_models(found, claim)
            findings.append(models.finding(claim, named, _model_answers(results, named)))
    return _stated(found, results, findings, models)


def _model_answers(results: Path, named: Mapping[str, OperatorCase]) -> list[ModelAnswer]:
    return [model_answer(results / name, case.model) for name, case in named.items()]


def _pairs(vectors: Path, results: Path) -> list[tuple[Path, Path]]:
    """Return folders of vectors, each with the folder of its results."""
    for folder in (vectors, results):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
    if (vectors / NAME).exists():
        return [(vectors, results)]
    folders = sorted(path.parent for path in vectors.glob(f"*/{NAME}"))
    if not folders:
        raise InputError(
            f"{vectors}: no {NAME}, and none in a folder within; name what eightfold vectors has "
            "written"
        )
    for folder in folders:
        if not (results / folder.name).is_dir():
            raise InputError(f"{results}: no folder {folder.name}, which {vectors} has")
    return [(folder, results / folder.name) for folder in folders]


def _judge_unit(vectors: Vectors, results: Path) -> ClaimFinding:
    """Return the finding; and that results may be those of other cases, where that is likely."""
    answers, identified = identified_answers(vectors, results)
    finding = judge_unit(vectors.unit, vectors.profile, unit_cases_of(vectors), answers)
    if identified or finding.mistakes or finding.exact >= DOUBTED * finding.cases:
        return finding
    doubt = (
        f"Nothing says which cases these results are of, and {finding.cases - finding.exact} of "
        f"{finding.cases} are not exact: see whether they were made from {vectors.folder}, which "
        f"has {vectors.drawn_by}."
    )
    return replace(finding, diagnosis=(*finding.diagnosis, doubt))


def _judge_models(
    vectors: Vectors, results: Path, models: _Models, draw: Draw
) -> dict[str, ClaimFinding]:
    copied_manifest(vectors, results)
    cases = model_cases_of(vectors)
    answers = {claim: _model_answers(results, named) for claim, named in cases.items()}
    if all(each.ending == "missing" for given in answers.values() for each in given):
        first = next(iter(next(iter(cases.values()), {})), "CASE")
        raise InputError(
            f"{results}: no results of any model; give {first}/results.npz, or refused.txt, "
            "crashed.txt or timeout.txt there"
        )
    check_models(vectors, cases, draw)
    return {claim: models.finding(claim, named, answers[claim]) for claim, named in cases.items()}
