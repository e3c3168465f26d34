"""The AXI memory of simulations: an independent master agrees with it; it keeps its promises."""

import re
import subprocess

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.simulator.lint import lint
from eightfold.sim.simulator.runner import Verilog, run_bench

FOLDER = IMPORT_ROOT / "sim" / "verilog"


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(4, 0), (16, 1)])
@pytest.mark.usual("port")
def test_memory(simulator, port, seed):
    parameters = (("PORT", port), ("BYTES", 1 << 16))
    memory = Verilog("axi_memory", (FOLDER / "axi_memory.v",), parameters)
    result = run_bench(
        memory, "eightfold.sim.benches.axi_memory", simulator, parameters={"port": port}, seed=seed
    )
    assert len(result.tests) == 19


@pytest.mark.parametrize("name", ["axi_memory", "axi_attributes", "axi_watch", "trace_monitor"])
def test_passes_lint(name):
    # State that only one process uses is assigned with `=`.
    found = lint(FOLDER / f"{name}.v")
    assert [line for line in found if not re.match(r"%Warning-BLKSEQ", line)] == []


@pytest.mark.icarus
@pytest.mark.parametrize("name", ["axi_memory", "axi_attributes", "axi_watch", "trace_monitor"])
def test_reads_in_icarus_as_verilog_2005(name):
    command = ["iverilog", "-g2005", "-Wall", "-t", "null", str(FOLDER / f"{name}.v")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
