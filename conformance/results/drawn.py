"""Cases of a folder, held against those that its manifest says they are, which are drawn again.

Checksums tell that a file has changed on its way. Who edits files on purpose writes checksums too:
cases of another level, expectations that suit the results, cases that are left out. So a judge
draws kit, profile, level and seed once more, and looks that the folder has the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.profile import NETWORKS, Profile
from eightfold.conformance.results.vectors import AGAIN, Vectors
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import Level, UnitCases
from eightfold.conformance.vectors.digests import digest_of_arrays, digest_of_cases
from eightfold.conformance.vectors.networks import network_cases
from eightfold.conformance.vectors.operators import OperatorCase, operator_cases

Draw = Callable[[str, Profile, Level, int], list[str]]
"""Returns the digest of each model of a claim, profile, level and seed, as `model_digests` does."""


def model_digests(claim: str, profile: Profile, level: Level, seed: int) -> list[str]:
    """Draw the models of an operator, or networks; return the digest of each in their order.

    Raises
    ------
    InputError
        As `eightfold.conformance.vectors.operators.operator_cases`.
    """
    if claim == NETWORKS:
        cases = network_cases(profile, level, seed)
    else:
        cases = operator_cases(claim, profile, level, seed)
    return [digest_of_cases([case]) for case in cases]


def check_unit(vectors: Vectors, cases: UnitCases) -> UnitCases:
    """Return the cases of a unit from a folder, once they are those that are drawn.

    Raises
    ------
    InputError
        If the folder has other cases, or other results.
    """
    drawn = unit_cases(vectors.unit, vectors.profile, vectors.level, vectors.seed)
    _check_count(vectors, vectors.unit, len(cases), len(drawn))
    kinds = {"kinds": (cases.kinds, drawn.kinds)} if np.any(cases.kinds != "") else {}
    for name, (found, wanted) in {
        "what is asked": (cases.inputs, drawn.inputs),
        "what is expected": (cases.results, drawn.results),
        **kinds,
    }.items():
        tables = (found, wanted) if isinstance(found, Mapping) else ({"": found}, {"": wanted})
        if digest_of_arrays([tables[0]]) != digest_of_arrays([tables[1]]):
            raise InputError(f"{vectors.folder}: {name} is {_not_drawn(vectors)}")
    return replace(cases, left_out=drawn.left_out)


def check_models(
    vectors: Vectors, claims: Mapping[str, Mapping[str, OperatorCase]], draw: Draw
) -> None:
    """Check that the models of a folder are those that are drawn.

    Parameters
    ----------
    claims
        Models by claim, and by the folder of each, in the order of the manifest.
    draw
        What draws again, such as `model_digests`.

    Raises
    ------
    InputError
        If a claim or a model is missing or another, or anything of it.
    """
    planned = [NETWORKS] if vectors.unit == NETWORKS else vectors.manifest.get("operators")
    if not isinstance(planned, list) or set(claims) != set(map(str, planned)):
        raise InputError(
            f"{vectors.folder}: has cases of {', '.join(claims) or 'nothing'}, and its manifest "
            f"names {planned}; {AGAIN}"
        )
    for claim, cases in claims.items():
        drawn = draw(claim, vectors.profile, vectors.level, vectors.seed)
        _check_count(vectors, claim, len(cases), len(drawn))
        for (name, case), wanted in zip(sorted(cases.items()), drawn, strict=True):
            if digest_of_cases([case]) != wanted:
                raise InputError(f"{vectors.folder / name}: is {_not_drawn(vectors)}")


def _check_count(vectors: Vectors, claim: str, found: int, drawn: int) -> None:
    if found != drawn:
        raise InputError(
            f"{vectors.folder}: has {found} cases of {claim}, and {drawn} are drawn by profile "
            f"{vectors.profile.name}, level {vectors.level}, seed {vectors.seed}; {AGAIN}"
        )


def _not_drawn(vectors: Vectors) -> str:
    return f"not what is drawn for {vectors.drawn_by}: it was edited since; {AGAIN}"
