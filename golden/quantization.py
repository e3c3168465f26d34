"""Scales and zero points, and what operators derive from them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eightfold.golden.arrays import Codes
from eightfold.golden.errors import RejectedError, SpecError, UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.golden.remember import read_only
from eightfold.golden.rounding import round_half_away

Reference = Literal["litert", "tflm"]
"""Whose arithmetic: LiteRT's reference kernels, or the variants of TFLite Micro."""


def scale_type(reference: Reference) -> type[np.float32] | type[np.float64]:
    """Return the type in which MUL, DIV and PRELU multiply scales: float32; ``tflm``: float64."""
    return np.float64 if reference == "tflm" else np.float32


RELU_LIMITS: dict[str, tuple[float, float]] = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Real lower and upper bound of each clamping activation."""

FUSED_ACTIVATIONS = frozenset({"NONE", "RELU", "RELU6", "RELU_N1_TO_1"})
"""Fused activations that clamp; the schema's others are ignored by the kernels, as NONE."""


@dataclass(frozen=True, eq=False)
class Quantization:
    """``real = scale * (q - zero_point)``, per tensor or per slice along ``axis``.

    Raises `UndefinedError` if a scale is negative or not finite, or the numbers of scales and zero
    points differ.
    """

    scale: NDArray[np.float32]
    """float32, shape (1,) per tensor, (slices,) per axis."""

    zero_point: NDArray[np.int64]
    """Integers, the shape of ``scale``."""

    axis: int | None = None
    """Dimension of the slices; None per tensor."""

    def __post_init__(self) -> None:
        scale = np.atleast_1d(np.asarray(self.scale, dtype=np.float32))
        zero_point = np.atleast_1d(np.asarray(self.zero_point, dtype=np.int64))
        if scale.shape != zero_point.shape or scale.ndim != 1 or not scale.size:
            raise UndefinedError(f"{scale.size} scales and {zero_point.size} zero points")
        if not np.all(np.isfinite(scale) & (scale >= 0)):
            raise UndefinedError("a scale must be finite and not negative")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "zero_point", zero_point)

    def per_tensor(self) -> tuple[np.float32, int]:
        """Return the only scale, which must not be 0, and the only zero point.

        Raises `RejectedError` if there are several, of which most kernels refuse to prepare, and a
        check ends others. Raises `UndefinedError` if the scale is 0.
        """
        if self.scale.size != 1:
            raise RejectedError(f"an activation has one scale, not {self.scale.size}")
        if self.scale[0] == 0:
            raise UndefinedError("the scale of an activation must not be 0")
        return self.scale[0], int(self.zero_point[0])

    def along_axis(self, rank: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return scales and zero points in a shape that broadcasts over ``rank`` dimensions."""
        if self.axis is None:
            scale, zero_point = self.per_tensor()
            return np.asarray(scale), np.asarray(zero_point)
        shape = [1] * rank
        shape[self.axis] = -1
        return self.scale.reshape(shape), self.zero_point.reshape(shape)


@lru_cache(maxsize=1024)
def fused_bounds(activation: str, output: Quantization) -> tuple[int, int]:
    """Return the codes between which a fused ``activation`` clamps, as `quantized_bounds`.

    Those outside `FUSED_ACTIVATIONS` do not clamp. Raises `RejectedError` if a bound leaves int32.
    """
    name = activation if activation in FUSED_ACTIVATIONS else "NONE"
    return quantized_bounds(name, output, RejectedError)


def quantized_bounds(
    activation: str, output: Quantization, outside: type[SpecError]
) -> tuple[int, int]:
    """Return the codes of an activation's real bounds, within [-128, 127].

    ``zero_point + round(v / scale)`` of each real bound v, in float32, ties away from zero. An
    infinite bound is the end of int8.
    Raises the class ``outside`` if ``round(v / scale)`` leaves int32.
    """
    scale, zero_point = output.per_tensor()
    codes = []
    for real, end in zip(RELU_LIMITS[activation], (-128, 127), strict=True):
        if np.isinf(real):
            codes.append(end)
            continue
        with np.errstate(over="ignore"):
            steps = float(round_half_away(np.float32(real) / scale))
        if not INT32_MIN <= steps <= INT32_MAX:
            raise outside(f"the bound {real} leaves int32 at scale {scale}")
        codes.append(zero_point + int(steps))
    return max(-128, codes[0]), min(127, codes[1])


@lru_cache(maxsize=1024)
def effective_scales(
    inputs: Quantization, weights: Quantization, output: Quantization
) -> NDArray[np.float64]:
    """Return ``s_in * s_w / s_out``, one per filter scale, each scale first widened to float64."""
    product = float(inputs.per_tensor()[0]) * weights.scale.astype(np.float64)
    return read_only(product / float(output.per_tensor()[0]))


def clamp(v: NDArray[np.signedinteger], bounds: tuple[int, int] = (-128, 127)) -> Codes:
    """Return ``min(high, max(low, v))`` as int8."""
    return np.minimum(bounds[1], np.maximum(bounds[0], v)).astype(np.int8)


def saturate(v: NDArray[np.signedinteger], dtype: DTypeLike) -> NDArray[Any]:
    """Return the nearest numbers of an integer type, such as uint8."""
    limits = np.iinfo(dtype)
    return np.clip(v, limits.min, limits.max).astype(dtype)


def check_same(name: str, *quantizations: Quantization | None) -> None:
    """Raise `RejectedError` unless tensors have the same scale and zero point, or all none."""
    if len({each and each.per_tensor() for each in quantizations}) > 1:
        raise RejectedError(f"inputs and outputs of {name} must have the same scale and zero point")
