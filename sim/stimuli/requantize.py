"""Arguments of requantization where it is easiest to be wrong, and random ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.requantize import requantize
from eightfold.isa import Rounding

Cases = dict[str, NDArray[np.int64]]
"""``acc`` and the fields of `eightfold.isa.REQUANTIZE_LAYOUT`: integers of shape (n,)."""

ROUNDINGS = tuple(rounding.value for rounding in Rounding)
SHIFTS = {0: range(32), 1: range(63)}
"""Legal right shifts of the pair (0) and of the single rounding (1)."""

LIMIT = 1 << 31
OPERANDS = np.array(
    [-LIMIT, -LIMIT + 1, LIMIT - 2, LIMIT - 1]
    + [sign * (1 << 30) + d for sign in (-1, 1) for d in (-1, 0, 1)]
    + [*range(-3, 4), -129, -128, 127, 128]
)
"""Values of the multiplied operand."""

MULTIPLIERS = np.array([0, 1, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, LIMIT - 2, LIMIT - 1])
BOUNDS = np.array([(-128, 127), (-128, -128), (127, 127), (-1, 0), (0, 127), (-128, 126)])


def corner_cases(rng: np.random.Generator) -> Cases:
    """Return every (mode, rounding, right) and every (mode, rounding, left) at corner values.

    Operands, multipliers and both ends of the zero point are crossed with them; a random multiplier
    joins the corner ones. Biases and bounds take turns.
    """
    multipliers = np.append(MULTIPLIERS, rng.integers(LIMIT))
    parts = []
    for single, shifts in SHIFTS.items():
        grids = (
            (np.array(shifts), np.array([0])),
            (np.array([0, rng.choice(shifts)]), np.arange(31)),
        )
        for right, left in grids:
            axes = (ROUNDINGS, right, left, OPERANDS, multipliers, (-128, 127))
            grid = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]
            rounding, right, left, operand, multiplier, zero_point = grid
            parts.append(
                _with_bias(
                    rng, operand, multiplier, rounding, right, left, zero_point, single=single
                )
            )
    return _concatenate(parts)


def tie_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return cases at exact ties and one operand step beside them, for every right shift >= 1.

    ``count`` per mode, rounding and shift. In a pair, ties of the second rounding; the first's are
    those of `corner_cases`, operands odd and multiplier ``2^30``.
    """
    parts = []
    for single, shifts in SHIFTS.items():
        right = np.array(shifts)[1:]
        axes = (ROUNDINGS, right, np.arange(count))
        rounding, right, _ = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        # The remainder's half is 2^(right - 1): the operand brings some of these factors of 2 and
        # the multiplier the others. A pair divides by 2^31 before, exactly.
        twos = right - 1 + np.where(single, 0, 31)
        shared = rng.integers(np.maximum(twos - 30, 0), np.minimum(twos, 31) + 1)
        odd = 2 * rng.integers(0, np.minimum(256, 1 << (30 - np.minimum(shared, 30)))) + 1
        operand = np.where(rng.random(len(odd)) < 0.5, -1, 1) * (odd << shared)
        operand = np.clip(operand, -LIMIT, LIMIT - 1)
        beside = rng.choice([0, 0, -1, 1], len(odd))
        operand = np.clip(operand + beside, -LIMIT, LIMIT - 1)
        multiplier = 1 << (twos - shared)
        zero_point = rng.choice([-128, -1, 0, 1, 127], len(odd))
        zeros = np.zeros_like(odd)
        parts.append(
            _with_bias(rng, operand, multiplier, rounding, right, zeros, zero_point, single=single)
        )
    return _concatenate(parts)


def power_cases(rng: np.random.Generator) -> Cases:
    """Return products of plus or minus every power of two, with every right shift.

    Each bit of the product alone decides there whether the result is in the byte range.
    """
    parts = []
    for single, shifts in SHIFTS.items():
        axes = (np.arange(62), np.array(shifts), (-1, 1))
        power, right, sign = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        in_operand = rng.integers(np.maximum(power - 30, 0), np.minimum(power, 31) + 1)
        operand = np.minimum(sign << in_operand, LIMIT - 1)
        multiplier = 1 << (power - in_operand)
        rounding = rng.choice(ROUNDINGS, len(power))
        zero_point = rng.choice([-1, 0, 1], len(power))
        zeros = np.zeros_like(power)
        parts.append(
            _with_bias(rng, operand, multiplier, rounding, right, zeros, zero_point, single=single)
        )
    return _concatenate(parts)


