"""Element by element operators as tables: what a function of one or two int8 can return at all."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CODES = np.arange(256, dtype=np.uint8).view(np.int8)
"""Every int8, at the index of its byte."""


def unary_table(function: Callable[[NDArray[np.int8]], NDArray[Any]]) -> Callable[..., NDArray]:
    """Return ``function``, which works element by element, as a table of 256 results.

    Raises
    ------
    eightfold.golden.errors.SpecError
        As the function does of any int8.
    """
    table = function(_CODES)
    return lambda x: table.take(x.view(np.uint8))


def binary_table(
    function: Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[Any]],
) -> Callable[..., NDArray]:
    """Return ``function(a, b)``, which broadcasts, as a table of 65536 results.

    The operands must have shapes that the function accepts.

    Raises
    ------
    eightfold.golden.errors.SpecError
        As the function does of any pair of int8.
    """
    table = function(_CODES[:, None], _CODES[None, :]).reshape(-1)

    def apply(a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray:
        index = a.view(np.uint8).astype(np.uint16)
        index <<= 8
        return table.take(index | b.view(np.uint8))

    return apply
