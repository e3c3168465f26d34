"""A requantizer with a choice at every place where one can go wrong.

`Arithmetic` holds the choices, `compute` what comes of them. The choices are independent of each
other, so that several mistakes at once are as easy to compute as one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eightfold.conformance.judge.forms import Cases, Form
from eightfold.golden.fixed_point import INT32_MAX, Integers, wrap32
from eightfold.golden.rounding import ROUNDINGS, rounding_shift
from eightfold.golden.tpu_mlir.numbers import round_float


@dataclass(frozen=True)
class Arithmetic:
    """How a requantizer computes; each field is a name out of a table of this module.

    The defaults are those of TFLite's two roundings::

        x = wrap32(acc + bias)                                       bias
        y = (wrap32(x << left) * multiplier + 2^30) >> 31            left, operand, multiplier,
                                                                     product, first, first_shift
        z = y / 2^right, ties away from zero                         right, second, high
        v = wrap32(z + zero_point)                                   scaled, zero_point
        clamp(v, low, high)                                          clamp

    ``scale`` is ``two`` for these, ``one`` for ``z = x * multiplier / 2^(31 + right - left)``, or
    the float type in which ``z = round(x * real)``; one rounding and floats round as ``second``.
    """

    bias: str = "before"
    operand: str = "signed"
    multiplier: str = "full"
    product: str = "whole"
    scale: str = "two"
    shift: str = "as_given"
    left: str = "wraps"
    first: str = "half_up"
    first_shift: int = 31
    high: str = "whole"
    right: str = "exact"
    second: str = "half_away"
    scaled: str = "wraps_32"
    zero_point: str = "added"
    clamp: str = "bounds"


FAR = 2**30
"""Beyond every int8, and so far from the ends of int32 that no zero point wraps there.

