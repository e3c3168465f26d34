"""What somebody's implementation answers to cases, before anybody judges it.

As bytes, answers pass between processes and are kept in files: ``.npz``.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import npz_bytes

Columns = Mapping[str, NDArray[Any]]
"""Integers by column: of shape (cases,), or (cases, length) of lists."""

MISSING = int(np.iinfo(np.int64).min)
"""In place of a unit's result that has not come."""

UNKNOWN = MISSING + 1
"""In place of a unit's result with bits that are neither 0 nor 1 (X or Z of a simulator)."""


@dataclass(frozen=True, kw_only=True)
class UnitAnswers:
    """What a unit answers."""

    results: Mapping[str, NDArray[np.int64]]
    """By column of the unit's results: int64 of shape (cases,), or (cases, length) of a list. Each
    element is any integer, `MISSING` or `UNKNOWN`. A float32 is its 32 bits."""
    extra: int = 0
    """Answers that came beyond the last case."""
    note: str = ""
    """In one line, why answers are missing: "no answer within 10000 cycles", an exception's
    text."""
    crashed: bool = False
    """Whether what should have answered has ended with an error, or never began."""
    simulations: tuple["Simulation", ...] = ()
    """What is known of how these cases were asked, in their order; nothing of those beyond."""


@dataclass(frozen=True)
class Simulation:
    """Cases that were asked in a row, from one reset to the next, and how their answers came."""

    cases: int
    handshakes: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Of every cycle, uint8: ``8 * out_valid + 4 * out_ready + 2 * in_valid + in_ready``; empty
    where nobody has seen them."""
    again: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of failing cases that were asked again, by how: how many, and how many were right then."""


Ending = Literal["computed", "refused", "crashed", "timeout", "missing"]
"""How the run of a model ended; ``refused``: it was said that the model cannot be computed."""


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What an implementation makes of one model and its inputs."""

    ending: Ending
    tensors: Mapping[int, NDArray[np.generic]] = field(default_factory=dict)
    """What it computed, by tensor index: the model's outputs at least, others as it likes."""
    message: str = ""
    """In one line, why there are no tensors."""


_FACTS = "facts"
_HANDSHAKES = "handshakes "
_NO_ANSWERS = "the answers that were kept cannot be read"

_SEAL = "eightfold answers"
"""Begins what is kept; behind it are digests of who was asked, and of what."""


def seal(asked: str, cases: str, content: bytes) -> bytes:
    """Return answers with a line before them that says whose they are, and to which cases.

    ``asked``: a text that says who was asked, in full. ``cases``: SHA-256 of the cases, as
    `eightfold.conformance.vectors.models` has it.
    """
    return f"{_line_of(asked)} {cases}\n".encode() + content


def unseal(asked: str, cases: str, content: bytes) -> bytes:
    """Return what `seal` was given. Raises InputError if they are answers of somebody else, or to
    other cases."""
    line, _, rest = content.partition(b"\n")
    by, _, to = line.decode("utf-8", "replace").rpartition(" ")
    if by != _line_of(asked):
        raise InputError("has the answers of another run; ask again in a new folder")
    if to != cases:
        raise InputError(
            "was asked other cases than this version of Eightfold draws; report it with the "
            "version that asked, or ask again in a new folder"
        )
    return rest


def _line_of(asked: str) -> str:
    return f"{_SEAL} {hashlib.sha256(asked.encode()).hexdigest()}"


def pack_unit(answers: UnitAnswers) -> bytes:
    """Return a unit's answers as bytes."""
    facts = {"extra": answers.extra, "note": answers.note, "crashed": answers.crashed}
    simulations = [{"cases": each.cases, "again": each.again} for each in answers.simulations]
    seen = {
        f"{_HANDSHAKES}{place}": each.handshakes for place, each in enumerate(answers.simulations)
    }
    return _pack({**facts, "simulations": simulations}, {**answers.results, **seen})


def unpack_unit(content: bytes, expected: Columns) -> UnitAnswers:
    """Return the answers of `pack_unit`, to cases whose right results are ``expected``. Raises
    InputError if they are no such answers."""
    facts, arrays = _unpack(content)
    results = {name: each for name, each in arrays.items() if not name.startswith(_HANDSHAKES)}
    try:
        facts["simulations"] = tuple(
            Simulation(
                int(each["cases"]),
                arrays[f"{_HANDSHAKES}{place}"].astype(np.uint8),
                {str(how): (int(count), int(right)) for how, (count, right) in again.items()},
            )
            for place, each in enumerate(facts.get("simulations", ()))
            for again in [each["again"]]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{_NO_ANSWERS}: {type(error).__name__}: {error}") from None
    kinds = {"extra": int, "note": str, "crashed": bool, "simulations": tuple}
    right = facts.keys() == kinds.keys() and all(
        type(facts[name]) is kind for name, kind in kinds.items()
    )
    shapes = {name: values.shape for name, values in expected.items()}
    right &= {name: values.shape for name, values in results.items()} == shapes
    if not right or any(values.dtype.kind not in "iu" for values in results.values()):
        raise InputError(f"{_NO_ANSWERS}: they are to other cases")
    return UnitAnswers(results=results, **facts)


def join_units(parts: Sequence[UnitAnswers]) -> UnitAnswers:
    """Return the answers of consecutive cases as those of one run."""
    names = parts[0].results
    return UnitAnswers(
        results={name: np.concatenate([part.results[name] for part in parts]) for name in names},
        extra=sum(part.extra for part in parts),
        note=next((part.note for part in parts if part.note), ""),
        crashed=any(part.crashed for part in parts),
        simulations=tuple(
            each
            for part in parts
            for each in part.simulations or [Simulation(len(next(iter(part.results.values()))))]
        ),
    )


def pack_models(answers: Sequence[ModelAnswer | None]) -> bytes:
    """Return the answers to models as bytes; None, where every tensor was the expected one, takes
    no room."""
    facts = [{"ending": each.ending, "message": each.message} if each else {} for each in answers]
    arrays = {
        f"{place}_{index}": tensor
        for place, answer in enumerate(answers)
        for index, tensor in (answer.tensors if answer else {}).items()
    }
    return _pack({"answers": facts}, arrays)


def unpack_models(content: bytes, count: int) -> list[ModelAnswer | None]:
    """Return the answers of `pack_models`, to ``count`` models. Raises InputError if they are no
    such answers."""
    facts, arrays = _unpack(content)
    try:
        endings = [ModelAnswer(**each) if each else None for each in facts["answers"]]
        tensors: list[dict[int, NDArray[Any]]] = [{} for _ in endings]
        for name, array in arrays.items():
            place, _, index = name.partition("_")
            tensors[int(place)][int(index)] = array
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{_NO_ANSWERS}: {type(error).__name__}: {error}") from None
    known = all(
        each is None or (each.ending in get_args(Ending) and type(each.message) is str)
        for each in endings
    )
    if len(endings) != count or not known:
        raise InputError(f"{_NO_ANSWERS}: they are to other models")
    return [each and replace(each, tensors=own) for each, own in zip(endings, tensors, strict=True)]


def _pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    return npz_bytes({_FACTS: text, **arrays}, compressed=True)


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop(_FACTS).tobytes())
    except Exception as error:  # a damaged archive raises whatever zipfile, zlib or numpy likes
        raise InputError(f"{_NO_ANSWERS}: {error}") from None
    if not isinstance(facts, dict):
        raise InputError(f"{_NO_ANSWERS}: no facts")
    return facts, arrays
