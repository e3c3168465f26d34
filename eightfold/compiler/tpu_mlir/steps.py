"""The steps of one operator: any function of two bytes with int8 results, on the vector engine.

Most are a sum of two tables, rounded: ``clamp(round((table_a[a] + table_b[b]) / 2^k))``. Where a
function is not, because its sums are in float32 and near a tie, corrections are added. A correction
looks up the bits of a difference: table_b[b] has those of several rows a, table_a[a] is the power
of two whose product moves the bits of its own row to the same place, and the requantizer cuts them
out by a left shift that wraps and a right shift. So there is no function that this cannot compute.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.exact import least_product
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.steps.elementwise import IDENTITY, Elementwise, Pointwise
from eightfold.compiler.steps.step import Step, Temporary
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.tpu_mlir.numbers import Code
from eightfold.isa import Combine
from eightfold.target.config import AcceleratorConfig

Integers = NDArray[np.int64]

FRACTION = 20
"""Fraction bits of the summed tables, at most."""

ROUNDS = 24
"""Sweeps over all pairs in which tables that have every result must be found."""

SHIFT_MAX, MASK_BITS = 14, 22
"""The largest power of two in a product's signed 16 bits of a, and the bits of b."""


@dataclass(frozen=True, kw_only=True)
class TwoBytes:
    """``base(a, b)``, then ``join(result, correction(a, b))`` for each correction.

    ``swapped``: the corrections' operands are b and a.
    """

    base: Elementwise
    join: Elementwise = field(default_factory=lambda: Elementwise(combine=Combine.ADD))
    corrections: tuple[Elementwise, ...] = ()
    swapped: bool = False


def two_bytes(
    values: Integers, summands: tuple[NDArray[np.float64], NDArray[np.float64]], rounding: str
) -> TwoBytes:
    """Return what computes ``values[a, b]``, exactly.

    ``values``: in [-128, 127], shape (256, 256), by the bytes read as unsigned. ``summands``, shape
    (256,) each: ``values`` is about their sum, rounded and clamped. Only the number of corrections
    depends on it. Infinities count as what saturates. ``rounding``: a name of
    `eightfold.golden.rounding.ROUNDINGS`.
    """
    a, b = _bounded(*summands)
    largest = max(np.abs(a).max(), np.abs(b).max(), 256)
    right = min(int(29 - np.log2(largest)), FRACTION)
    first, second = (np.rint(each * 2.0**right).astype(np.int64) for each in (a, b))
    nudge = (1 << right) >> 14  # about what float32 is off near a tie: all errors have one sign
    adjusted = _adjusted(values, first, second, right, rounding)
    found = _corrected(values, _sum(*adjusted, right, rounding, values))
    if found is not None and not found.corrections:
        return found
    zero = np.zeros(256, dtype=np.int64)
    others = [
        *(_sum(first + shift, second, right, rounding, values) for shift in (nudge, -nudge)),
        Elementwise(combine=Combine.ADD, tables=(zero, zero)),
    ]
    candidates = (found, *(_corrected(values, base) for base in others))
    return min((f for f in candidates if f is not None), key=lambda f: len(f.corrections))


