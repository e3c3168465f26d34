"""Models with inputs and every tensor that they must make, and models to refuse.

Of one operator each, or random networks of the operators that a profile claims.
"""

import hashlib
import itertools
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.cases.draws import Bounds, Case, bounded_by
from eightfold.cases.networks import DRAWN, random_network
from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.common.files import write_file, write_files
from eightfold.conformance.constraints import WINDOWED, drawn_values, keeps, ordinary
from eightfold.conformance.profile import NETWORKS, OPERATORS, Profile, parted
from eightfold.conformance.tensors import npz_of
from eightfold.conformance.units.unit import LEVELS, Level
from eightfold.conformance.vectors.manifest import NAME, checksums, manifest
from eightfold.golden.errors import RejectedError
from eightfold.model import Graph, read_model
from eightfold.model.mutate import Mutation, mutate
from eightfold.operators import check_model, has_violation, load_model, prepare, run_graph
from eightfold.operators.call import TFLM_RANK

MODELS: dict[Level, int] = {"smoke": 4, "standard": 100, "full": 1000}
"""Models of each operator that must be computed, and networks; of an operator's aspect
``beyond-spec`` as many at most."""

REFUSED: dict[Level, int] = {"smoke": 2, "standard": 20, "full": 100}
"""Models of its aspect ``strictness`` at most, which must be refused, each for another reason."""

TRIES = 400
"""Draws for each model that is wanted, before a profile's limits are said to be too narrow."""

ILLEGAL_TRIES = 60
"""Draws for a model to be refused."""

LENGTHS = (3, 12)
"""Fewest and most operators that a network aims at."""

MUTATIONS = ("type", "operand", "option", "quantization")
"""Kinds of changes that make a model to be refused."""


READ_ON = ("is absent", "not int32", "is uint8, not int8")
"""Reasons over which some of LiteRT's kernels read: an absent input, biases and indices of another
type, unsigned weights. Nobody is asked to refuse them."""

READ_ON_IN = {"PADV2": ("has 2 inputs, not 3",)}
"""The same in single operators: LiteRT's PADV2 without a value is its PAD."""


@dataclass(frozen=True)
class OperatorCase:
    """One model."""

    operator: str
    model: bytes
    inputs: Mapping[int, np.ndarray]
    """By tensor index; zeros of a model to refuse."""

    tensors: Mapping[int, np.ndarray]
    """Every tensor that the model computes, by index; empty of a model to refuse."""

    refusal: str = ""
    """Why a model must be refused, as the reference's preparation does."""

    @cached_property
    def graph(self) -> Graph | None:
        """The model's graph; None of a model to refuse."""
        return None if self.refusal else load_model(self.model)


def model_cases(
    claim: str,
    profile: Profile,
    level: Level = "smoke",
    seed: int = 0,
    *,
    first: int = 0,
    count: int | None = None,
) -> Iterator[OperatorCase]:
    """Yield the models of a claim; the same arguments give the same models everywhere.

    They are models within the spec: none that ``eightfold check`` calls a violation, none whose
    arithmetic C++ leaves undefined. They keep to the profile's limits, and to what it states of
    operators. A fourth of those with a window is `eightfold.conformance.constraints.ORDINARY`.

    ``claim``: `NETWORKS`, of the profile's operators; or an operator's name, alone or with an
    aspect: ``CONV_2D.beyond-spec`` has models that kernels take and the spec does not,
    ``CONV_2D.strictness`` those that must be refused. ``first``, ``count``: only models from number
    ``first``, ``count`` of them or all: a share of the work.

    Raises InputError if there is no such level, the profile does not claim it, demands one
    rounding, claims no operator that networks are made of, or its limits leave too few models.
    """
    _check_claim(claim, profile, level)
    share = range(first, sys.maxsize if count is None else first + count)
    name, aspect = parted(claim)
    start = zlib.crc32(b"vectors") + seed * 1_000_000  # of another stream than a campaign's
    if aspect == "strictness":
        refused = enumerate(_refused(name, start, REFUSED[level]))
        yield from (replace(case, operator=claim) for number, case in refused if number in share)
        return
    if claim == NETWORKS:
        what, widen = "networks", "zero_points or ranks, or do not claim networks"
        models = _within_limits(_networks(profile, seed), profile)
    else:
        stated = (f"{each} of operators.{name}" for each in profile.constraints(name))
        what, widen = f"models of {claim}", ", ".join(("zero_points", "ranks", *stated))
        models = _claimed(name, profile, start, spec=not aspect)
    for number, drawn in zip(range(min(MODELS[level], share.stop)), models, strict=False):
        if drawn is None and aspect:
            return  # kernels take nothing that the spec does not
        if drawn is None:
            raise InputError(
                f"profile {profile.name}: its limits leave {number} {what} among {TRIES} times as "
                f"many; widen {widen}"
            )
        if number in share:
            yield _computed_case(claim, *drawn, profile)


