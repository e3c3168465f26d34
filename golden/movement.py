"""Operators that copy bytes: PAD and RESHAPE."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.errors import RejectedError
from golden.quantization import Quantization


def pad(
    x: NDArray[np.int8], paddings: ArrayLike, *, output_quantization: Quantization
) -> NDArray[np.int8]:
    """Return ``x`` surrounded by the output's zero point; the codes are copied, not rescaled.

    Parameters
    ----------
    paddings
        Integers, shape (rank, 2): before and after along each axis.

    Raises
    ------
    RejectedError
        If the rank is above 5, or a padding is negative or missing.
    """
    amounts = np.asarray(paddings, dtype=np.int64)
    if x.ndim > 5:
        raise RejectedError(f"PAD works to rank 5, not {x.ndim}")
    if amounts.shape != (x.ndim, 2) or np.any(amounts < 0):
        raise RejectedError(f"paddings must be {x.ndim} pairs, none negative")
    fill = output_quantization.per_tensor()[1]
    return np.pad(x, amounts, constant_values=fill)


def reshape(x: NDArray, shape: Sequence[int]) -> NDArray:
    """Return ``x`` in another shape; one size may be -1, the rest of the elements.

    Raises
    ------
    RejectedError
        If the number of elements differs, or two sizes are -1.
    """
    sizes = [int(size) for size in shape]
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise RejectedError(f"shape {sizes} is not complete")
    whole = x.size if sizes.count(-1) == 0 else known * (x.size // known if known else 0)
    if whole != x.size or (sizes.count(-1) == 0 and known != x.size):
        raise RejectedError(f"{x.size} elements do not fit into shape {sizes}")
    return x.reshape(sizes)
