"""The units by name, and their cases by name, profile, level and seed."""

import zlib
from dataclasses import replace

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.profile import EVERY_UNIT, Profile, parted
from eightfold.conformance.units import dot, fake_quantize, requantizer, tables
from eightfold.conformance.units.tpu_mlir import FORM_KINDS
from eightfold.conformance.units.unit import LEVELS, Level, UnitCases, UnitKind, as_columns

UNIT_KINDS: dict[str, UnitKind] = {
    kind.name: kind
    for kind in (
        *(requantizer.UNIT, dot.UNIT, tables.UNIT, fake_quantize.UNIT, dot.SEQUENCE),
        *FORM_KINDS,
    )
}
"""In the order of `eightfold.conformance.profile.EVERY_UNIT`."""


def unit_cases(unit: str, profile: Profile, level: Level = "smoke", seed: int = 0) -> UnitCases:
    """Return the cases of a unit; the same arguments give the same cases everywhere. Raises
    InputError if there is no such unit or level, the profile does not claim the unit, or its limits
    leave no case."""
    name, aspect = parted(unit)
    kind = UNIT_KINDS.get(name)
    make = kind and (kind.beyond if aspect == "beyond-spec" else None if aspect else kind.make)
    if kind is None or make is None:
        raise InputError(f"no unit {unit!r}; use {', '.join(EVERY_UNIT)}")
    if level not in LEVELS:
        raise InputError(f"no level {level!r}; use {', '.join(LEVELS)}")
    if name not in profile.claims:
        raise InputError(f"profile {profile.name}: does not claim {name}; add it to its claims")
    rng = np.random.default_rng([zlib.crc32(unit.encode()), seed])
    cases = make(profile, level, rng)
    if not len(cases):
        raise InputError(f"profile {profile.name}: its limits leave no case of {unit}")
    inputs = as_columns(kind.inputs, cases.inputs)
    return replace(cases, inputs=inputs, results=as_columns(kind.results, cases.results))
