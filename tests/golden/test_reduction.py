"""Reductions of nothing, which no model file that can be read holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.quantization import Quantization
from eightfold.golden.reduction import arg_max, mean, reduce_max, reduce_min, sum

SAME = Quantization(np.array([0.5], np.float32), np.array([5]))
BOTH: dict[str, Any] = {"input_quantization": SAME, "output_quantization": SAME}
EMPTY = np.zeros((0, 3), np.int8)


@pytest.mark.parametrize("function", [mean, sum])
def test_no_number_follows_from_no_elements(function: Callable) -> None:
    with pytest.raises(UndefinedError, match="unwritten"):
        function(EMPTY, [0], **BOTH)


def test_extremes_of_no_elements_are_the_ends_of_int8() -> None:
    assert reduce_max(EMPTY, [0], **BOTH).tolist() == [-128] * 3
    assert reduce_min(EMPTY, [0], **BOTH).tolist() == [127] * 3
    with pytest.raises(RejectedError, match="without elements"):
        arg_max(EMPTY, 0)


@pytest.mark.parametrize("function", [mean, sum, reduce_max, reduce_min])
@pytest.mark.parametrize("keep", [False, True])
def test_no_axes_leave_every_element(function: Callable, keep: bool) -> None:
    x = np.arange(-128, 128).astype(np.int8).reshape(4, 64)
    np.testing.assert_array_equal(function(x, [], **BOTH, keep_dims=keep), x)


def test_a_scalar_has_only_itself() -> None:
    assert int(mean(np.array(7, np.int8), [], **BOTH)) == 7
