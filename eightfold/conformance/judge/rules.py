"""What some of the cases have in common, as a rule over simple features, in words.

A feature is true of a case or not: of its fields, or of a value inside the reference's arithmetic.
A clause is up to three features that hold at once. `describe` looks for the clauses that say best
which cases are meant, and counts what they catch beside them: every number that it says is exact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.forms import Cases, Form, operand
from eightfold.golden.fixed_point import INT32_MAX, Integers, srdhm, wrap32
from eightfold.golden.rounding import rounding_shift

Mask = NDArray[np.bool_]

WORTH = 0.02
"""What a further feature must add to the score of a clause."""

MAX_FEATURES, MAX_CLAUSES = 3, 3

NAMES = {
    "acc": "an accumulator",
    "bias": "a bias",
    "multiplier": "a multiplier",
    "shift": "a shift",
    "zero_point": "a zero point",
    "low": "a lower bound",
    "high": "an upper bound",
    "number": "a case number",
}
"""How sentences call the fields of cases, and their place among the cases."""


@dataclass(frozen=True)
class Clause:
    """A rule that some of the meant cases follow."""

    features: tuple[str, ...]
    meant: int
    """How many of the meant cases it holds for, that no clause before it holds for."""
    others: int
    """How many it holds for that are not meant."""

    def sentence(self, total: int) -> str:
        """Return the rule in words, among ``total`` meant cases."""
        others = f"{self.others} others" if self.others else "no others"
        count = "all" if self.meant == total else str(self.meant)
        return f"{count} (and {others}) have {_listed(self.features)}"


def _listed(words: tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), *words[-1:]] if len(words) > 1 else words)


def describe(form: Form, cases: Cases, meant: Mask) -> tuple[Clause, ...]:
    """Return clauses that say which cases are ``meant``, none if none is.

    At most `MAX_CLAUSES`. Each is found feature by feature: the
    one that makes the F1 score highest, and the first in the table of two that are equal.
    """
    table = features(form, cases, meant)
    left, clauses = meant.copy(), list[Clause]()
    if not table or not meant.any():
        return ()
    names, masks = [*table], np.stack([*table.values()])
    while left.any() and len(clauses) < MAX_CLAUSES:
        # What an earlier clause holds for is neither for nor against a later one.
        chosen = _clause(masks[:, left | ~meant], left[left | ~meant])
        if not chosen:
            break
        caught = np.logical_and.reduce(masks[chosen])
        texts = tuple(names[index] for index in chosen)
        counts = int((caught & left).sum()), int((caught & ~meant).sum())
        clauses.append(Clause(texts, *counts))
        left &= ~caught
    return tuple(clauses)


def _clause(masks: Mask, target: Mask) -> list[int]:
    """Return the rows of ``masks`` whose conjunction is most like ``target``."""
    total = int(target.sum())
    inside, outside = masks[:, target], masks[:, ~target]
    chosen, best = list[int](), 2 * total / (total + target.size)
    while len(chosen) < MAX_FEATURES:
        hits, wrong = inside.sum(axis=1), outside.sum(axis=1)
        scores = 2 * hits / (hits + wrong + total)
        row = int(np.argmax(scores))
        if scores[row] < best + WORTH or hits[row] == 0:
            break
        chosen, best = [*chosen, row], float(scores[row])
        inside, outside = inside & inside[row], outside & outside[row]
    return chosen


def features(form: Form, cases: Cases, meant: Mask) -> dict[str, Mask]:
    """Return the features of cases, by what they say; those that are all or nothing left out."""
    table: dict[str, Mask] = {}
    acc, shift, multiplier = cases["acc"], cases["shift"], cases["multiplier"]
    values = _values(form, cases)
    for name, parts in values.dividends.items():
        table |= _division(name, *parts)
    z, v = values.scaled, values.offset
    low, high, zero_point = cases["low"], cases["high"], cases["zero_point"]
    table |= {
        "a result at the upper bound by the clamp": v > high,
        "a result at the lower bound by the clamp": v < low,
        "a result that needs no clamp": (v >= low) & (v <= high),
        "a scaled value below 0": z < 0,
        "a scaled value above 0": z > 0,
        "a scaled value of 0": z == 0,
        "a scaled value beyond int8": (z < -128) | (z > 127),
        "a sum with the zero point that wraps": z + zero_point != wrap32(z + zero_point),
        "a left shift that loses bits": values.lost,
        "a lower bound above -128": low > -128,
        "an upper bound below 127": high < 127,
        "a zero point of 0": zero_point == 0,
        "a negative zero point": zero_point < 0,
        "a positive zero point": zero_point > 0,
        "a negative accumulator": acc < 0,
        "a positive accumulator": acc > 0,
        "an accumulator of 0": acc == 0,
        "an accumulator of -2^31": acc == -(2**31),
        "a left shift": shift > 0,
        "a right shift": shift < 0,
        "a shift of 0": shift == 0,
        "a multiplier of 0": multiplier == 0,
        "a multiplier below 2^30": multiplier < 2**30,
        "a multiplier of 2^31 - 1": multiplier == INT32_MAX,
        "a multiplier that is a power of two": (multiplier & (multiplier - 1)) == 0,
        "a multiplier with bits below 2^16": (multiplier & 0xFFFF) != 0,
    }
    if "bias" in cases:
        total = acc + cases["bias"]
        table |= {
            "a bias other than 0": cases["bias"] != 0,
            "a sum with the bias that wraps": total != wrap32(total),
        }
    table |= _thresholds(values, cases)
    table |= _box({**cases, "number": np.arange(meant.size)}, meant)
    return {name: mask for name, mask in table.items() if mask.any() and not mask.all()}


def _thresholds(values: "_Values", cases: Cases) -> dict[str, Mask]:
    shift = cases["shift"]
    table: dict[str, Mask] = {}
    for limit in range(1, 64):
        table[f"a right shift of at least {limit}"] = -shift >= limit
        table[f"a right shift of at most {limit}"] = (shift < 0) & (-shift <= limit)
    for limit in range(1, 32):
        table[f"a left shift of at least {limit}"] = shift >= limit
        table[f"a left shift of at most {limit}"] = (shift > 0) & (shift <= limit)
    sized = {"an accumulator": cases["acc"], "a scaled value": values.scaled, **values.wide}
    for name, numbers in sized.items():
        for bits in range(2, 64):
            beyond = (numbers < -(1 << (bits - 1))) | (numbers >= 1 << (bits - 1))
            if not beyond.any():
                break
            table[f"{name} of more than {bits} bits"] = beyond
    return table


def _box(numbers: Cases, meant: Mask) -> dict[str, Mask]:
    """Return the bounds of the meant cases' numbers."""
    table: dict[str, Mask] = {}
    for field, values in numbers.items() if meant.any() else ():
        name = NAMES[field]
        least, most = values[meant].min(), values[meant].max()
        table[f"{name} of {least}"] = (values == least) & (values == most)
        table[f"{name} of {least} or more"] = values >= least
        table[f"{name} of {most} or less"] = values <= most
    return table