def most_cases(claim: str, level: Level) -> int:
    """Return how many models a claim has, of an aspect at most."""
    return (REFUSED if parted(claim)[1] == "strictness" else MODELS)[level]


def _check_claim(claim: str, profile: Profile, level: Level) -> None:
    """Check that models of an operator, or networks, can be made for a profile. Raises InputError
    if there is no such level, the profile does not claim it, or demands one rounding."""
    if level not in LEVELS:
        raise InputError(f"no level {level!r}; use {', '.join(LEVELS)}")
    if parted(claim)[0] not in profile.claims:
        raise InputError(f"profile {profile.name}: does not claim {claim}; add it to its claims")
    if profile.rounding == "single":
        raise InputError(f"profile {profile.name}: golden has no {claim} with one rounding")


def _computed_case(
    claim: str, model: bytes, inputs: Mapping[int, np.ndarray], graph: Graph, profile: Profile
) -> OperatorCase:
    """Return a model with every tensor that its operators compute; raises as `run_graph`."""
    tensors = run_graph(graph, inputs, profile.reference)
    computed = {index: tensors[index] for op in graph.operators for index in op.outputs}
    return OperatorCase(claim, model, inputs, computed)


def write_models(
    folder: Path, claims: Sequence[str], profile: Profile, level: Level = "smoke", seed: int = 0
) -> dict[str, int]:
    """Write the models of operators, or networks, into a folder, each claim's in one of its name;
    ``manifest.json`` when all else is there.

    Returns how many models are to be ``computed``, and how many to be ``refused``. Raises
    InputError as `model_cases`, and if the folder cannot be written.
    """
    entries: dict[str, dict[str, Any]] = {}
    sums: dict[str, str] = {}
    for claim in claims:
        files: dict[str, bytes] = {}
        for number, case in enumerate(model_cases(claim, profile, level, seed)):
            name = f"{claim}/{number:04}"
            files |= {f"{name}/{file}": content for file, content in _files(case).items()}
            entries[name] = {"operator": claim, "expect": "refused" if case.refusal else "tensors"}
            if case.refusal:
                entries[name]["reason"] = case.refusal
        write_files({folder / name: content for name, content in files.items()})
        sums |= checksums(files)
    refused = sum(entry["expect"] == "refused" for entry in entries.values())
    operators = {"unit": "operators", "operators": list(claims)}
    facts = {**({"unit": NETWORKS} if NETWORKS in claims else operators), "cases": entries}
    write_file(folder / NAME, manifest(facts, profile, level, seed, sums))
    return {"computed": len(entries) - refused, "refused": refused}


def chosen(names: str, profile: Profile) -> list[str]:
    """Return operators of a list such as ``CONV_2D,ADD``; ``all`` are those of the profile. Raises
    InputError if there is no such operator."""
    claimed = [operator for operator in OPERATORS if operator in profile.claims]
    found = claimed if names == "all" else names.split(",")
    for name in found:
        if name not in OPERATORS:
            raise InputError(f"--operators: no operator {name!r}; use {', '.join(OPERATORS)}")
    if not found:
        raise InputError(f"profile {profile.name}: claims no operator")
    return list(dict.fromkeys(found))


Drawn = tuple[bytes, dict[int, np.ndarray], Graph]
"""A model, its inputs, and its graph."""


def _claimed(operator: str, profile: Profile, start: int, *, spec: bool) -> Iterator[Drawn | None]:
    usual = _bounds_of(operator, profile, spec=spec)
    values = drawn_values(profile.constraints(operator))
    narrow = replace(usual, values={**usual.values, **ordinary(operator, values)})

    def draw(number: int) -> tuple[Bounds, Case]:
        windowed = operator in WINDOWED and number % 4 == 0
        bounds = replace(narrow if windowed else usual)
        with bounded_by(bounds):
            return bounds, random_case(operator, case_rng(operator, number))

    drawn = map(draw, itertools.count(start))
    if spec:
        return _within_limits((case for _, case in drawn), profile)
    beyond = (
        case if bounds.left or not _is_legal(load_model(case[0])) else None
        for bounds, case in drawn
    )
    return _within_limits(beyond, profile, legal=False)


