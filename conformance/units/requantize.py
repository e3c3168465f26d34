"""Arguments of requantization where it is easiest to be wrong, and random ones.

A `Domain` says what is legal: once or twice rounded and how, shifts, and what accumulators,
multipliers, zero points and clamps may be. Every maker of cases takes one, so that the forms of
several specs and those of our own hardware are drawn by the same functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.requantize import requantize

Integers = NDArray[np.int64]

Cases = dict[str, Integers]
"""``acc``, ``multiplier``, ``exponent``, ``zero_point``, ``low``, ``high``: int64, shape (n,).

``exponent`` is the right shift; the left shift is ``-exponent`` where it is negative.
"""

LIMIT = 1 << 31

MULTIPLIERS = (0, 1, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, LIMIT - 2, LIMIT - 1)
OPERANDS = (
    *(-LIMIT, -LIMIT + 1, LIMIT - 2, LIMIT - 1),
    *(sign * (1 << 30) + d for sign in (-1, 1) for d in (-1, 0, 1)),
    *(*range(-3, 4), -129, -128, 127, 128),
)
CLAMPS = np.array([(-128, 127), (-128, -128), (127, 127), (-1, 0), (0, 127), (-128, 126)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """What arguments may be."""

    single: bool
    """One rounding of the 64-bit product; else the first, ``srdhm``, comes before the shift's."""

    rounding: str
    """How the shift rounds, a name of `eightfold.golden.rounding.ROUNDINGS`."""

    exponents: tuple[int, int]
    """Least and largest, within -30..31; ``single`` -30..62."""

    accumulator_bits: int = 32
    """Signed."""

    multiplier_limit: int = LIMIT
    """A multiplier is less."""

    multiplier_least: int = 0
    """A multiplier is not less, or 0 where ``zero`` says so."""

    zero: bool = True

    zero_points: Integers | None = None
    """Shape (n,); None for all of int8."""

    clamps: Integers | None = None
    """Pairs of low and high, shape (n, 2); None for all of int8."""

    relu: bool = False
    """A clamp is the whole of int8, or from the zero point to 127."""

    @property
    def operands(self) -> tuple[int, int]:
        """Least and largest accumulator."""
        end = 1 << (self.accumulator_bits - 1)
        return -end, end - 1

    @property
    def shifts(self) -> Integers:
        return np.arange(self.exponents[0], self.exponents[1] + 1)

    def within(self, cases: Cases) -> NDArray[np.bool_]:
        low, high = self.operands
        legal = (cases["acc"] >= low) & (cases["acc"] <= high)
        legal &= self.multiplies(cases["multiplier"])
        legal &= (cases["exponent"] >= self.exponents[0]) & (cases["exponent"] <= self.exponents[1])
        if self.zero_points is not None:
            legal &= np.isin(cases["zero_point"], self.zero_points)
        if self.clamps is not None:
            pair = cases["low"] * 256 + cases["high"]
            legal &= np.isin(pair, self.clamps[:, 0] * 256 + self.clamps[:, 1])
        if self.relu:
            low = cases["low"]
            legal &= (cases["high"] == 127) & ((low == -128) | (low == cases["zero_point"]))
        return legal

    def multiplies(self, multiplier: Integers) -> NDArray[np.bool_]:
        inside = (multiplier >= self.multiplier_least) & (multiplier < self.multiplier_limit)
        return inside | ((multiplier == 0) & self.zero)

    def normal(self, rng: np.random.Generator, count: int) -> Integers:
        """Draw multipliers whose highest bit is 1, as TFLite makes them, where they are legal."""
        most = self.multiplier_limit
        return rng.integers(max(most // 2, self.multiplier_least), most, count)

    def zero_point(self, rng: np.random.Generator, count: int) -> Integers:
        """Draw zero points, the ends more often than others."""
        if self.zero_points is not None:
            return rng.choice(self.zero_points, count)
        ends = rng.choice([-128, 127, -1, 0, 1], count)
        return np.where(rng.random(count) < 0.5, ends, rng.integers(-128, 128, count))

    def clamp(self, rng: np.random.Generator, zero_point: Integers) -> tuple[Integers, Integers]:
        """Draw clamps for results with these zero points, most of them the whole of int8."""
        count = len(zero_point)
        if self.relu:
            return np.where(rng.random(count) < 0.5, -128, zero_point), np.full(count, 127)
        if self.clamps is not None:
            low, high = self.clamps[rng.integers(0, len(self.clamps), count)].T
            return low, high
        wild = np.sort(rng.integers(-128, 128, (count, 2)), axis=1)
        known = CLAMPS[rng.integers(0, len(CLAMPS), count)]
        kind = rng.random((count, 1))
        low, high = np.where(kind < 0.6, CLAMPS[:1], np.where(kind < 0.8, known, wild)).T
        return low, high

    def arguments(self, cases: Cases) -> dict[str, Integers | bool | str]:
        """Return the cases as `eightfold.golden.requantize.requantize` takes them."""
        named = {name: values for name, values in cases.items() if name != "exponent"}
        return named | {
            "left": np.maximum(-cases["exponent"], 0),
            "right": np.maximum(cases["exponent"], 0),
            "single": self.single,
            "rounding": self.rounding,
        }

    def results(self, cases: Cases) -> NDArray[np.int8]:
        return requantize(**self.arguments(cases))  # pyright: ignore[reportArgumentType]


def corner_cases(rng: np.random.Generator, domain: Domain) -> Cases:
    """Return every exponent with operands, multipliers and zero points at their ends.

    A random multiplier joins those at the corners. Clamps take turns.
    """
    low, high = domain.operands
    most = domain.multiplier_limit - 1
    operands = np.unique(np.clip(np.array([*OPERANDS, low, low + 1, high - 1, high]), low, high))
    others = (most - 1, most, int(rng.integers(most)))
    multipliers = np.unique(np.clip(np.array([*MULTIPLIERS, *others]), 0, most))
    ends = (-128, 127) if domain.zero_points is None else domain.zero_points
    operand, multiplier, exponent, zero_point = _grid(operands, multipliers, domain.shifts, ends)
    return _completed(rng, domain, operand, multiplier, exponent, zero_point)


def first_tie_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return ties of the first of two roundings, up to ``count`` per exponent; none if ``single``.

    The product is an odd multiple of 2^30, and the quotient that it rounds to is itself at a tie
    of the second rounding, or a step beside it, so that the first one's direction is seen.
    """
    shifts = domain.shifts[domain.shifts >= 0] if not domain.single else np.zeros(0, np.int64)
    exponent, _ = _grid(shifts, np.arange(count))
    total = len(exponent)
    half = np.where(exponent > 0, np.int64(1) << np.maximum(exponent - 1, 0), 0)
    # The product is operand * multiplier = odd * 2^30, with the largest power of 2 as multiplier.
    power = min((domain.multiplier_limit - 1).bit_length() - 1, 30)
    room = np.maximum(((LIMIT >> (32 - power)) - half) >> exponent, 1)
    steps = rng.integers(0, np.minimum(room, 140))
    quotient = (steps << exponent) + half + rng.choice([-1, 0, 0, 1], total)
    odd = np.where(rng.random(total) < 0.5, -2, 2) * quotient + rng.choice([-1, 1], total)
    operand = odd << (30 - power)
    multiplier = np.full(total, 1 << power)
    cases = _completed(rng, domain, operand, multiplier, exponent)
    return take(cases, np.abs(operand) < LIMIT)


def beside_tie_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return products beside ties of the first of two roundings, or beside multiples of 2^31.

    Up to two beside them; their quotient is at a tie of the second rounding or a step beside it. An
    odd operand has an inverse modulo each power of two, and so a multiplier with which the product
    ends in the bits that are sought. ``count`` or fewer for each exponent of 0 to 8: with a larger
    one, hardly a multiplier that does is below 2^31.
    """
    exponent = domain.shifts[(domain.shifts >= 0) & (domain.shifts <= 8)]
    exponent = np.repeat(exponent, count << exponent)
    total = len(exponent)
    unit = np.int64(1) << exponent
    operand = rng.integers(-160, 160, total) * unit + rng.integers(0, unit) | 1
    quotient = (unit >> 1) + rng.integers(-1, 2, total)
    ends = (quotient << 31) + rng.choice([0, 1 << 30], total) + rng.integers(-2, 3, total)
    inverse = operand
    for _ in range(5):  # the bits that are right, 3 at first, double
        inverse = inverse * (2 - operand * inverse)
    multiplier = ends * inverse & (unit << 31) - 1
    cases = _completed(rng, domain, operand, multiplier, exponent)
    return take(cases, domain.within(cases))


def second_tie_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return ties of the shift's rounding and one operand step beside them, ``count`` per exponent.

    In a pair, the first division has no remainder.
    """
    exponent, _ = _grid(domain.shifts[domain.shifts > 0], np.arange(count))
    total = len(exponent)
    # The remainder's half is 2^(exponent - 1): the operand brings some of these factors of 2 and
    # the multiplier the others, or as many as it can. A pair divides by 2^31 before, exactly.
    twos = exponent - 1 + (0 if domain.single else 31)
    most = (domain.multiplier_limit - 1).bit_length() - 1
    least = np.maximum(twos - most, 0)
    split = rng.integers(least, np.maximum(np.minimum(twos, 31), least) + 1)
    shared = np.where((rng.random(total) < 0.5) | (domain.multiplier_least > 0), least, split)
    odd = 2 * rng.integers(0, np.minimum(256, 1 << np.maximum(30 - shared, 0))) + 1
    operand = np.where(rng.random(total) < 0.5, -1, 1) * (odd << shared)
    operand = np.clip(operand + rng.choice([0, 0, -1, 1], total), -LIMIT, LIMIT - 1)
    multiplier = np.int64(1) << (twos - shared)
    return _completed(rng, domain, operand, multiplier, exponent)


def edge_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return results at the clamp and the ends of int8, and a step within and beyond them.
    ``count`` for each exponent; the operand is the one that leads there, or its neighbour."""
    exponent, _ = _grid(domain.shifts, np.arange(count))
    total = len(exponent)
    multiplier = domain.normal(rng, total)
    zero_point = domain.zero_point(rng, total)
    low, high = domain.clamp(rng, zero_point)
    ends = np.stack([low, high, np.full(total, -128), np.full(total, 127)])
    target = ends[rng.integers(0, 4, total), np.arange(total)] + rng.integers(-1, 2, total)
    # Between two codes, where rounding decides which one it is.
    real = (target - zero_point).astype(np.float64) + rng.choice([-0.5, 0.0, 0.5], total)
    operand = _leading_to(domain, real, multiplier, exponent) + rng.integers(-1, 2, total)
    operand = np.clip(operand, -LIMIT, LIMIT - 1)
    return _completed(rng, domain, operand, multiplier, exponent, zero_point, (low, high))


def near_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return random cases in and near the int8 range, ``count`` for each exponent.

    Multipliers are normalized, their highest bit 1, as TFLite makes them.
    """
    exponent, _ = _grid(domain.shifts, np.arange(count))
    total = len(exponent)
    multiplier = domain.normal(rng, total)
    zero_point = domain.zero_point(rng, total)
    real = rng.uniform(-160, 160, total) - zero_point
    operand = _leading_to(domain, real, multiplier, exponent)
    return _completed(rng, domain, operand, multiplier, exponent, zero_point)


def power_cases(rng: np.random.Generator, domain: Domain) -> Cases:
    """Return products of plus or minus every power of two, with every exponent from 0 on.

    Each bit of the product alone decides there whether the result is in the byte range.
    """
    most = (domain.multiplier_limit - 1).bit_length() - 1  # the largest power in a multiplier
    powers = np.arange(32 + most)
    power, exponent, sign = _grid(powers, domain.shifts[domain.shifts >= 0], (-1, 1))
    least = np.maximum(power - most, 0)
    if domain.multiplier_least:  # the largest power alone
        large = power >= most
        power, exponent, sign, least = (each[large] for each in (power, exponent, sign, least))
    largest = np.minimum(least if domain.multiplier_least else power, 31)
    in_operand = rng.integers(least, largest + 1)
    operand = np.minimum(sign << in_operand, LIMIT - 1)
    multiplier = np.int64(1) << (power - in_operand)
    return _completed(rng, domain, operand, multiplier, exponent)


def wrap_cases(rng: np.random.Generator, domain: Domain) -> Cases:
    """Return products so near the ends that a pair's zero point wraps int32, and their neighbours.

    A single rounding of the same product by 31, which does not wrap, is there instead.
    """
    ends = np.concatenate([np.arange(-LIMIT, -LIMIT + 131), np.arange(LIMIT - 131, LIMIT)])
    offsets = (-128, -2, -1, 0, 1, 2, 127) if domain.zero_points is None else domain.zero_points
    operand, multiplier, zero_point = _grid(ends, LIMIT - 1 - np.array([0, 1, 64]), offsets)
    exponent = np.full(len(operand), 31 if domain.single else 0)
    return _completed(rng, domain, operand, multiplier, exponent, zero_point)


def random_cases(rng: np.random.Generator, domain: Domain, count: int) -> Cases:
    """Return random cases of all magnitudes, most with a shift that leaves a byte or a bit more."""
    low, high = domain.operands
    operand = rng.integers(low, high + 1, count) >> rng.integers(0, domain.accumulator_bits, count)
    bits = (domain.multiplier_limit - 1).bit_length()
    multiplier = rng.integers(domain.multiplier_least, domain.multiplier_limit, count)
    if not domain.multiplier_least:
        multiplier >>= np.where(rng.random(count) < 0.5, 0, rng.integers(0, bits, count))
    product_bits = np.frexp(np.abs(operand * multiplier).astype(float))[1]
    fitting = product_bits - rng.integers(-2, 10, count) - (0 if domain.single else 31)
    exponent = np.where(rng.random(count) < 0.8, fitting, rng.choice(domain.shifts, count))
    exponent = np.clip(exponent, *domain.exponents)
    return _completed(rng, domain, operand, multiplier, exponent)


def held(rng: np.random.Generator, domain: Domain, cases: Cases, run: int) -> Cases:
    """Return runs of cases: each has the parameters of its first, which stays as it is.

    Other accumulators are odd multiples of the first one, which keep its ties, or lead into int8.
    """
    count = len(cases["acc"])
    cases = take(cases, np.arange(count) // run * run)
    ties = cases["acc"] * (2 * rng.integers(-8, 8, count) + 1) + rng.integers(-1, 2, count)
    real = rng.uniform(-160, 160, count) - cases["zero_point"]
    near = _leading_to(domain, real, np.maximum(cases["multiplier"], 1), cases["exponent"])
    others = np.clip(np.where(rng.random(count) < 0.5, ties, near), *domain.operands)
    return cases | {"acc": np.where(np.arange(count) % run == 0, cases["acc"], others)}


def concatenate(parts: Sequence[Mapping[str, Integers]]) -> Cases:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def take(cases: Cases, index: slice | NDArray) -> Cases:
    return {name: values[index] for name, values in cases.items()}


def _grid(*axes: object) -> list[Integers]:
    """Return the axes crossed with each other, flat."""
    grid = np.meshgrid(*(np.asarray(axis, dtype=np.int64) for axis in axes), indexing="ij")
    return [axis.ravel() for axis in grid]


def _leading_to(
    domain: Domain, real: NDArray[np.float64], multiplier: Integers, exponent: Integers
) -> Integers:
    """Return the accumulator that is scaled to ``real``, or the one in int32 that comes nearest."""
    units = 2.0 ** (exponent + (0 if domain.single else 31)) / multiplier
    return np.clip(np.rint(real * units), -LIMIT, LIMIT - 1).astype(np.int64)


def _completed(
    rng: np.random.Generator,
    domain: Domain,
    operand: Integers,
    multiplier: Integers,
    exponent: Integers,
    zero_point: Integers | None = None,
    clamp: tuple[Integers, Integers] | None = None,
) -> Cases:
    """Return cases; what is None is drawn."""
    if zero_point is None:
        zero_point = domain.zero_point(rng, len(operand))
    low, high = clamp or domain.clamp(rng, zero_point)
    return {
        "acc": operand,
        "multiplier": multiplier,
        "exponent": exponent,
        "zero_point": zero_point,
        "low": low,
        "high": high,
    }
