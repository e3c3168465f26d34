"""Systems with the accelerator in Verilator: digits equal golden, also by a processor."""

import re

import numpy as np
import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from eightfold.boards.simulation import MEMORIES
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.estimate.estimate import estimate
from eightfold.operators import load_int8, run_graphs
from eightfold.target.config import PRESETS
from eightfold.target.memory import IDEAL, MEASURED
from examples.digits import images
from examples.digits.network import MODEL_FILE, TEST_FILE
from examples.litex import hosted, vexriscv

COUNT = 2
GRAPH = load_int8(MODEL_FILE.read_bytes())


def expected() -> list[np.ndarray]:
    """Return golden's codes of the first images of the test set."""
    batch = images.load(TEST_FILE)[0][:COUNT].reshape(COUNT, 1, 8, 8, 1)
    values = run_graphs(GRAPH, [{GRAPH.inputs[0]: image} for image in batch])
    return [each[GRAPH.outputs[0]].ravel() for each in values]


def estimated(name: str) -> int:
    (compiled,) = compile_network(GRAPH, PRESETS["nano"]).streams
    return estimate([compiled], MEASURED.get(name, IDEAL)).total


@pytest.mark.long  # a minute; host, bridge, memory and the module's ports have tests of their own
@pytest.mark.parametrize("name", MEMORIES)
def test_a_host_runs_digits_over_a_uart(name: str) -> None:
    results = list(hosted.run(name, "nano", COUNT))
    np.testing.assert_array_equal([codes for codes, _ in results], expected())
    for _, cycles in results:
        if name in MEASURED:
            assert estimated(name) == pytest.approx(cycles, rel=0.1)
        else:
            assert estimated(name) < cycles


@pytest.mark.long
def test_a_processor_runs_digits_by_the_driver() -> None:
    pytest.importorskip("pythondata_cpu_vexriscv", reason="VexRiscv is not installed: make setup")
    try:
        vexriscv.compiler()
    except InputError as error:
        pytest.skip(str(error))
    *lines, end = vexriscv.run("litedram-sdr-16", "nano", COUNT)
    assert end == "OK"
    rows = [[int(number) for number in re.findall(r"-?\d+", line)] for line in lines]
    np.testing.assert_array_equal([row[:-1] for row in rows], expected())
    for row in rows:
        assert estimated("litedram-sdr-16") == pytest.approx(row[-1], rel=0.1)
