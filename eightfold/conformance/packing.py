"""Answers as bytes, which pass between processes and are kept in files: ``.npz``."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import ModelAnswer, UnitAnswers

_FACTS = "facts"


def pack_unit(answers: UnitAnswers) -> bytes:
    """Return a unit's answers as bytes."""
    facts = {"extra": answers.extra, "note": answers.note, "crashed": answers.crashed}
    return _pack(facts, answers.results)


def unpack_unit(content: bytes) -> UnitAnswers:
    """Return the answers of `pack_unit`."""
    facts, results = _unpack(content)
    return UnitAnswers(results=results, **facts)


def join_units(parts: Sequence[UnitAnswers]) -> UnitAnswers:
    """Return the answers of consecutive cases as those of one run."""
    return UnitAnswers(
        results={
            name: np.concatenate([part.results[name] for part in parts])
            for name in parts[0].results
        },
        extra=sum(part.extra for part in parts),
        note=next((part.note for part in parts if part.note), ""),
        crashed=any(part.crashed for part in parts),
    )


@dataclass(frozen=True)
class Exact:
    """In place of an answer: every tensor was the expected one."""


def pack_models(answers: Sequence[ModelAnswer | Exact]) -> bytes:
    """Return the answers to models as bytes; those that are `Exact` take no room."""
    facts: list[dict[str, Any]] = []
    arrays = {}
    for place, answer in enumerate(answers):
        if isinstance(answer, Exact):
            facts.append({})
            continue
        facts.append({"ending": answer.ending, "message": answer.message})
        arrays |= {f"{place}_{index}": tensor for index, tensor in answer.tensors.items()}
    return _pack({"answers": facts}, arrays)


def unpack_models(content: bytes) -> list[ModelAnswer | Exact]:
    """Return the answers of `pack_models`."""
    facts, arrays = _unpack(content)
    tensors: list[dict[int, NDArray[Any]]] = [{} for _ in facts["answers"]]
    for name, array in arrays.items():
        place, _, index = name.partition("_")
        tensors[int(place)][int(index)] = array
    return [
        ModelAnswer(tensors=own, **each) if each else Exact()
        for each, own in zip(facts["answers"], tensors, strict=True)
    ]


def _pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez_compressed(file, allow_pickle=False, **{_FACTS: text, **arrays})
    return file.getvalue()


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop(_FACTS).tobytes()), arrays
