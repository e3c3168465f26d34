"""Models of one operator each with inputs and every tensor they must make, and models to refuse."""

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.conformance.models.operators import case_rng, random_case
from eightfold.conformance.profile import OPERATORS, Profile
from eightfold.conformance.units.unit import LEVELS, Level
from eightfold.conformance.vectors.manifest import NAME, checksums, manifest
from eightfold.errors import InputError
from eightfold.execute import run_graph
from eightfold.files import write_file, write_files
from eightfold.golden.errors import RejectedError
from eightfold.model import Graph, load_model, read_model
from eightfold.model.mutate import Mutation, mutate
from eightfold.model.prepare import prepare

MODELS: dict[Level, int] = {"smoke": 4, "standard": 100, "full": 1000}
"""Models of each operator that must be computed."""

REFUSED: dict[Level, int] = {"smoke": 2, "standard": 20, "full": 100}
"""Models of each operator that must be refused, at most: each has a reason of its own."""

TRIES = 60
"""Draws for each model that is wanted, before a profile's limits are said to be too narrow."""

MUTATIONS = ("type", "operand", "option", "quantization")
"""Kinds of changes that make a model to be refused."""


READ_ON = ("is absent", "not int32", "is uint8, not int8")
"""Reasons over which some of LiteRT's kernels read: an absent input, biases and indices of another
type, unsigned weights. Nobody is asked to refuse them."""


@dataclass(frozen=True)
class OperatorCase:
    """One model."""

    operator: str
    model: bytes
    inputs: Mapping[int, np.ndarray]
    """By tensor index; empty of a model to refuse."""

    tensors: Mapping[int, np.ndarray]
    """Every tensor that the model computes, by index; empty of a model to refuse."""

    refusal: str = ""
    """Why a model must be refused, as the reference's preparation does."""


def operator_cases(
    operator: str, profile: Profile, level: Level = "smoke", seed: int = 0
) -> Iterator[OperatorCase]:
    """Yield the cases of an operator; the same arguments give the same cases everywhere.

    Zero points and ranks keep to the profile's limits.

    Raises
    ------
    InputError
        If there is no such level, the profile does not claim the operator, demands one rounding,
        or its limits leave too few models.
    """
    if level not in LEVELS:
        raise InputError(f"no level {level!r}; use {', '.join(LEVELS)}")
    if operator not in profile.claims:
        raise InputError(f"profile {profile.name}: does not claim {operator}; add it to its claims")
    if profile.rounding == "single":
        raise InputError(f"profile {profile.name}: golden has no {operator} with one rounding")
    start = zlib.crc32(b"vectors") + seed * 1_000_000  # of another stream than a campaign's
    drawn = _claimed(operator, profile, start)
    for number in range(MODELS[level]):
        model, inputs, graph = next(drawn, (None, {}, None))
        if model is None or graph is None:
            raise InputError(
                f"profile {profile.name}: its limits leave {number} models of {operator} "
                f"among {TRIES} times as many; widen zero_points or ranks"
            )
        tensors = run_graph(graph, inputs, profile.reference)
        computed = {index: tensors[index] for op in graph.operators for index in op.outputs}
        yield OperatorCase(operator, model, inputs, computed)
    if profile.reference == "litert":  # Micro checks less
        yield from _refused(operator, start, REFUSED[level])


def write_operators(
    folder: Path,
    operators: Sequence[str],
    profile: Profile,
    level: Level = "smoke",
    seed: int = 0,
) -> dict[str, int]:
    """Write the cases of operators into a folder, ``manifest.json`` when all else is there.

    Returns
    -------
    dict
        How many models are to be computed, ``computed``, and how many to be ``refused``.

    Raises
    ------
    InputError
        As `operator_cases`, and if the folder cannot be written.
    """
    entries: dict[str, dict[str, Any]] = {}
    sums: dict[str, str] = {}
    for operator in operators:
        files: dict[str, bytes] = {}
        for number, case in enumerate(operator_cases(operator, profile, level, seed)):
            name = f"{operator}/{number:04}"
            files |= {f"{name}/{file}": content for file, content in _files(case).items()}
            entries[name] = {
                "operator": operator,
                "expect": "refused" if case.refusal else "tensors",
            }
            if case.refusal:
                entries[name]["reason"] = case.refusal
        write_files({folder / name: content for name, content in files.items()})
        sums |= checksums(files)
    refused = sum(entry["expect"] == "refused" for entry in entries.values())
    what = {"unit": "operators", "operators": list(operators), "cases": entries}
    write_file(folder / NAME, manifest(what, profile, level, seed, sums))
    return {"computed": len(entries) - refused, "refused": refused}


