# amaranth: UnusedElaboratable=no
"""Fifo: what it holds beyond what the proofs of its order say."""

import pytest
from amaranth.hdl import unsigned

from eightfold.hw.blocks.fifo import Fifo


def test_refuses_a_depth_of_no_words():
    with pytest.raises(ValueError, match="^depth must be at least 1, not 0$"):
        Fifo(unsigned(8), 0)