def _bounded(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Return the summands clamped to what the other one can bring back into range, and to 2^27."""
    reach = [float(np.max(np.abs(s[np.isfinite(s)]), initial=0)) for s in (a, b)]
    limits = [min(other + 1024, 2.0**27) for other in reversed(reach)]
    return np.clip(a, -limits[0], limits[0]), np.clip(b, -limits[1], limits[1])


def _sum(a: Integers, b: Integers, right: int, rounding: str, values: Integers) -> Elementwise:
    """Return the rounded sum of two tables, clamped to the values' ends."""
    shift = {"multiplier": 1, "right": right, "rounding": ROUNDINGS.index(rounding)}
    ends = {"low": int(values.min()), "high": int(values.max())}
    return Elementwise(combine=Combine.ADD, tables=(a, b), requantize=IDENTITY | shift | ends)


def _adjusted(
    values: Integers, a: Integers, b: Integers, right: int, rounding: str
) -> tuple[Integers, Integers]:
    """Return tables whose rounded sum has every value; as given if none are found soon.

    Each pair bounds a[i] - (-b[j]) from below and above. Such constraints are solved by lowering
    what is too large (the shortest paths of Bellman and Ford), here for all pairs at once.
    """
    low = values.min()
    high = values.max()
    free = 1 << 40
    least = np.where(values > low, least_product(values, right, rounding), -free)
    most = np.where(values < high, least_product(values + 1, right, rounding) - 1, free)
    x, y = a, -b
    for _ in range(ROUNDS):
        lower_x = np.minimum(x, (y[None, :] + most).min(axis=1))
        lower_y = np.minimum(y, (lower_x[:, None] - least).min(axis=0))
        if np.array_equal(x, lower_x) and np.array_equal(y, lower_y):
            inside = max(np.abs(x).max(), np.abs(y).max()) < 1 << 30
            return (x, -y) if inside else (a, b)
        x, y = lower_x, lower_y
    return a, b


def _corrected(values: Integers, base: Elementwise) -> TwoBytes | None:
    """Return ``base`` with what corrects it; None if a difference is too large for a byte."""
    a, b = base.tables
    difference = values - requantize(a[:, None] + b[None, :], **base.requantize)
    if not difference.any():
        return TwoBytes(base=base)
    # A difference of 1 takes two bits, one of -1 takes one.
    negative = bool(difference.min() >= 0)
    if negative:
        difference = -difference
    if difference.min() < -128 or difference.max() > 127:
        return None
    sides = [_selections(difference), _selections(difference.T)]
    swapped = len(sides[1]) < len(sides[0])
    return TwoBytes(
        base=base,
        join=Elementwise(combine=Combine.SUBTRACT if negative else Combine.ADD),
        corrections=tuple(sides[swapped]),
        swapped=swapped,
    )


def _selections(difference: Integers) -> list[Elementwise]:
    """Return operations whose results add up to ``difference[a, b]``; one is not 0, at most.

    Rows of ``difference`` that are equal share their bits.
    """
    bits = 1
    while difference.min() < -(1 << (bits - 1)) or difference.max() > (1 << (bits - 1)) - 1:
        bits += 1
    rows, row_of = np.unique(difference, axis=0, return_inverse=True)
    row_of = row_of.reshape(-1)
    wanted = np.flatnonzero(rows.any(axis=1))
    fields = min(SHIFT_MAX // bits + 1, MASK_BITS // bits)
    cut = IDENTITY | {
        "left": 32 - bits * fields,
        "multiplier": 1,
        "right": 32 - bits,
        "rounding": ROUNDINGS.index("down"),
    }
    found = []
    for start in range(0, len(wanted), fields):
        factor = np.zeros(256, dtype=np.int64)
        mask = np.zeros(256, dtype=np.int64)
        for place, row in enumerate(wanted[start : start + fields]):
            factor[row_of == row] = 1 << (bits * (fields - 1 - place))
            mask |= (rows[row] & ((1 << bits) - 1)) << (bits * place)
        found.append(Elementwise(combine=Combine.MULTIPLY, tables=(factor, mask), requantize=cut))
    return found


Shape = tuple[int, ...]
Operand = tuple[int, Shape]
"""A tensor and its shape."""


@dataclass
class StepList:
    """Steps of a form in order, for an accelerator; temporaries have numbers from ``first`` on.

    ``codes``: the types of the form's operands, and of its result.
    """

    config: AcceleratorConfig
    first: int
    codes: Sequence[Code]
    steps: list[Step] = field(default_factory=list)
    temporaries: dict[int, Temporary] = field(default_factory=dict)

    def temporary(self, size: int, content: bytes | None = None) -> int:
        """Return a new temporary of ``size`` bytes, a constant if it has a content."""
        number = self.first + len(self.temporaries)
        self.temporaries[number] = Temporary(size, content)
        return number

    def pointwise(
        self, operation: Elementwise, operands: Sequence[Operand], shape: Shape
    ) -> Operand:
        """Add an element-wise operation; return its result."""
        target = self.temporary(prod(shape))
        used = operands[: operation.operands]
        sources, shapes = zip(*used, strict=True)
        self.steps.append(
            Pointwise(
                operation=operation, sources=sources, shapes=shapes, target=target, shape=shape
            )
        )
        return target, shape

    def two_bytes(self, function: TwoBytes, a: Operand, b: Operand, shape: Shape) -> Operand:
        """Add a function of two bytes; return its result."""
        result = self.pointwise(function.base, (a, b), shape)
        chosen = (b, a) if function.swapped else (a, b)
        for correction in function.corrections:
            difference = self.pointwise(correction, chosen, shape)
            result = self.pointwise(function.join, (result, difference), shape)
        return result

    def lowered(self, target: int) -> Lowered:
        """Return all, the last result being the tensor ``target``."""
        *before, last = self.steps
        temporaries = {t: v for t, v in self.temporaries.items() if t != last.target}
        return Lowered(
            steps=(*before, replace(last, target=target)), temporaries=temporaries, searched=0
        )
