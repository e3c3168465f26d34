"""TPU-MLIR's forms on one element at a time, and those that move elements, as steps.

The machine's bytes are int8; a code of uint8 is held less 128. The formulas are those of
`eightfold.golden.tpu_mlir.elementwise`, which also fills the tables and checks the parameters.

Any function of two bytes with int8 results is computed by the vector engine. Most are a sum of two
tables, rounded: ``clamp(round((table_a[a] + table_b[b]) / 2^k))``. Where a function is not, because
its sums are in float32 and near a tie, corrections are added. A correction looks up the bits of a
difference: table_b[b] has those of several rows a, table_a[a] is the power of two whose product
moves the bits of its own row to the same place, and the requantizer cuts them out by a left shift
that wraps and a right shift. So there is no function that this cannot compute.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.exact import least_product
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.lower.pointwise import least_sources
from eightfold.compiler.steps.elementwise import (
    CODES,
    EVERY_BYTE,
    IDENTITY,
    Elementwise,
    Pointwise,
    Shape,
    Shaped,
)
from eightfold.compiler.steps.movement import Copy, Movement, copies
from eightfold.compiler.steps.step import Step, Temporary
from eightfold.golden.binary import broadcast
from eightfold.golden.quantization import Quantization
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS, rounding_code
from eightfold.golden.tpu_mlir import elementwise, numbers
from eightfold.golden.tpu_mlir.windows import Pair
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


@dataclass
class StepList:
    """Steps of a form in order, for an accelerator; temporaries have numbers from ``first`` on.

    ``codes``: the types of the form's operands, and of its result.
    """

    config: AcceleratorConfig
    first: int
    codes: Sequence[numbers.Code]
    steps: list[Step] = field(default_factory=list)
    temporaries: dict[int, Temporary] = field(default_factory=dict)

    def temporary(self, size: int, content: bytes | None = None) -> int:
        """Return a new temporary of ``size`` bytes, a constant if it has a content."""
        number = self.first + len(self.temporaries)
        self.temporaries[number] = Temporary(size, content)
        return number

    def pointwise(self, operation: Elementwise, operands: Sequence[Shaped], shape: Shape) -> Shaped:
        """Add an element-wise operation; return its result."""
        target = self.temporary(prod(shape))
        used = tuple(operands[: operation.operands])
        step = Pointwise(operation=operation, operands=used, target=target, shape=shape)
        self.steps.append(step)
        return target, shape

    def movement(self, shape: Shape, found: Iterable[Copy]) -> Shape:
        """Add copies; return their result's shape."""
        self.steps.append(Movement(target=self.temporary(prod(shape)), copies=tuple(found)))
        return shape

    def two_bytes(self, function: TwoBytes, a: Shaped, b: Shaped, shape: Shape) -> Shaped:
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


Fields = Mapping[str, Any]

DEFAULTS = dict.fromkeys(("bias", "left", "right", "single", "zero_point"), 0)
DEFAULTS |= {"rounding": "half_away", "low": -128, "high": 127}
"""The arguments of `eightfold.golden.requantize.requantize`."""


def scaling(fields: Fields) -> dict[str, int]:
    """Return the requantization with arguments of `eightfold.golden.requantize.requantize`, all
    scalars."""
    return {name: int(values[0]) for name, values in per_channel(fields, 1).items()}


def per_channel(fields: Fields, count: int) -> dict[str, NDArray[np.int64]]:
    """Return arguments of `eightfold.golden.requantize.requantize` for ``count`` channels."""
    requantize(0, **fields)  # checks them
    known = DEFAULTS | dict(fields)
    known["rounding"] = rounding_code(known["rounding"])
    values = {name: np.asarray(value).astype(np.int64) for name, value in known.items()}
    return {name: np.broadcast_to(value, (count,)) for name, value in values.items()}


def every(code: numbers.Code) -> NDArray[Any]:
    """Return the code that each byte holds."""
    return numbers.from_int8(EVERY_BYTE, code)


