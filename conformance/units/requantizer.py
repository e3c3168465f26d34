"""The requantizer: an int32 accumulator to int8, in four forms.

TFLite's double rounding is what LiteRT's and TFLite Micro's kernels are built with: ``srdhm``, then
a rounding shift, ties away from zero. Its single rounding is the build with
``TFLITE_SINGLE_ROUNDING``. TPU-MLIR's has a multiplier of 32 or of 8 bits and one rounding.
docs/numerics.md and docs/other-specs.md have the formulas.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.profile import Profile, ProfileLimits
from eightfold.conformance.units import requantize
from eightfold.conformance.units.requantize import Cases, Domain, concatenate, take
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, srdhm, wrap32
from eightfold.golden.rounding import rounding_shift

INPUTS = (
    Column("accumulator", 32, True, "the sum of products and bias"),
    Column("multiplier", 32, True, "the quantized multiplier, never negative"),
    Column("shift", 8, True, "TFLite: left if positive; TPU-MLIR's rshift: right if positive"),
    Column("zero_point", 8, True, "of the output, added after scaling"),
    Column("low", 8, True, "the least result"),
    Column("high", 8, True, "the largest result"),
)
RESULTS = (Column("result", 8, True, "scaled, shifted to the zero point and clamped"),)

PER_SHIFT: dict[Level, int] = {"smoke": 8, "standard": 250, "full": 4000}
"""Cases of each kind and shift, at most."""


def domain_of(profile: Profile) -> Domain:
    """Return what the requantizer of a profile takes, in the generators' terms."""
    limits = profile.limits
    low, high = profile.shifts
    if profile.spec == "tpu-mlir":
        exponents = (low, high)
    elif profile.rounding == "double":
        exponents = (-high, -low)
    else:
        exponents = (31 - high, 31 - low)
    least, most = profile.multipliers
    clamps = limits.clamp
    if profile.spec == "tpu-mlir" and clamps == "any":
        clamps = ((-128, 127),)  # it saturates, and no more
    return Domain(
        single=profile.rounding == "single",
        rounding="half_away" if profile.rounding == "double" else "half_up",
        exponents=exponents,
        accumulator_bits=limits.accumulator_bits,
        multiplier_limit=most + 1,
        multiplier_least=least,
        zero=least == 0 or limits.multipliers == "converter",
        zero_points=None if limits.zero_points == "any" else np.array(limits.zero_points),
        clamps=None if clamps in ("any", "relu") else np.array(clamps),
        relu=clamps == "relu",
    )