def chosen(names: str, profile: Profile) -> list[str]:
    """Return operators of a list such as ``CONV_2D,ADD``; ``all`` are those of the profile.

    Raises
    ------
    InputError
        If there is no such operator.
    """
    claimed = [operator for operator in OPERATORS if operator in profile.claims]
    found = claimed if names == "all" else names.split(",")
    for name in found:
        if name not in OPERATORS:
            raise InputError(f"--operators: no operator {name!r}; use {', '.join(OPERATORS)}")
    if not found:
        raise InputError(f"profile {profile.name}: claims no operator")
    return list(dict.fromkeys(found))


def _claimed(
    operator: str, profile: Profile, start: int
) -> Iterator[tuple[bytes, dict[int, np.ndarray], Graph]]:
    """Yield models within a profile, until too many in a row are not."""
    number = start
    misses = 0
    while misses < TRIES:
        model, inputs = random_case(operator, case_rng(operator, number))
        number += 1
        graph = load_model(model)
        if _within(graph, profile):
            misses = 0
            yield model, inputs, graph
        else:
            misses += 1


def _within(graph: Graph, profile: Profile) -> bool:
    """Return whether the activations keep to the limits of ranks and zero points."""
    limits = profile.limits
    places = {*graph.inputs, *(index for op in graph.operators for index in op.outputs)}
    tensors = [graph.tensors[index] for index in places]
    if limits.ranks != "any" and any(len(t.shape) not in limits.ranks for t in tensors):
        return False
    if profile.reference == "tflm" and any(len(t.shape) > 5 for t in tensors):
        return False  # its kernels are undefined there
    if limits.zero_points == "any":
        return True
    zero_points = [t.quantization.zero_point.tolist() for t in tensors if t.quantization]
    return all(zero in limits.zero_points for zeros in zero_points for zero in zeros)


def _refused(operator: str, start: int, count: int) -> Iterator[OperatorCase]:
    """Yield mutated models that the reference's preparation refuses, each for another reason."""
    found: set[str] = set()
    rng = np.random.default_rng([zlib.crc32(operator.encode()), start, 1])
    for number in range(start, start + TRIES * min(count, 5)):
        if len(found) == count:
            return
        model, _ = random_case(operator, case_rng(operator, number))
        change = Mutation(str(rng.choice(MUTATIONS)), int(rng.integers(1 << 62)))
        mutant = mutate(model, [change], model)
        reason = _refusal(mutant)
        if reason and reason not in found:
            found.add(reason)
            yield OperatorCase(operator, mutant, {}, {}, reason)


def _refusal(model: bytes) -> str:
    """Return why the reference refuses a model; nothing if it does not, or that is not known."""
    try:
        _, refusals = prepare(read_model(model))
    except InputError:  # not a model, or one that only Eightfold does not take
        return ""
    if len(refusals) != 1 or not isinstance(refusals[0].cause, RejectedError):
        return ""
    reason = refusals[0].message
    return "" if any(words in reason for words in READ_ON) else reason


def _files(case: OperatorCase) -> dict[str, bytes]:
    if case.refusal:
        return {"model.tflite": case.model}
    return {
        "model.tflite": case.model,
        "inputs.npz": _npz(case.inputs),
        "expected.npz": _npz(case.tensors),
    }


def _npz(tensors: Mapping[int, np.ndarray]) -> bytes:
    file = io.BytesIO()
    arrays = {f"tensor_{index}": tensor for index, tensor in sorted(tensors.items())}
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()
