"""TPU-MLIR's forms as operations of the engines: what each computes, without tensors.

The machine's bytes are int8; a code of uint8 is held less 128. The last of the ``codes`` of a form
is its result's type, those before it are its operands'. The formulas are those of
`eightfold.golden.tpu_mlir.windows` and `eightfold.golden.tpu_mlir.elementwise`, which also fill the
tables and check the parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.lower.pointwise import least_sources
from eightfold.compiler.steps.elementwise import CODES, EVERY_BYTE, IDENTITY, Elementwise
from eightfold.compiler.tpu_mlir.steps import TwoBytes, two_bytes
from eightfold.golden.quantization import Quantization
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import rounding_code
from eightfold.golden.tpu_mlir import elementwise as tpu_mlir_elementwise
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
from eightfold.golden.tpu_mlir.numbers import OFFSETS, Code
from eightfold.isa import Combine

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
    multipliers: Sequence[int], rshift: int, rounding: str, codes: Sequence[Code]
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
    a: Quantization, b: Quantization, output: Quantization, rounding: str, codes: Sequence[Code]
) -> TwoBytes:
    """Return the asymmetric Add: every pair of bytes computed in float32, and found again."""
    x, y = (every(code) for code in codes[:2])
    values = tpu_mlir_elementwise.add_asymmetric(
        x[:, None],
        y[None, :],
        a_quantization=a,
        b_quantization=b,
        output_quantization=output,
        rounding=rounding,
        code=codes[-1],
    )
    scale, zero_point = output.per_tensor()
    with np.errstate(over="ignore"):
        first, second = (
            tpu_mlir.dequantize(each, quantization).astype(np.float64) / float(scale)
            for each, quantization in ((x, a), (y, b))
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