def requantizer_cases(
    profile: Profile, level: Level, rng: np.random.Generator, *, beyond: bool = False
) -> UnitCases:
    """Return directed and random cases within a profile, as many as without its limits.

    ``beyond``: those that the spec has not, where int32 wraps, which C++ leaves undefined, and
    where no converter of TFLite makes the multiplier.
    """
    limits = profile.limits
    normal = domain_of(profile)
    if beyond and limits.multipliers == "converter":
        profile = replace(profile, limits=replace(limits, multipliers="any"))
    domain = domain_of(profile)

    def spec(cases: Cases) -> NDArray[np.bool_]:
        return normal.multiplies(cases["multiplier"]) & ~_wraps(domain, cases)

    def asked(cases: Cases) -> NDArray[np.bool_]:
        return domain.within(cases) & (spec(cases) != beyond)

    count = PER_SHIFT[level]
    # What is directed is drawn for the whole of the spec, so that what a profile leaves out counts.
    whole = domain_of(replace(profile, limits=replace(profile.limits, shift="any")))
    parts, kinds = [], []
    left_out = {"outside of the limits": 0, "without a result": 0}
    for kind, cases in _drawn(rng, whole, domain, count).items():
        legal, defined = asked(cases), _is_defined(profile, domain, cases)
        left_out["outside of the limits"] += int(np.sum(~legal))
        left_out["without a result"] += int(np.sum(legal & ~defined))
        parts.append(_thinned(rng, take(cases, legal & defined), count))
        kinds.append(np.where(_wraps(domain, parts[-1]), "wrap", kind))
    free = ProfileLimits(rounding=limits.rounding, multiplier_bits=limits.multiplier_bits)
    if not beyond and limits != free:
        least = requantizer_cases(replace(profile, limits=free), level, np.random.default_rng(0))
        short = max(len(least) - sum(map(len, kinds)), 0)
        each = -(-4 * short // len(domain.shifts))
        more = _of_each_shift(rng, domain, each)
        more["random"] = requantize.random_cases(rng, domain, each * len(domain.shifts))
        for others, (kind, cases) in zip((3, 2, 1, 0), more.items(), strict=True):
            cases = take(cases, asked(cases) & _is_defined(profile, domain, cases))
            chosen = rng.permutation(len(cases["acc"]))[: -(-short // (others + 1))]
            short -= len(chosen)
            parts.append(take(cases, chosen))
            kinds.append(np.full(len(chosen), kind))
    cases, kinds = concatenate(parts), np.concatenate(kinds)
    if limits.hold > 1:
        runs = requantize.held(rng, domain, cases, limits.hold)
        first = np.arange(len(kinds)) // limits.hold * limits.hold
        legal = asked(runs) & _is_defined(profile, domain, runs)
        runs["acc"] = np.where(legal, runs["acc"], cases["acc"][first])
        cases, kinds = runs, kinds[first]
    shift = cases["exponent"]
    if profile.spec != "tpu-mlir":
        shift = (0 if profile.rounding == "double" else 31) - shift
    inputs = {
        "accumulator": cases["acc"],
        "multiplier": cases["multiplier"],
        "shift": shift,
        **{name: cases[name] for name in ("zero_point", "low", "high")},
    }
    results = {"result": domain.results(cases)}
    if not beyond:
        _check_shows_something(profile, inputs, results["result"])
    return UnitCases(inputs, results, kinds, left_out)


def _drawn(rng: np.random.Generator, whole: Domain, domain: Domain, count: int) -> dict[str, Cases]:
    """Return cases by kind: directed ones of the whole domain, and random ones of another."""
    at_ends = requantize.wrap_cases(rng, whole)
    wraps = _wraps(whole, at_ends)
    return {
        "corner": requantize.corner_cases(rng, whole),
        "first tie": requantize.first_tie_cases(rng, whole, count),
        **_of_each_shift(rng, whole, count),
        "power": requantize.power_cases(rng, whole),
        "wrap": take(at_ends, wraps),
        "end": take(at_ends, ~wraps),
        "random": requantize.random_cases(rng, domain, count * len(domain.shifts)),
    }


def _of_each_shift(rng: np.random.Generator, domain: Domain, count: int) -> dict[str, Cases]:
    """Return as many cases of each shift as one likes, by kind."""
    return {
        "second tie": requantize.second_tie_cases(rng, domain, count),
        "edge": requantize.edge_cases(rng, domain, count),
        "near": requantize.near_cases(rng, domain, count),
    }


def _check_shows_something(profile: Profile, inputs: Cases, result: NDArray[Any]) -> None:
    """Refuse limits within which no result depends on what was accumulated. Raises InputError if
    each result is the zero point, clamped: what ignores the accumulator would conform."""
    trivial = np.clip(inputs["zero_point"], inputs["low"], inputs["high"])
    if result.size and np.array_equal(result, trivial):
        raise InputError(
            f"profile {profile.name}: its limits leave a requantizer nothing to compute, each "
            "result is the zero point between low and high; widen clamp, shift, accumulator_bits "
            "or multiplier_bits"
        )


def _thinned(rng: np.random.Generator, cases: Cases, count: int) -> Cases:
    """Return at most ``count`` random cases of each exponent, in the order they came in."""
    order = rng.permutation(len(cases["acc"]))
    exponents = cases["exponent"][order]
    sorted_ = np.argsort(exponents, kind="stable")
    _, starts, sizes = np.unique(exponents[sorted_], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    return take(cases, np.sort(order[sorted_[place < count]]))


def _is_defined(profile: Profile, domain: Domain, cases: Cases) -> NDArray[np.bool_]:
    """Return which cases have a result: TFLite's single rounding asserts that it is an int32."""
    if profile.spec == "tpu-mlir" or not domain.single:
        return np.ones(len(cases["acc"]), dtype=bool)
    right = np.maximum(cases["exponent"], 0)
    scaled = rounding_shift(cases["acc"] * cases["multiplier"], right, domain.rounding)
    shifted = scaled + cases["zero_point"]
    return (np.minimum(scaled, shifted) >= INT32_MIN) & (np.maximum(scaled, shifted) <= INT32_MAX)


def _wraps(domain: Domain, cases: Cases) -> NDArray[np.bool_]:
    """Return where int32 wraps: in the left shift, or when the zero point is added."""
    if domain.single:
        return np.zeros(len(cases["acc"]), dtype=bool)
    shifted = cases["acc"] << np.maximum(-cases["exponent"], 0)
    operand = wrap32(shifted)
    right = np.maximum(cases["exponent"], 0)
    scaled = rounding_shift(srdhm(operand, cases["multiplier"]), right, domain.rounding)
    total = scaled + cases["zero_point"]
    return (operand != shifted) | (wrap32(total) != total)


UNIT = UnitKind(
    "requantizer", INPUTS, RESULTS, requantizer_cases, partial(requantizer_cases, beyond=True)
)
