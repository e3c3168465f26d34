"""Units' netlists pass the benches of their RTL, which do not know what they run on."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib import wiring

from eightfold.hw.array.mac_array import MacArray
from eightfold.hw.matrix.weight_stream import WeightStream
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.requantizer import Requantizer
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig
from lab.gates import gates

LITTLE = AcceleratorConfig(lanes=3, width=4, port=4, vector_lanes=1, scratchpad=1 << 14)
SMALL = AcceleratorConfig(
    lanes=4, width=4, psum_depth=32, parameter_banks=8, output_depth=32, line_depth=16
)
READER = {"port": 16, "clients": 4, "outstanding": 32}

UNITS: dict[str, tuple[Callable[[], wiring.Component], dict[str, Any]]] = {
    "requantizer": (
        lambda: Requantizer(AcceleratorConfig()),
        {"lanes": 1, "random": 2000, "corners": 400},
    ),
    "memory_reader": (lambda: MemoryReader(AcceleratorConfig(port=16), 4, 32), READER),
    "scratchpad": (
        lambda: Scratchpad(LITTLE, 2, 2),
        {"vector": LITTLE.vector, "scratchpad": LITTLE.scratchpad, "ports": 2, "cycles": 400},
    ),
    "weight_stream": (lambda: WeightStream(LITTLE), {"config": LITTLE.as_dict()}),
    "mac_array": (lambda: MacArray(SMALL), {"config": SMALL.as_dict(), "passes": 20}),
}
"""Components by the bench of each, and the bench's parameters."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "netlist", "seed"),
    [
        ("requantizer", "ecp5:0", 0),
        ("requantizer", "ecp5:1", 1),
        ("memory_reader", "ecp5:0", 2),
        pytest.param("scratchpad", "ecp5:1", 3, marks=pytest.mark.long),
        pytest.param("weight_stream", "ecp5:0", 4, marks=pytest.mark.long),
        pytest.param("requantizer", "ecp5-mapped:0", 5, marks=pytest.mark.long),
        pytest.param("requantizer", "xilinx", 9, marks=pytest.mark.long),
        pytest.param("memory_reader", "ice40", 10, marks=pytest.mark.long),
        pytest.param("memory_reader", "ecp5-mapped:1", 6, marks=pytest.mark.long),
        pytest.param("mac_array", "ecp5:0", 7, marks=pytest.mark.long),
        pytest.param("mac_array", "ecp5:1", 8, marks=pytest.mark.long),
    ],
)
@pytest.mark.usual(names=["memory_reader-ecp5:0"])
@pytest.mark.long
def test_a_netlist_passes_the_bench(unit: str, netlist: str, seed: int) -> None:
    component, parameters = UNITS[unit]
    bench = f"eightfold.sim.benches.{unit}"
    run_bench(gates(component, netlist), bench, "verilator", parameters=parameters, seed=seed)
