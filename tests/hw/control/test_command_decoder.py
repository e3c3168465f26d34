# amaranth: UnusedElaboratable=no
"""The decoder alone: every opcode, every bit that is not a field's, every bit of BEGIN."""

from typing import Any

import pytest

from eightfold.hw.control.command_decoder import CommandDecoder
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import FEATURES, AcceleratorConfig

SMALL: dict[str, Any] = {"lanes": 4, "width": 4, "port": 4, "scratchpad": 4096, "vector_lanes": 2}

LEAN: dict[str, Any] = SMALL | dict.fromkeys(FEATURES, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "opcodes"), [(SMALL, 7), (LEAN, 6)], ids=["all features", "none"]
)
@pytest.mark.usual(names=["all features"])
def test_decodes_what_the_instruction_set_has_and_refuses_the_rest(sizes, opcodes):
    config, bench = AcceleratorConfig(**sizes), "eightfold.sim.benches.command_decoder"
    parameters = {"config": sizes}
    report = run_bench(
        lambda: CommandDecoder(config), bench, "verilator", parameters=parameters, seed=0
    ).report
    assert len(report["opcodes"]) == opcodes
    assert report["unused"] > 100
