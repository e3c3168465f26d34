"""Random networks of the operators that a profile claims, with every tensor that they must make."""

import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.cases.draws import Case
from eightfold.cases.networks import DRAWN, random_network
from eightfold.common.errors import InputError
from eightfold.conformance.profile import NETWORKS, Profile
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.operators import (
    TRIES,
    OperatorCase,
    bounds_of,
    check_claim,
    computed_case,
    operator_cases,
    share_of,
    within,
    write_models,
)

COUNTS: dict[Level, int] = {"smoke": 4, "standard": 100, "full": 1000}
"""Networks that are drawn."""

LENGTHS = (3, 12)
"""Fewest and most operators that a network aims at."""


def network_cases(
    profile: Profile,
    level: Level = "smoke",
    seed: int = 0,
    *,
    first: int = 0,
    count: int | None = None,
) -> Iterator[OperatorCase]:
    """Yield networks of the profile's operators; the same arguments give the same everywhere.

    ``first``, ``count``: as `eightfold.conformance.vectors.operators.operator_cases` takes them.

    Raises InputError if there is no such level, the profile does not claim networks, claims no
    operator that networks are made of, demands one rounding, or its limits leave too few networks.
    """
    check_claim(NETWORKS, profile, level)
    operators = sorted(DRAWN.intersection(profile.claims))
    if not operators:
        raise InputError(f"profile {profile.name}: claims no operator that networks are made of")
    share = share_of(first, count)
    drawn = within(_drawn(operators, profile, seed), profile)
    for number, network in zip(range(COUNTS[level]), drawn, strict=False):
        if network is None:
            raise InputError(
                f"profile {profile.name}: its limits leave {number} networks among {TRIES} times "
                "as many; widen zero_points or ranks, or do not claim networks"
            )
        if number >= share.stop:
            return
        if number in share:
            yield computed_case(NETWORKS, *network, profile)


def model_cases(
    claim: str, profile: Profile, level: Level = "smoke", seed: int = 0, **share: Any
) -> Iterator[OperatorCase]:
    """Yield the cases of an operator, or networks; ``share``: their ``first`` and ``count``."""
    if claim == NETWORKS:
        return network_cases(profile, level, seed, **share)
    return operator_cases(claim, profile, level, seed, **share)


def write_networks(
    folder: Path, profile: Profile, level: Level = "smoke", seed: int = 0
) -> dict[str, int]:
    """Write the networks of a profile into a folder.

    Returns and raises as `eightfold.conformance.vectors.operators.write_operators`; and as
    `network_cases`.
    """
    cases = {NETWORKS: network_cases(profile, level, seed)}
    return write_models(folder, cases, {"unit": NETWORKS}, profile, level, seed)


def _drawn(operators: list[str], profile: Profile, seed: int) -> Iterator[Case]:
    bounds = {name: bounds_of(name, profile) for name in operators}
    for number in itertools.count():
        rng = np.random.default_rng([zlib.crc32(b"vectors of networks"), seed, number])
        yield random_network(rng, operators=operators, lengths=LENGTHS, bounds=bounds)
