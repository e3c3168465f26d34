"""The datapath: MAC array and table side by side, exact at the same time."""

import pytest

from eightfold.config import AcceleratorConfig
from eightfold.hw.datapath import Datapath
from eightfold.sim.simulator.runner import icarus_available, run_bench


def run(simulator, lanes, width, style, seed):
    config = AcceleratorConfig(
        lanes=lanes, width=width, psum_depth=32, parameter_banks=8, line_depth=16, multiplier=style
    )
    run_bench(
        lambda: Datapath(config),
        "eightfold.sim.benches.datapath",
        simulator,
        parameters={"config": config.as_dict(), "passes": 20, "vectors": 200},
        seed=seed,
    )


@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"), [(4, 4, "infer", 0), (3, 5, "rows", 1)]
)
def test_array_and_table_are_exact_together_on_icarus(lanes, width, style, seed):
    run("icarus", lanes, width, style, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"), [(8, 8, "rows", 2), (8, 8, "infer", 3), (5, 16, "rows", 4)]
)
def test_array_and_table_are_exact_together_on_verilator(lanes, width, style, seed):
    run("verilator", lanes, width, style, seed)
