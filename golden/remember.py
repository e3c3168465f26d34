"""Remember what is derived from arrays that never change, such as a model's constants."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from numpy.typing import NDArray

T = TypeVar("T")


def remembered(function: Callable[[NDArray], T]) -> Callable[[NDArray], T]:
    """Remember ``function(array)`` as long as the array lives, if the array is read-only.

    A model's constants are read-only: they lie in the bytes of its file. Whoever makes an array
    read-only must not change it through another view.
    """
    known: dict[int, tuple[weakref.ref, T]] = {}

    @wraps(function)
    def remembering(array: NDArray) -> T:
        key = id(array)
        if key in known:
            return known[key][1]
        result = function(array)
        if not array.flags.writeable:
            known[key] = weakref.ref(array, lambda _: known.pop(key)), result
        return result

    return remembering


def read_only(array: NDArray) -> NDArray:
    """Return the array, from now on read-only."""
    array.flags.writeable = False
    return array
