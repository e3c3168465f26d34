"""In-order, exact comparison of the words that leave a design with the words expected.

The first wrong word, or byte, is told with where it is, what came, and the model's arithmetic.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cocotb.triggers import Event
from numpy.typing import NDArray

from eightfold.sim.bench.stream import StreamSink
from eightfold.sim.bench.support import clock_cycles, seed

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

    ``where``: what the contents are of, ending in what an element is: ``scratchpad: byte``.
    ``actual``, ``expected``: arrays of the same shape (n,). ``explain``: called with the first
    wrong byte's index.
    """
    wrong = np.flatnonzero(actual != expected)
    if not len(wrong):
        return
    first = int(wrong[0])
    values = int(actual[first]), int(expected[first])
    lines = [f"{len(wrong)} bytes differ, the last one is {wrong[-1]}", *explain(first)]
    raise AssertionError(difference_text(where, first, len(expected), *values, lines))


def wrong_byte(got: int, expected: int) -> tuple[int, str]:
    """Return the number of the lowest byte in which two words differ, and a line about it."""
    different = got ^ expected
    number = (different & -different).bit_length() - 1 >> 3
    values = (((word >> 8 * number & 255) ^ 128) - 128 for word in (got, expected))
    return number, "byte {} as int8: got {}, expected {}".format(number, *values)


SURPLUS = 32
"""Cycles after the last word in which no others may follow."""

ExplainWord = Callable[[int, int], Sequence[str]]


class StreamScoreboard:
    """Compares every word of every sink at once when it arrives, in order.

    Examples
    --------
    >>> scoreboard = StreamScoreboard(dut)
    >>> scoreboard.expect(StreamSink(dut, "o", stall=0.3), expected)
    >>> await scoreboard.finish()
    """

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._queues: list[_Expected] = []

    def expect(
        self, sink: StreamSink, words: Sequence[int], explain: ExplainWord = lambda *_: ()
    ) -> None:
        """Expect exactly ``words`` from ``sink``, in order; once per sink.

        ``explain`` is called with the number of the first wrong word and what has come instead, and
        returns lines with its inputs and the model's arithmetic.
        """
        queue = _Expected(sink.name, [int(word) for word in words], explain)
        self._queues.append(queue)
        sink.add_callback(queue.check)

    async def finish(self) -> None:
        """Wait for all expected words, and a little longer to see that no others follow."""
        for queue in self._queues:
            await queue.complete.wait()
        await clock_cycles(self._dut, SURPLUS)


class _Expected:
    """The words expected from one sink, and how many of them have come."""

    def __init__(self, name: str, words: list[int], explain: ExplainWord) -> None:
        self.name = name
        self.words = words
        self.explain = explain
        self.count = 0
        self.complete = Event()
        if not words:
            self.complete.set()

    def check(self, word: int) -> None:
        index, count = self.count, len(self.words)
        if index >= count:
            text = f"a word too many after {count}: got {word}; seed {seed()}"
            raise AssertionError(f"{self.name}: {text}")
        if word != self.words[index]:
            lines = [*self._neighbours(index, word), *self.explain(index, word)]
            where = f"{self.name}: word"
            raise AssertionError(
                difference_text(where, index, count, word, self.words[index], lines)
            )
        self.count = index + 1
        if self.count == count:
            self.complete.set()

    def _neighbours(self, index: int, word: int) -> list[str]:
        """Return whether a word was lost or came twice: what follows would be right but for it."""
        if self.words[index + 1 : index + 2] == [word]:
            return ["got is what is expected next: a word may be missing"]
        if index and word == self.words[index - 1]:
            return ["got is the word before: it may have come twice"]
        return []
