"""What is remembered belongs to one read-only array, and goes with it."""

import gc
import weakref

import numpy as np
import pytest

from eightfold.golden.remember import read_only, remembered


class Result:
    """A result whose end can be watched."""

    def __init__(self, total: int) -> None:
        self.total = total


def total_of(calls: list[int]):
    @remembered
    def total(array: np.ndarray) -> Result:
        calls.append(id(array))
        return Result(int(array.sum()))

    return total


def test_a_read_only_array_is_looked_at_once() -> None:
    calls: list[int] = []
    total = total_of(calls)
    array = read_only(np.arange(4))
    assert [total(array).total for _ in range(3)] == [6, 6, 6]
    assert len(calls) == 1


def test_an_array_that_can_change_is_looked_at_each_time() -> None:
    calls: list[int] = []
    total = total_of(calls)
    array = np.arange(4)
    assert total(array).total == 6
    array[0] = 10
    assert total(array).total == 16


def test_equal_arrays_are_not_taken_for_each_other() -> None:
    calls: list[int] = []
    total = total_of(calls)
    first = read_only(np.arange(4))
    second = read_only(np.arange(4))
    assert total(first) is not total(second)
    assert len(calls) == 2


@pytest.mark.slow
def test_the_result_goes_with_the_array() -> None:
    total = total_of([])
    array = read_only(np.arange(4))
    result = weakref.ref(total(array))
    gc.collect()
    assert result() is not None
    del array
    gc.collect()
    assert result() is None
