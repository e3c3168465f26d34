"""The messages of a stream's scoreboard and of compared memories, without a simulator."""

import numpy as np
import pytest

from eightfold.sim.bench import scoreboard
from eightfold.sim.bench.scoreboard import assert_equal_bytes, wrong_byte


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    monkeypatch.setattr(scoreboard, "seed", lambda: 9)


def check(words, came, explain=lambda *_: ()):
    """Return the message about the first word that is not as expected."""
    queue = scoreboard._Expected("o", words, explain)
    for word in came[:-1]:
        queue.check(word)
    with pytest.raises(AssertionError) as raised:
        queue.check(came[-1])
    return str(raised.value)


def test_the_first_wrong_word_is_explained_with_what_came():
    text = check([1, 2, 3], [1, 7], lambda index, got: [f"word {index}, {got} came", "1 + 1 = 2"])
    first = "o: word 1 of 3 differs: got 7, expected 2; seed 9"
    assert text == f"{first}\n  word 1, 7 came\n  1 + 1 = 2"


@pytest.mark.parametrize(
    ("came", "line"),
    [
        ([1, 2, 4], "got is what is expected next: a word may be missing"),
        ([1, 2, 2], "got is the word before: it may have come twice"),
    ],
)
def test_lost_and_repeated_words_are_told_apart(came, line):
    assert check([1, 2, 3, 4], came).split("\n  ")[1:] == [line]


def test_a_word_too_many():
    assert check([1], [1, 5]) == "o: a word too many after 1: got 5; seed 9"


def test_the_first_wrong_byte_of_a_memory_is_explained():
    expected = np.arange(8, dtype=np.int8)
    actual = expected.copy()
    assert_equal_bytes("memory: byte", actual, expected)
    actual[[3, 6]] = -1
    with pytest.raises(AssertionError) as raised:
        assert_equal_bytes("memory: byte", actual, expected, lambda index: [f"byte {index}"])
    assert str(raised.value).split("\n  ") == [
        "memory: byte 3 of 8 differs: got -1, expected 3; seed 9",
        "2 bytes differ, the last one is 6",
        "byte 3",
    ]


@pytest.mark.parametrize(
    ("got", "expected", "number", "text"),
    [
        (0x01FF02, 0x01FF03, 0, "byte 0 as int8: got 2, expected 3"),
        (0x0180FF, 0x017FFF, 1, "byte 1 as int8: got -128, expected 127"),
        (0xFF << 120, 0, 15, "byte 15 as int8: got -1, expected 0"),
    ],
)
def test_the_lowest_wrong_byte_of_a_word(got, expected, number, text):
    assert wrong_byte(got, expected) == (number, text)
