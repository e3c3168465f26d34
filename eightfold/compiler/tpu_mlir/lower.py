"""TPU-MLIR's forms as operations of the engines: what each computes, without tensors.

The machine's bytes are int8; a code of uint8 is held less 128. The last of the ``codes`` of a form
is its result's type, those before it are its operands'. The formulas are those of
`eightfold.golden.tpu_mlir.windows` and `eightfold.golden.tpu_mlir.elementwise`, which also fill the
tables and check the parameters.

Any function of two bytes with int8 results is computed by the vector engine. Most are a sum of two
tables, rounded: ``clamp(round((table_a[a] + table_b[b]) / 2^k))``. Where a function is not, because
its sums are in float32 and near a tie, corrections are added. A correction looks up the bits of a
difference: table_b[b] has those of several rows a, table_a[a] is the power of two whose product
moves the bits of its own row to the same place, and the requantizer cuts them out by a left shift
that wraps and a right shift. So there is no function that this cannot compute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.exact import least_product
from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.lower.pointwise import least_sources
from eightfold.compiler.steps.elementwise import CODES, EVERY_BYTE, IDENTITY, Elementwise, Pointwise
from eightfold.compiler.steps.step import Step, Temporary
from eightfold.golden.quantization import Quantization
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS, rounding_code
from eightfold.golden.tpu_mlir import elementwise as tpu_mlir_elementwise
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
from eightfold.golden.tpu_mlir.numbers import OFFSETS, Code
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


def every(code: Code) -> NDArray[Any]:
    """Return the code that each byte holds."""
    return tpu_mlir.from_int8(EVERY_BYTE, code)


def add_symmetric(
    codes: Sequence[Code], multipliers: Sequence[int], rshift: int, rounding: str = "half_up"
) -> Elementwise:
    """Return the symmetric Add: the products from tables, the sum shifted."""
    options: dict[str, Any] = {"rshift": rshift, "rounding": rounding}
    first, second = multipliers
    a, b = (every(code) for code in codes[:2])
    tpu_mlir_elementwise.add_symmetric(a, b, multipliers=(first, second), **options)
    fields = tpu_mlir.requantizer(1, rshift, rounding=rounding, zero_point=-OFFSETS[codes[-1]])
    return Elementwise(
        combine=Combine.ADD,
        tables=(a.astype(np.int64) * int(first), b.astype(np.int64) * int(second)),
        requantize=scaling(fields),
    )


def add_asymmetric(
    codes: Sequence[Code],
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    rounding: str = "half_away",
) -> TwoBytes:
    """Return the asymmetric Add: every pair of bytes computed in float32, and found again."""
    x, y = (every(code) for code in codes[:2])
    values = tpu_mlir_elementwise.add_asymmetric(
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
            tpu_mlir.dequantize(each, quantization).astype(np.float64) / float(scale)
            for each, quantization in ((x, a_quantization), (y, b_quantization))
        )
    summands = first + zero_point - OFFSETS[codes[-1]], second
    return two_bytes(tpu_mlir.to_int8(values).astype(np.int64), summands, rounding)


def leaky_relu(codes: Sequence[Code], **options: Any) -> Elementwise:
    """Return LeakyReLU, a table; options of `eightfold.golden.tpu_mlir.elementwise.leaky_relu`."""
    x, code = every(codes[0]), codes[-1]
    return table(tpu_mlir.to_int8(tpu_mlir_elementwise.leaky_relu(x, code=code, **options)))


def table(codes: NDArray[np.int8]) -> Elementwise:
    """Return a function of one byte by its codes."""
    return Elementwise(tables=(codes.astype(np.int64),))


def pad(
    value: float, input_zero_point: int, output: Quantization, codes: Sequence[Code]
) -> tuple[NDArray[np.int8], int]:
    """Return what each byte becomes inside of a Pad, and the byte around."""
    options: dict[str, Any] = {"input_zero_point": input_zero_point, "output_quantization": output}
    options["code"] = codes[-1]
    padded = tpu_mlir_elementwise.pad(every(codes[0]), [[1, 0]], value, **options)
    held = tpu_mlir.to_int8(padded)
    return held[1:], int(held[0])


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """PReLU with a slope for each channel.

    A channel's slope is looked up by a byte that stands for it: ``bytes[i]``, int8 (channels,),
    are operand b of ``products[i]``. A slope that is not in the table of a product is 0 there.
    ``first`` adds the codes from Z_x on to the first product; ``join`` adds the others. Where
    there is no ``first``, the only product is the result.
    """

    bytes: tuple[NDArray[np.int8], ...]
    products: tuple[Elementwise, ...]
    first: Elementwise | None
    join: Elementwise


def prelu(
    alpha: NDArray[np.int8],
    *,
    channels: int,
    codes: Sequence[Code],
    multiplier: ArrayLike,
    **options: Any,
) -> Elementwise | Slopes:
    """Return PReLU; options of `eightfold.golden.tpu_mlir.elementwise.prelu`.

    Below Z_x the result is ``round((x - Z_x) * slope / 2^rshift) + Z_y``, slope being
    ``alpha * M``. With RECTIFY one command does both sides, if a number can be found that the
    shift takes to each code from Z_x on; there is none for a left shift. Else the products of
    ``min(x - Z_x, 0)`` are Z_y from Z_x on, and there ``result - Z_y`` is added.
    """
    slopes = np.atleast_1d(alpha.astype(np.int64) * np.asarray(multiplier).astype(np.int64))
    x = np.broadcast_to(every(codes[0]), (1, slopes.size, 256))
    results = tpu_mlir.to_int8(
        tpu_mlir_elementwise.prelu(x, alpha, multiplier=multiplier, code=codes[-1], **options)
    )
    if slopes.size not in (1, channels):
        raise InputError(f"{slopes.size} slopes do not fit {channels} channels")
    different, which = np.unique(slopes, return_inverse=True)
    if len(different) == 1:
        return table(results[0, 0])
    zero = options.get("input_zero_point", 0) - OFFSETS[codes[0]]
    target = options.get("output_zero_point", 0) - OFFSETS[codes[-1]]
    rounding = options.get("rounding", "half_up")
    shift = scaling(
        tpu_mlir.requantizer(1, options["rshift"], rounding=rounding, zero_point=target)
    )
    below = zero > CODES
    result = results[0, 0].astype(np.int64)
    sources = least_sources(shift, np.where(below, target, result))
    if sources is not None and len(different) <= 256:
        operand = np.where(below, CODES - zero, sources)
        products, numbers = _looked_up(Combine.RECTIFY, operand, different, which, 256, shift)
        return Slopes(bytes=numbers, products=products, first=None, join=Elementwise())
    operand = np.minimum(CODES - zero, 0)
    size = 256 if len(different) <= 256 else 255
    products, numbers = _looked_up(Combine.MULTIPLY, operand, different, which, size, shift)
    positive = np.where(below, 0, result - target)
    return Slopes(
        bytes=numbers,
        products=products,
        first=Elementwise(combine=Combine.ADD, tables=(positive,)),
        join=Elementwise(combine=Combine.ADD, requantize=IDENTITY | {"bias": -target}),
    )


def _looked_up(
    combine: Combine,
    operand: NDArray[np.int64],
    different: NDArray[np.int64],
    which: NDArray[np.int64],
    size: int,
    shift: dict[str, int],
) -> tuple[tuple[Elementwise, ...], tuple[NDArray[np.int8], ...]]:
    """Return the products with ``size`` slopes each, and the bytes that choose each channel's.

    Byte 0 is a slope of 0 if there are several products.
    """
    products = []
    numbers = []
    for start in range(0, len(different), size):
        entries = np.zeros(256, dtype=np.int64)
        chosen = different[start : start + size]
        reserved = 256 - size
        entries[reserved : reserved + len(chosen)] = chosen
        number = which.reshape(-1) - start + reserved
        inside = (number >= reserved) & (number < 256)
        numbers.append(np.where(inside, number, 0).astype(np.uint8).view(np.int8))
        products.append(Elementwise(combine=combine, tables=(operand, entries), requantize=shift))
    return tuple(products), tuple(numbers)
