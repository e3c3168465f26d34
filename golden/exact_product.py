"""Exact integer matrix products through BLAS, and what is remembered of constant filters.

A sum of integers is exact in float32 if no partial sum leaves [-2^24, 2^24], in float64 [-2^53,
2^53]: then every product and every partial sum, in any order, fused or not, is an integer that
the type represents, so nothing is ever rounded.
"""

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.fixed_point import Integers
from eightfold.golden.remember import remembered


def exact_matmul(a: NDArray, b: NDArray) -> Integers:
    """Return ``a @ b`` of integer matrices, |a| <= 2^8 and |b| <= 2^8, as int64.

    In float64: sums stay below 2^16 * (common length), and length < 2^37.
    """
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


@remembered
def filter_matrix(weights: NDArray[np.int8]) -> tuple[NDArray[np.float32], int]:
    """Return filters as columns, and the largest operand with which float32 sums are exact.

    ``weights``: shape (o, ...).
    Result: float32 of shape (elements of a filter, o); the largest ``|a|`` for which ``|a| * sum
        |w|`` stays within 2^24 in every column.
    """
    matrix = weights.reshape(weights.shape[0], -1).astype(np.float32)
    total = int(np.abs(matrix).sum(axis=1, dtype=np.float64).max(initial=1))
    return matrix.T, 2**24 // total


def operand_type(limit: int, zero_point: int) -> type[np.float32] | type[np.float64]:
    """Return the float type with exact sums over ``int8 - zero_point``, by a filter's ``limit``."""
    return np.float32 if max(127 - zero_point, 128 + zero_point) <= limit else np.float64


def filter_sums(rows: NDArray, columns: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return ``wrap32(rows @ columns)`` of integers in the type `operand_type` has chosen."""
    if rows.dtype == np.float32:
        return (rows @ columns).astype(np.int32)
    return (rows @ columns.astype(np.float64)).astype(np.int64).astype(np.int32)
