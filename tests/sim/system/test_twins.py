"""The style of multiplier changes neither bytes nor cycles, so that others may simulate a twin."""

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, compile_network
from eightfold.operators import load_model
from eightfold.run.simulate import simulate_network
from eightfold.target.config import PRESETS
from tests.support.hardware.twins import TWINS


@pytest.mark.long  # tests/hw/array compares the styles' sums and latencies
def test_rows_and_infer_leave_the_same_in_the_same_cycles() -> None:
    model, inputs = random_network(network_rng(0), operators=HARDWARE, lengths=(24, 25))
    graph = load_model(model)
    found = []
    nano = PRESETS["nano"]
    rows = nano.replace(multiplier=PRESETS["small"].multiplier)
    assert rows.multiplier != nano.multiplier == TWINS["small"].multiplier
    for config in (rows, nano):
        network = compile_network(graph, config, keep=True)
        (run,) = simulate_network(graph, network, [inputs], simulator="verilator", stall=0.1)
        found.append((network, run))
    (first, products), (second, infer) = found
    for one, other in zip(first.segments, second.segments, strict=True):
        assert one.compiled is not None
        assert other.compiled is not None
        np.testing.assert_array_equal(one.compiled.words, other.compiled.words)
    assert (products.cycles, products.counters) == (infer.cycles, infer.counters)
    assert set(products.tensors) == set(infer.tensors)
    for index, tensor in products.tensors.items():
        np.testing.assert_array_equal(tensor, infer.tensors[index], err_msg=f"tensor {index}")