def wrap_cases(rng: np.random.Generator) -> Cases:
    """Return products so near the ends that a pair's zero point wraps int32, and their neighbours.

    A single rounding of the same product by 31, which does not wrap, is there as well.
    """
    parts = []
    for single, right in ((0, 0), (1, 31)):
        ends = np.concatenate([np.arange(-LIMIT, -LIMIT + 131), np.arange(LIMIT - 131, LIMIT)])
        axes = (ends, LIMIT - 1 - np.array([0, 1, 64]), (-128, -2, -1, 0, 1, 2, 127))
        operand, multiplier, zero_point = (a.ravel() for a in np.meshgrid(*axes, indexing="ij"))
        rounding = rng.choice(ROUNDINGS, len(operand))
        zeros = np.zeros_like(operand)
        parts.append(
            _with_bias(
                rng, operand, multiplier, rounding, zeros + right, zeros, zero_point, single=single
            )
        )
    return _concatenate(parts)


def random_cases(rng: np.random.Generator, count: int) -> Cases:
    """Return random cases of all magnitudes, most with a shift that leaves a byte or a bit more."""
    single = rng.integers(0, 2, count)
    operand = rng.integers(-LIMIT, LIMIT, count) >> rng.integers(0, 31, count)
    multiplier = rng.integers(0, LIMIT, count) >> np.where(
        rng.random(count) < 0.5, 0, rng.integers(0, 31, count)
    )
    product_bits = np.frexp(np.abs(operand * multiplier).astype(float))[1]
    fitting = product_bits - rng.integers(-2, 10, count) - np.where(single, 0, 31)
    any_shift = rng.integers(0, 63, count)
    right = np.where(rng.random(count) < 0.8, fitting, any_shift)
    right = np.clip(right, 0, np.where(single, 62, 31))
    left = np.where(rng.random(count) < 0.7, 0, rng.integers(0, 31, count))
    rounding = rng.choice(ROUNDINGS, count)
    zero_point = np.where(
        rng.random(count) < 0.3, rng.choice([-128, 127], count), rng.integers(-128, 128, count)
    )
    return _with_bias(rng, operand, multiplier, rounding, right, left, zero_point, single=single)


def expected_results(cases: Cases) -> NDArray[np.int8]:
    """Return golden's results."""
    return requantize(**cases)  # pyright: ignore[reportArgumentType]


def take(cases: Cases, index: slice) -> Cases:
    """Return some of the cases."""
    return {name: values[index] for name, values in cases.items()}


def _with_bias(
    rng: np.random.Generator,
    operand: NDArray,
    multiplier: NDArray,
    rounding: NDArray,
    right: NDArray,
    left: NDArray,
    zero_point: NDArray,
    *,
    single: int | NDArray,
) -> Cases:
    """Complete cases: the accumulator is what makes the biased sum equal to ``operand``."""
    count = len(operand)
    kind = rng.integers(0, 4, count)
    bias = np.select(
        [kind == 0, kind == 1, kind == 2],
        [0, rng.choice([-LIMIT, LIMIT - 1], count), rng.integers(-LIMIT, LIMIT, count)],
        rng.integers(-1000, 1000, count),
    )
    wild = np.sort(rng.integers(-128, 128, (count, 2)), axis=1)
    bounds = BOUNDS[rng.integers(0, len(BOUNDS), count)]
    full = rng.random(count)
    low, high = np.select(
        [full[:, None] < 0.6, full[:, None] < 0.8], [BOUNDS[[0]].repeat(count, 0), bounds], wild
    ).T
    return {
        "acc": (operand - bias + LIMIT) % (2 * LIMIT) - LIMIT,
        "bias": bias,
        "left": left,
        "multiplier": multiplier,
        "single": np.broadcast_to(np.asarray(single), (count,)),
        "right": right,
        "rounding": rounding,
        "zero_point": zero_point,
        "low": low,
        "high": high,
    }


def _concatenate(parts: Sequence[Cases]) -> Cases:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
