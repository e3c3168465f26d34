"""Random VECTOR commands are legal."""

import numpy as np
import pytest

from eightfold.isa import Row
from eightfold.sim.stimuli.vector import is_legal, random_command
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2, scratchpad=4096)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("row", Row)
@pytest.mark.usual(count=7)
def test_a_row_never_writes_what_it_still_reads(row, seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        fields = random_command(rng, CONFIG, rows=(row,))
        if row != Row.NONE:
            assert not fields["repeat_a"]
        sources = {name: fields[name] for name in fields if name.startswith(("source_a", "a_"))}
        steps = {
            name: fields[name.replace("a_", "target_", 1)] for name in sources if "step" in name
        }
        in_place = steps.items() <= sources.items() and fields["source_a"] == fields["target"]
        assert is_legal(CONFIG, fields, in_place)