What exceeds it is replaced by it, where an implementation has no int32 that could wrap.
"""


def reference_arithmetic(form: Form) -> Arithmetic:
    if form.roundings == 2:
        return Arithmetic()
    if form.fraction_bits:
        return Arithmetic(scale="one", second="half_up")
    return Arithmetic(scale="one", second="half_up", scaled="whole", zero_point="wide")


def compute(arithmetic: Arithmetic, form: Form, cases: Cases) -> Integers:
    """Return the results of requantizers that compute as ``arithmetic`` says, in [-128, 127]."""
    return finished(arithmetic, scaled(arithmetic, form, operand(arithmetic, cases), cases), cases)


def operand(arithmetic: Arithmetic, cases: Cases) -> Integers:
    """Return what is scaled: the accumulator and the bias."""
    return BIASES[arithmetic.bias](cases["acc"], cases.get("bias", np.zeros(1, np.int64)))


def finished(arithmetic: Arithmetic, z: Integers, cases: Cases) -> Integers:
    """Return the results of scaled values ``z``: zero point, clamp, and the lower 8 bits."""
    if arithmetic.bias == "after" and "bias" in cases:
        z = wrap32(z + cases["bias"])
    z = kept(z, arithmetic.scaled)
    bounds = (cases["zero_point"], cases["low"], cases["high"])
    code = CLAMPS[arithmetic.clamp](z, ZERO_POINTS[arithmetic.zero_point], *bounds)
    return wrap(code, 8)  # eight bits leave the unit, whatever is inside


def wrap(x: Integers, bits: int) -> Integers:
    """Return ``x`` modulo ``2^bits``, signed."""
    unused = 64 - bits
    return x << unused >> unused


def saturate(x: Integers, bits: int) -> Integers:
    """Return what is nearest to ``x`` in ``bits`` bits, signed."""
    return np.clip(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


REGISTERS: dict[str, Callable[[Integers, int], Integers]] = {
    "wraps": wrap,
    "saturates": saturate,
    "unsigned": lambda x, bits: x & ((1 << bits) - 1),
}
"""What a register makes of what it is given, by its bits."""


def kept(x: Integers, how: str) -> Integers:
    """Return what a register keeps of ``x``: ``whole``, or as one of `REGISTERS` with so many bits,
    ``wraps_16`` for example."""
    rule, _, bits = how.rpartition("_")
    return REGISTERS[rule](x, int(bits)) if rule else x


WIDTHS = ("whole", "wraps_48", "wraps_32", "wraps_16", "saturates_16", "saturates_8")
"""What registers between the steps keep (``product``, ``high``, ``scaled``)."""

BIASES: dict[str, Callable[[Integers, Integers], Integers]] = {
    "before": lambda acc, bias: wrap32(acc + bias),
    "saturates": lambda acc, bias: saturate(acc + bias, 32),
    "after": lambda acc, bias: acc,
    "missing": lambda acc, bias: acc,
}
"""The multiplied operand (``bias``)."""

OPERANDS: dict[str, Callable[[Integers], Integers]] = {
    "signed": lambda x: x,
    "unsigned": lambda x: x & 0xFFFFFFFF,
}
"""How the multiplier reads its 32-bit operand (``operand``)."""

MULTIPLIERS: dict[str, Callable[[Integers], Integers]] = {
    "full": lambda m: m,
    "upper_16": lambda m: m >> 16 << 16,
    "rounded_16": lambda m: np.minimum((m + 2**15) >> 16, 2**15 - 1) << 16,
    "leading_one": lambda m: m | 2**30,
}
"""The bits of the multiplier that are used (``multiplier``)."""

SHIFTS: dict[str, Callable[[Integers], Integers]] = {
    "as_given": lambda s: s,
    "negated": lambda s: -s,
}
"""How the sign of the shift is read (``shift``)."""

LEFTS: dict[str, Callable[[Integers, Integers], Integers]] = {
    "wraps": lambda x, left: wrap32(x << left),
    "saturates": lambda x, left: saturate(x << left, 32),
    "missing": lambda x, left: x,
    "after": lambda x, left: x,
    "wide": lambda x, left: x,
}
"""The operand after the left shift (``left``); ``after`` and ``wide`` shift later."""

RIGHTS: dict[str, Callable[[Integers, int], Integers]] = {
    "exact": lambda e, bits: e,
    "one_more": lambda e, bits: e + 1,
    "one_less": lambda e, bits: np.maximum(e - 1, 0),
    "narrow": lambda e, bits: e & ((1 << bits) - 1),
    "missing": lambda e, bits: np.zeros_like(e),
}
"""The right shift that is done (``right``), with the bits of a ``narrow`` field for it."""


def _half(e: Integers) -> Integers:
    return np.int64(1) << np.maximum(e - 1, 0)


EXTRA_ROUNDINGS: dict[str, Callable[[Integers, Integers, int], Integers]] = {
    "half_then_divide": lambda x, e, bits: _divide(x + _half(e), e, "toward_zero", bits),
    "half_subtracted": lambda x, e, bits: (x + np.where(x < 0, -_half(e), _half(e))) >> e,
    "nudge_shifted": lambda x, e, bits: (x + np.where(x < 0, 1 - _half(e), _half(e))) >> e,
    "logical": lambda x, e, bits: _logical(x, e, bits),
    "half_up_logical": lambda x, e, bits: _logical(x + _half(e), e, bits),
    "mask_short": lambda x, e, bits: (
        (x >> e) + ((x & (_half(e) - 1)) > ((_half(e) - 1) >> 1) + (x < 0))
    ),
    "addend_overflows": lambda x, e, bits: wrap(x + _half(e) - (x < 0), bits) >> e,
    "logical_repaired": lambda x, e, bits: _repaired(
        _logical(x, e, bits) + (_over_threshold(x, e) > 0), bits
    ),
    "half_away_and_even": lambda x, e, bits: (
        (x >> e) + ((over := _over_threshold(x, e)) > 0) + ((over == 0) & (x >> e & 1 == 1))
    ),
}
"""Divisions by ``2^e``, e > 0, that nobody means, beside `eightfold.golden.rounding.ROUNDINGS`."""

AT_0: dict[str, tuple[str, Callable[[Integers, int], Integers]]] = {
    "top_at_0": ("half_away", lambda x, bits: wrap(x + (1 << (bits - 1)) - (x < 0), bits)),
    "one_at_0": ("half_away", lambda x, bits: wrap(x + (x >= 0), bits)),
    "nudge_at_0": ("half_away", lambda x, bits: wrap(x - (x < 0), bits)),
    "one_at_0_up": ("half_up", lambda x, bits: x + 1),
}
"""Divisions whose addend, ``1 << (e - 1)``, is wrong where e is 0: how they round elsewhere, and
what they give there."""

NOT_EXACT_AT_0 = ("logical_repaired", "half_away_and_even")
"""Those of `EXTRA_ROUNDINGS` that change some ``x`` where e is 0, too."""


def _over_threshold(x: Integers, e: Integers) -> Integers:
    """Return by how much the remainder exceeds TFLite's threshold, half of its mask or 1 more."""
    mask = (np.int64(1) << e) - 1
    return (x & mask) - ((mask >> 1) + (x < 0))