def common(a: Shaped, b: Shaped) -> Shape:
    """Return the shape that two operands broadcast to."""
    return broadcast(*(np.broadcast_to(False, shape) for _, shape in (a, b)))[0].shape


def add_symmetric(
    steps: StepList,
    a: Shaped,
    b: Shaped,
    *,
    multipliers: Pair,
    rshift: int,
    rounding: str = "half_up",
) -> Shape:
    """Add the symmetric Add: the products from tables, the sum shifted; return its shape."""
    x, y = map(every, steps.codes[:2])
    options: dict[str, Any] = {"rshift": rshift, "rounding": rounding}
    elementwise.add_symmetric(x, y, multipliers=multipliers, **options)
    fields = numbers.requantizer(1, zero_point=-numbers.OFFSETS[steps.codes[-1]], **options)
    tables = (
        codes.astype(np.int64) * int(multiplier)
        for codes, multiplier in zip((x, y), multipliers, strict=True)
    )
    total = Elementwise(combine=Combine.ADD, tables=tuple(tables), requantize=scaling(fields))
    return steps.pointwise(total, (a, b), common(a, b))[1]


def add_asymmetric(steps: StepList, a: Shaped, b: Shaped, **options: Any) -> Shape:
    """Add the asymmetric Add, with options of `asymmetric_sum`; return its shape."""
    return steps.two_bytes(asymmetric_sum(steps.codes, **options), a, b, common(a, b))[1]


def asymmetric_sum(
    codes: Sequence[numbers.Code],
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    rounding: str = "half_away",
) -> TwoBytes:
    """Return the asymmetric Add: every pair of bytes computed in float32, and found again."""
    x, y = map(every, codes[:2])
    values = elementwise.add_asymmetric(
        x[:, None],
        y[None, :],
        a_quantization=a_quantization,
        b_quantization=b_quantization,
        output_quantization=output_quantization,
        rounding=rounding,
        code=codes[-1],
    )
    scale, zero_point = output_quantization.per_tensor()
    with np.errstate(over="ignore"):
        first, second = (
            numbers.dequantize(each, quantization).astype(np.float64) / float(scale)
            for each, quantization in ((x, a_quantization), (y, b_quantization))
        )
    summands = first + zero_point - numbers.OFFSETS[codes[-1]], second
    return two_bytes(numbers.to_int8(values).astype(np.int64), summands, rounding)


def table(codes: NDArray[np.int8]) -> Elementwise:
    """Return a function of one byte by its codes."""
    return Elementwise(tables=(codes.astype(np.int64),))


def leaky_relu(steps: StepList, source: Shaped, **options: Any) -> Shape:
    """Add LeakyReLU, a table; return its shape."""
    codes = elementwise.leaky_relu(every(steps.codes[0]), code=steps.codes[-1], **options)
    return steps.pointwise(table(numbers.to_int8(codes)), (source,), source[1])[1]


