"""What a bench says of the first wrong word: where it is, what came, and the model's arithmetic."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.sim.bench.support import seed

Explain = Callable[[int], Sequence[str]]
"""Returns lines with the inputs and the arithmetic of the word, or byte, of a number."""


def difference_text(
    where: str, index: int, count: int, got: int, expected: int, lines: Sequence[str] = ()
) -> str:
    """Return the message of the first difference, with the lines that explain what is expected.

    ``where`` is the stream or memory, ``count`` how many words it should have.
    """
    first = f"{where} {index} of {count} differs: got {got}, expected {expected}; seed {seed()}"
    return "\n  ".join([first, *lines])


def assert_equal_bytes(
    where: str, actual: NDArray, expected: NDArray, explain: Explain = lambda _: ()
) -> None:
    """Raise AssertionError unless two contents are equal; the message is of the first byte.

    Parameters
    ----------
    where
        What the contents are of, ending in what an element is: ``scratchpad: byte``.
    actual, expected
        Arrays of the same shape (n,).
    explain
        Called with the first wrong byte's index.
    """
    wrong = np.flatnonzero(actual != expected)
    if not len(wrong):
        return
    first = int(wrong[0])
    others = [f"{len(wrong)} bytes differ, the last one is {wrong[-1]}"]
    raise AssertionError(
        difference_text(
            where,
            first,
            len(expected),
            int(actual[first]),
            int(expected[first]),
            [*others, *explain(first)],
        )
    )


def wrong_byte(got: int, expected: int) -> tuple[int, str]:
    """Return the number of the lowest byte in which two words differ, and a line about it."""
    different = got ^ expected
    number = (different & -different).bit_length() - 1 >> 3
    values = (_signed_byte(word >> 8 * number) for word in (got, expected))
    return number, "byte {} as int8: got {}, expected {}".format(number, *values)


def _signed_byte(word: int) -> int:
    return ((word & 255) ^ 128) - 128