def _repaired(x: Integers, bits: int) -> Integers:
    """Return ``x`` in ``bits`` bits, with ones above bit 15 where bits 15 to 8 are ones."""
    return np.where((x >> 8) & 0xFF == 0xFF, x | ~0xFF, wrap(x, bits))


def _logical(x: Integers, e: Integers, bits: int) -> Integers:
    """Return the lowest ``bits`` of ``x``, read without a sign, shifted right by ``e``."""
    word = x.astype(np.uint64) & np.uint64((1 << bits) - 1)
    return (word >> e.astype(np.uint64)).astype(np.int64)


def _divide(x: Integers, e: Integers, rounding: str, bits: int) -> Integers:
    """Return ``x / 2^e`` rounded; ``bits`` is the width of the register that is shifted."""
    if rounding in AT_0:
        elsewhere, at_0 = AT_0[rounding]
        return np.where(e == 0, at_0(x, bits), _divide(x, e, elsewhere, bits))
    if rounding in ROUNDINGS:
        # `rounding_shift` ends at 62, and e at 63: what the first bit dropped is remembered by the
        # next, which is exact in every mode.
        over = np.maximum(e - 62, 0)
        kept = (x >> over) | (x & over) if over.any() else x
        return rounding_shift(kept, e - over, rounding)
    exact = (e == 0) & (rounding not in NOT_EXACT_AT_0)
    return np.where(exact, x, EXTRA_ROUNDINGS[rounding](x, e, bits))


def scaled(a: Arithmetic, form: Form, x: Integers, cases: Cases) -> Integers:
    """Return ``z``, before the zero point."""
    shift = SHIFTS[a.shift](cases["shift"])
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    multiplier = cases["multiplier"]
    if form.fraction_bits == 0:
        # A left shift goes into the multiplier; the rest is TFLite's with 31 shifts less.
        if a.left != "missing":
            multiplier = np.minimum(multiplier << left, INT32_MAX)
        left, right = np.maximum(31 - right, 0), np.maximum(right - 31, 0)
    elif a.left == "missing":
        left = np.zeros_like(left)
    factor = MULTIPLIERS[a.multiplier](multiplier)
    if a.scale in FLOATS:
        return float_scaled(a, x, np.ldexp(factor.astype(np.float64), left - right - 31))
    if a.scale == "one":
        product = kept(OPERANDS[a.operand](x) * factor, a.product)
        by = RIGHTS[a.right](31 + right - left, 5)
        return _divide(product + _more(cases, "second_nudges", by), by, a.second, 64)
    y = kept(_high_product(a, x, factor, left, cases), a.high)
    down = RIGHTS[a.right](right, 4)
    y = y + _more(cases, "second_nudges", down)
    if a.zero_point == "before_shift":
        y = y + (cases["zero_point"] << down)
    return _divide(y, down, a.second, 32)


def _more(cases: Cases, which: str, e: Integers) -> Any:
    """Return what a rounding's addend makes if it is added more often than once, by case."""
    return cases[which] * (_half(e) * (e > 0)) if which in cases else 0