def _division(name: str, dividend: Integers, e: Integers) -> dict[str, Mask]:
    """Return the features of the division of ``dividend`` by ``2^e``."""
    over = np.maximum(e, 1)
    unit = np.int64(1) << over
    twice = 2 * (dividend & (unit - 1))
    tie = (e > 0) & (twice == unit)
    below = dividend < 0
    return {
        f"a tie at {name}": tie,
        f"a tie below 0 at {name}": tie & below,
        f"a tie above 0 at {name}": tie & ~below,
        f"a remainder at {name}": (e > 0) & (twice != 0),
        f"a negative value with a remainder at {name}": (e > 0) & (twice != 0) & below,
        f"a remainder below half at {name}": (e > 0) & (twice != 0) & (twice < unit),
        f"a remainder above half at {name}": (e > 0) & (twice > unit),
        f"a negative value at {name}": below,
    }


@dataclass(frozen=True)
class _Values:
    """Values inside the reference's arithmetic."""

    dividends: dict[str, tuple[Integers, Integers]]
    scaled: Integers
    offset: Integers
    lost: Mask
    wide: dict[str, Integers]


def _values(form: Form, cases: Cases) -> _Values:
    x, shift, multiplier = operand(cases), cases["shift"], cases["multiplier"]
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    lost = np.zeros(x.shape, bool)
    if form.roundings == 2:
        shifted = wrap32(x << left)
        lost = shifted != x << left
        product = shifted * multiplier
        y = srdhm(shifted, multiplier)
        dividends = {
            "the first rounding": (product, np.full_like(product, 31)),
            "the second rounding": (y, right),
        }
        z = rounding_shift(y, right, "half_away")
        wide = {"a product": product, "a high product": y}
    else:
        if form.fraction_bits:
            product, e = x * multiplier, 31 - shift
        else:
            product, e = x * np.minimum(multiplier << left, INT32_MAX), right
        z = rounding_shift(product, e, "half_up")
        dividends, wide = {"the rounding": (product, e)}, {"a product": product}
        z = wrap32(z) if form.fraction_bits else z
    return _Values(dividends, z, z + cases["zero_point"], lost, wide)
