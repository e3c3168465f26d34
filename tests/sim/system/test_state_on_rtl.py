"""State on RTL: it stays in the simulated memory from frame to frame, and in the session after."""

import numpy as np
import pytest

from eightfold.run.session import Session
from tests.support.models.streaming import streaming


@pytest.mark.slow
def test_frames_equal_litert() -> None:
    with Session("verilator", "nano") as session, Session() as golden:
        frames = session.run_frames(streaming(), 3, compare=True)
        frames += session.run_frames(streaming(), 2, seed=3, compare=True)
        expected = golden.run_frames(streaming(), 5)
    for got, wanted in zip(frames, expected, strict=True):
        assert (got.mismatches, got.unread) == (0, [])
        np.testing.assert_array_equal(got.outputs[10], wanted.outputs[10])
