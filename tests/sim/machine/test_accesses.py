"""Bytes that runs touch."""

import numpy as np
import pytest

from eightfold.sim.machine.accesses import runs


@pytest.mark.parametrize("seed", range(20))
def test_runs_have_every_byte_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts, length = rng.integers(-50, 400, rng.integers(1, 30)), int(rng.integers(1, 40))
    every = np.unique((starts[:, None] + np.arange(length)).ravel())
    np.testing.assert_array_equal(runs(starts, length), every)


def test_runs_far_apart_take_no_more_memory_than_their_bytes() -> None:
    far = np.array([0, 10**15])
    np.testing.assert_array_equal(runs(far, 2), [0, 1, 10**15, 10**15 + 1])
