# amaranth: UnusedElaboratable=no
"""The decoder alone: every opcode, every bit that is not a field's, every bit of BEGIN."""

from typing import Any

import pytest

from eightfold.hw.control.command_decoder import CommandDecoder
from eightfold.target.config import FEATURES, AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

SMALL: dict[str, Any] = {"lanes": 4, "width": 4, "port": 4, "scratchpad": 4096, "vector_lanes": 2}

LEAN: dict[str, Any] = SMALL | dict.fromkeys(FEATURES, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "opcodes"), [(SMALL, 7), (LEAN, 6)], ids=["all features", "none"]
)
@pytest.mark.usual(names=["all features"])
def test_decodes_what_the_instruction_set_has_and_refuses_the_rest(sizes, opcodes):
    config = AcceleratorConfig(**sizes)
    done = run_unit(lambda: CommandDecoder(config), "command_decoder", "verilator", 0, config=sizes)
    report = done.report
    assert len(report["opcodes"]) == opcodes
    assert report["unused"] > 100
