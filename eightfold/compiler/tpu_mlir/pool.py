"""TPU-MLIR's AvgPool: what is done with the sums of windows, which the MAC array computes."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.exact.step_function import StepFunction
from eightfold.compiler.steps.elementwise import IDENTITY, Elementwise
from eightfold.compiler.steps.two_bytes import TwoBytes, two_bytes
from eightfold.compiler.tpu_mlir.affine_steps import AffineSteps, fit
from eightfold.compiler.tpu_mlir.lower import CODES
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.tpu_mlir.windows import pooled
from eightfold.isa import Combine

BYTE_SUMS = 254 * 256
"""Sums that two bytes tell apart, with one value of the high byte to spare at each end."""


@dataclass(frozen=True, kw_only=True)
class SplitSums:
    """Part of AvgPool's results: high and low byte of ``weight * sum``, then a function of both.

    ``high`` and ``low`` are requantizations; ``join`` adds the result to that of the parts before.
    """

    high: dict[str, int]
    low: dict[str, int]
    function: TwoBytes
    join: Elementwise


@dataclass(frozen=True, kw_only=True)
class Pool:
    """AvgPool: ``weight`` of every tap, then one requantization, or parts that are added up."""

    weight: int
    parameters: dict[str, int] | None
    parts: tuple[SplitSums, ...] = ()


def pool(kernel: tuple[int, int], scale: float, offset: float, rounding: str) -> Pool:
    """Return AvgPool over sums of all int8 taps: ``round(f32(f32(scale * sum) - offset))``."""
    scale, offset = float(np.float32(scale)), float(np.float32(offset))
    sign = -1 if scale < 0 else 1

    def result(acc: NDArray[np.int64]) -> NDArray[np.int64]:
        return pooled(sign * acc, scale, offset, rounding).astype(np.int64)

    ends = sorted(sign * end * prod(kernel) for end in (-128, 127))
    result(np.array(ends))  # checks the factors
    found: AffineSteps | None = None
    if scale:
        steps = StepFunction.of(result, -128, 127, ends[0], ends[1])
        found = fit(steps, abs(scale), rounding)
    if found is not None:
        return Pool(weight=sign * found.weight, parameters=found.parameters)
    parts = []
    for first in range(ends[0], ends[1] + 1, BYTE_SUMS):
        last = min(first + BYTE_SUMS - 1, ends[1])
        low, high = result(np.array([first, last + 1 if last < ends[1] else last])).tolist()
        origin = first + BYTE_SUMS // 2
        highs = 256 * CODES + origin
        lows = CODES & 255
        values = np.clip(result(highs[:, None] + lows[None, :]), low, high)
        summands = (
            sign * scale * highs.astype(np.float64) - offset,
            sign * scale * lows.astype(float),
        )
        down = IDENTITY | {"multiplier": 1, "rounding": ROUNDINGS.index("down"), "bias": -origin}
        parts.append(
            SplitSums(
                high=down | {"right": 8},
                low=down | {"left": 24, "right": 24},
                function=two_bytes(values, summands, rounding),
                join=Elementwise(combine=Combine.ADD, requantize=IDENTITY | {"bias": -low}),
            )
        )
    return Pool(weight=sign, parameters=None, parts=tuple(parts))
