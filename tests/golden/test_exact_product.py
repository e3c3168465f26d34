"""Products through float BLAS equal integer arithmetic, on both sides of float32's limit."""

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from eightfold.golden.convolution import conv_2d_accumulators
from eightfold.golden.exact_product import exact_matmul, filter_matrix, filter_sums, operand_type
from eightfold.golden.fully_connected import fully_connected_accumulators
from eightfold.golden.remember import read_only, remembered
from eightfold.golden.windows import Window

ZERO_POINTS = (-128, 0, 127)
# 514 products of 128 and 255 stay within 2^24, 515 do not. 519 products of 127 and 255 are odd
# and beyond: no float32.
LENGTHS = (1, 513, 514, 515, 519, 1001)


def operands(length: int, zero_point: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of extreme codes and filters, some of which make every product the largest."""
    rng = np.random.default_rng([length, zero_point + 128, seed])
    x = rng.choice([-128, -127, 126, 127], (4, length)).astype(np.int8)
    weights = rng.choice([-128, -127, 127], (3, length)).astype(np.int8)
    x[0] = 127 if zero_point < 0 else -128
    weights[0] = -128
    weights[1] = 127
    return x, weights


def convolution_sums(x: np.ndarray, weights: np.ndarray, zero_point: int) -> np.ndarray:
    """Return the sums of a convolution of one pixel."""
    images, filters = (codes[:, None, None] for codes in (x, weights))
    window = Window((1, 1))
    return conv_2d_accumulators(
        images, filters, None, input_zero_point=zero_point, window=window
    ).reshape(len(x), len(weights))


def fully_connected_sums(x: np.ndarray, weights: np.ndarray, zero_point: int) -> np.ndarray:
    return fully_connected_accumulators(x, weights, None, input_zero_point=zero_point)


@pytest.mark.parametrize("sums", [fully_connected_sums, convolution_sums])
@pytest.mark.parametrize("zero_point", ZERO_POINTS)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_are_exact(sums: Callable, length: int, zero_point: int) -> None:
    for seed in range(10):
        x, weights = operands(length, zero_point, seed)
        expected = (x.astype(np.int64) - zero_point) @ weights.T.astype(np.int64)
        np.testing.assert_array_equal(sums(x, weights, zero_point), expected)


def test_float32_is_chosen_up_to_the_last_exact_sum() -> None:
    weights = np.full((1, 514), -128, dtype=np.int8)
    assert operand_type(filter_matrix(weights)[1], zero_point=-128) is np.float32
    assert operand_type(filter_matrix(weights)[1], zero_point=127) is np.float32
    longer = np.full((1, 515), -128, dtype=np.int8)
    assert operand_type(filter_matrix(longer)[1], zero_point=-128) is np.float64
    assert operand_type(filter_matrix(longer)[1], zero_point=127) is np.float64
    assert operand_type(filter_matrix(longer)[1], zero_point=0) is np.float32


def test_sums_wrap_to_int32() -> None:
    rows = np.full((1, 70_000), 255, dtype=np.float64)
    columns = np.full((70_000, 1), 127, dtype=np.float32)
    assert filter_sums(rows, columns)[0, 0] == 70_000 * 255 * 127 - 2**32


def test_matrices_of_integers_are_multiplied_exactly() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-256, 256, shape, dtype=np.int16) for shape in ((5, 2000), (2000, 7)))
    np.testing.assert_array_equal(exact_matmul(a, b), a.astype(np.int64) @ b.astype(np.int64))


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