def _high_product(
    a: Arithmetic, x: Integers, factor: Integers, left: Integers, cases: Cases
) -> Integers:
    """Return ``y``, the high half of the doubled product."""
    shifted = OPERANDS[a.operand](LEFTS[a.left](x, left))
    product = kept(shifted * factor, a.product)
    by = np.full_like(product, a.first_shift)
    if a.left == "wide":
        by = by - left
    y = _divide(product + _more(cases, "first_nudges", by), by, a.first, 64)
    if a.left == "wide":
        return np.where(left > 0, np.clip(y, -FAR, FAR), y)
    return wrap32(y << left if a.left == "after" else y)


def float_scaled(a: Arithmetic, x: Integers, real: ArrayLike) -> Integers:
    """Return ``x * real``, all in the float type ``scale``, as ``second`` rounds."""
    kind = np.dtype(a.scale)
    z = (x.astype(kind) * np.asarray(real, kind)).astype(np.float64)
    return round_float(np.clip(z, -FAR, FAR), a.second).astype(np.int64)


ZERO_POINTS: dict[str, Callable[[Integers, Integers], Integers]] = {
    "added": lambda z, offset: wrap32(z + offset),
    "wide": lambda z, offset: z + offset,
    "subtracted": lambda z, offset: wrap32(z - offset),
    "missing": lambda z, offset: z,
    "before_shift": lambda z, offset: z,
    "unsigned": lambda z, offset: wrap32(z + (offset & 0xFF)),
}
"""``z`` and the zero point (``zero_point``); ``before_shift`` has it in ``z`` already."""


Offset = Callable[[Integers, Integers], Integers]
Clamp = Callable[[Integers, Offset, Integers, Integers, Integers], Integers]


def _from(least: Callable[[Integers, Integers], Integers]) -> Clamp:
    """Return a clamp with another lower bound, made of the bound and the zero point."""
    return lambda z, add, offset, low, high: np.minimum(
        np.maximum(add(z, offset), least(low, offset)), high
    )


CLAMPS: dict[str, Clamp] = {
    "bounds": lambda z, add, offset, low, high: np.clip(add(z, offset), low, high),
    "int8": lambda z, add, offset, low, high: saturate(add(z, offset), 8),
    "wraps": lambda z, add, offset, low, high: add(z, offset),
    "wraps_then_bounds": lambda z, add, offset, *ends: np.clip(wrap(add(z, offset), 8), *ends),
    "relu_at_0": _from(lambda low, offset: np.where(low > -128, 0, low)),
    "relu_at_0_of_zero_point": _from(lambda low, offset: np.where(low == offset, 0, low)),
    "relu_always": _from(lambda low, offset: np.maximum(low, 0)),
    "symmetric": _from(lambda low, offset: np.maximum(low, -127)),
    "first": lambda z, add, offset, low, high: add(np.clip(z, low, high), offset),
    "first_saturates": lambda z, add, offset, *ends: saturate(add(np.clip(z, *ends), offset), 8),
}
"""Zero point and clamp, in the order in which they are done (``clamp``)."""

FLOATS = ("float32", "float64")
SCALES = ("two", "one", *FLOATS)
"""How often, and in what, the scaling rounds (``scale``)."""

DIVISIONS = (*ROUNDINGS, *EXTRA_ROUNDINGS, *AT_0)

CHOICES: dict[str, tuple[str | int, ...]] = {
    "bias": (*BIASES,),
    "operand": (*OPERANDS,),
    "multiplier": (*MULTIPLIERS,),
    "product": WIDTHS,
    "scale": SCALES,
    "shift": (*SHIFTS,),
    "left": (*LEFTS,),
    "first": DIVISIONS,
    "first_shift": (31, 32),
    "high": WIDTHS,
    "right": (*RIGHTS,),
    "second": DIVISIONS,
    "scaled": WIDTHS,
    "zero_point": (*ZERO_POINTS,),
    "clamp": (*CLAMPS,),
}
"""What each field of `Arithmetic` can be; the broken RTL of the kit's own tests numbers them so."""