def _networks(profile: Profile, seed: int) -> Iterator[Case]:
    operators = sorted(DRAWN.intersection(profile.claims))
    if not operators:
        raise InputError(f"profile {profile.name}: claims no operator that networks are made of")
    bounds = {name: _bounds_of(name, profile) for name in operators}
    for number in itertools.count():
        rng = np.random.default_rng([zlib.crc32(b"vectors of networks"), seed, number])
        yield random_network(rng, operators=operators, lengths=LENGTHS, bounds=bounds)


def _bounds_of(operator: str, profile: Profile, *, spec: bool = True) -> Bounds:
    """Return what models with an operator are drawn within, for a profile."""
    limits = profile.limits
    values = drawn_values(profile.constraints(operator))
    if limits.zero_points != "any":
        values["zero_point"] = limits.zero_points
    # Indices of GATHER are data.
    constants = limits.operands == "constant" and operator != "GATHER"
    return Bounds(spec=spec, constants=constants, values=values)


def _is_legal(graph: Graph) -> bool:
    return not has_violation(check_model(graph))


def _within_limits(
    models: Iterable[Case | None], profile: Profile, *, legal: bool = True
) -> Iterator[Drawn | None]:
    """Yield those of many models that a profile claims; None when too many in a row are outside.
    ``legal``: and that have no violation of the spec. A model that is None is outside."""
    misses = 0
    for case in models:
        graph = case and load_model(case[0])
        if case and graph and _within(graph, profile) and (not legal or _is_legal(graph)):
            misses = 0
            yield *case, graph
        elif (misses := misses + 1) == TRIES:
            yield None


def _within(graph: Graph, profile: Profile) -> bool:
    """Return whether the activations keep to the limits of types, ranks and zero points.

    What takes or gives uint8 is no subject of the kit, whatever a profile says.
    """
    limits = profile.limits
    places = {*graph.inputs, *(index for op in graph.operators for index in op.outputs)}
    tensors = [graph.tensors[index] for index in places]
    if any(t.dtype == np.uint8 for t in tensors):
        return False
    if limits.types == "int8" and any(t.dtype == np.float32 for t in tensors):
        return False
    if limits.ranks != "any" and any(len(t.shape) not in limits.ranks for t in tensors):
        return False
    if profile.reference == "tflm" and any(len(t.shape) > TFLM_RANK for t in tensors):
        return False  # its kernels are undefined there
    if any(not keeps(graph, op, profile.constraints(op.name)) for op in graph.operators):
        return False
    zero_points = [t.quantization.zero_point.tolist() for t in tensors if t.quantization]
    allowed = limits.zero_points
    return allowed == "any" or all(zero in allowed for zeros in zero_points for zero in zeros)


def _refused(operator: str, start: int, count: int) -> Iterator[OperatorCase]:
    """Yield mutated models that the reference's preparation refuses, each for another reason."""
    found: set[str] = set()
    rng = np.random.default_rng([zlib.crc32(operator.encode()), start, 1])
    for number in range(start, start + ILLEGAL_TRIES * min(count, 5)):
        if len(found) == count:
            return
        model, _ = random_case(operator, case_rng(operator, number))
        change = Mutation(str(rng.choice(MUTATIONS)), int(rng.integers(1 << 62)))
        mutant = mutate(model, [change], model)
        reason = _refusal(mutant)
        if reason and reason not in found and reason not in READ_ON_IN.get(operator, ()):
            found.add(reason)
            graph = read_model(mutant)
            given = (graph.tensors[index] for index in graph.inputs)
            zeros = {each.index: np.zeros(each.shape, each.dtype) for each in given}
            yield OperatorCase(operator, mutant, zeros, {}, reason)


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
    files = {"model.tflite": case.model, "inputs.npz": npz_of(case.inputs)}
    return files if case.refusal else files | {"expected.npz": npz_of(case.tensors)}


def digest_of_cases(cases: Iterable[OperatorCase]) -> str:
    """Return the SHA-256 of models: their bytes, inputs, expected tensors, why they are refused."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(hashlib.sha256(case.model).digest())
        parts = [_named(case.inputs), _named(case.tensors)]
        facts = [case.operator, case.refusal, digest_of_arrays(parts)]
        digest.update(json.dumps(facts).encode())
    return digest.hexdigest()


def digest_of_arrays(tables: Iterable[Mapping[str, NDArray[Any]]]) -> str:
    """Return the SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for table in tables:
        for name, array in sorted(table.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.tobytes())
        digest.update(b"\n")
    return digest.hexdigest()


def _named(tensors: Mapping[int, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {str(index): tensor for index, tensor in tensors.items()}
