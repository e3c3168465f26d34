# amaranth: UnusedElaboratable=no
"""Registers: AXI4-Lite in any order with any stalls."""

from typing import Any

import pytest

from eightfold.hw.control.registers import Registers
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

CONFIG: dict[str, Any] = {"lanes": 5, "width": 6, "port": 8, "vector_lanes": 4, "tables": 4}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.usual(names=["icarus"])
def test_hold_what_is_written_and_show_what_is_reported(simulator, seed):
    config = AcceleratorConfig(**CONFIG)
    run_unit(lambda: Registers(config), "registers", simulator, seed, config=CONFIG, accesses=200)