def prelu(
    steps: StepList,
    source: Shaped,
    alpha: NDArray[np.int8],
    *,
    multiplier: ArrayLike,
    **options: Any,
) -> Shape:
    """Add PReLU, whose channels are the last axis; return its shape.

    Below Z_x the result is ``round((x - Z_x) * slope / 2^rshift) + Z_y``, slope being
    ``alpha * M``, which is looked up by a byte that stands for the channel. With RECTIFY one
    command does both sides, if a number can be found that the shift takes to each code from Z_x on;
    there is none for a left shift. Else the products of ``min(x - Z_x, 0)`` are Z_y from Z_x on,
    and there ``result - Z_y`` is added.
    """
    shape = source[1]
    if len(shape) < 2:
        raise InputError(f"the input has the shape {shape}; it needs two axes or more")
    before, code = steps.codes
    slopes = np.atleast_1d(alpha.astype(np.int64) * np.asarray(multiplier).astype(np.int64))
    x = np.broadcast_to(every(before), (1, slopes.size, 256))
    results = numbers.to_int8(
        elementwise.prelu(x, alpha, multiplier=multiplier, code=code, **options)
    )
    if slopes.size not in (1, shape[-1]):
        raise InputError(f"{slopes.size} slopes do not fit {shape[-1]} channels")
    different, which = np.unique(slopes, return_inverse=True)
    if len(different) == 1:
        return steps.pointwise(table(results[0, 0]), (source,), shape)[1]
    zero = options.get("input_zero_point", 0) - numbers.OFFSETS[before]
    target = options.get("output_zero_point", 0) - numbers.OFFSETS[code]
    rounding = options.get("rounding", "half_up")
    shift = scaling(numbers.requantizer(1, options["rshift"], rounding=rounding, zero_point=target))
    below = zero > CODES
    result = results[0, 0].astype(np.int64)
    few = len(different) <= 256
    sources = least_sources(shift, np.where(below, target, result)) if few else None
    combine = Combine.MULTIPLY if sources is None else Combine.RECTIFY
    operand = np.where(below, CODES - zero, 0 if sources is None else sources)
    positive = Elementwise(combine=Combine.ADD, tables=(np.where(below, 0, result - target),))
    join = Elementwise(combine=Combine.ADD, requantize=IDENTITY | {"bias": -target})
    total = source
    size = 256 if few else 255
    for start in range(0, len(different), size):
        entries, chosen = _looked_up(different, which.reshape(-1), start, size)
        constant = steps.temporary(chosen.size, chosen.tobytes()), chosen.shape
        product = Elementwise(combine=combine, tables=(operand, entries), requantize=shift)
        found = steps.pointwise(product, (source, constant), shape)
        if sources is None:
            total = steps.pointwise(join if start else positive, (total, found), shape)
    return shape


def _looked_up(
    different: NDArray[np.int64], which: NDArray[np.int64], start: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return a table with ``size`` slopes from ``start`` on, and the byte that chooses a channel's.

    Byte 0 is a slope of 0 if the table has no room for all: that of channels without one.
    """
    reserved = 256 - size
    entries = np.zeros(256, dtype=np.int64)
    entries[reserved:][: len(different) - start] = different[start : start + size]
    number = which - start + reserved
    inside = (number >= reserved) & (number < 256)
    return entries, np.where(inside, number, 0).astype(np.uint8).view(np.int8)


def pad(
    steps: StepList, source: Shaped, paddings: ArrayLike, value: float, **options: Any
) -> Shape:
    """Add Pad: a table for what is inside if that changes, a fill and copies; return its shape."""
    before, code = steps.codes
    held = numbers.to_int8(elementwise.pad(every(before), [[1, 0]], value, code=code, **options))
    shape = source[1]
    if not np.array_equal(held[1:], EVERY_BYTE):
        source = steps.pointwise(table(held[1:]), (source,), shape)
    around = np.asarray(paddings, dtype=np.int64)
    if around.shape != (len(shape), 2) or np.any(around < 0):
        raise InputError(f"paddings must be {len(shape)} pairs, none negative")
    places = np.pad(np.arange(prod(shape)).reshape(shape), around, constant_values=-1)
    fill = Copy(None, 0, 0, places.size, fill=int(held[0]))
    found = [fill] if places.size > prod(shape) else []
    return steps.movement(places.shape, [*found, *copies(places, source[0], shape, 1)])


def arrange(steps: StepList, *operands: Shaped, order: NDArray[np.int64]) -> Shape:
    """Add copies of operands' codes in another order; return the result's shape."""
    if len(set(steps.codes)) > 1:
        raise InputError(f"{', '.join(steps.codes[:-1])} do not join; use one type")
    start, found = 0, list[Copy]()
    for tensor, shape in operands:
        inside = (order >= start) & (order < start + prod(shape))
        found += copies(np.where(inside, order - start, -1), tensor, shape, 1)
        start += prod(shape)
    return steps.movement(order.shape, found)
