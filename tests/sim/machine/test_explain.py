"""The lines that explain a result end in the model's own, for random commands and programs."""

from copy import copy

import numpy as np
import pytest

from eightfold.isa import Row
from eightfold.sim.machine import beats
from eightfold.sim.machine.explain import explain_beats, explain_vector, requantize_lines
from eightfold.sim.machine.vector import RowState, run_vector
from eightfold.sim.stimuli.beats import random_program
from eightfold.sim.stimuli.matrix import MatrixRandom
from eightfold.sim.stimuli.vector import random_command, random_tables
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(
    lanes=6,
    width=5,
    port=4,
    psum_depth=16,
    parameter_banks=4,
    output_depth=32,
    line_depth=32,
    scratchpad=8192,
    weight_buffer=512,
    vector_lanes=2,
)


def last_value(lines):
    return int(lines[-1].rpartition(" = ")[2])


@pytest.mark.parametrize("seed", [0, 1])
def test_bytes_of_the_array_end_in_its_results(seed):
    rng = np.random.default_rng(seed)
    program = random_program(CONFIG, rng, 12)
    results = beats.results(CONFIG, program)
    for _ in range(40):
        index, lane = int(rng.integers(len(results))), int(rng.integers(CONFIG.lanes))
        lines = explain_beats(CONFIG, program, index, lane)
        assert last_value(lines) == results[index, lane]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sums_of_the_array_are_the_accumulator(seed):
    program = random_program(CONFIG, np.random.default_rng(seed), 6)
    lines = explain_beats(CONFIG, program, 0, 1)
    dots = [int(line.rpartition(" = ")[2]) for line in lines if line.startswith("beat ")]
    acc = next(line for line in lines if line.startswith("inputs: acc "))
    assert f"acc {sum(dots)}," in acc


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_bytes_of_matrix_commands_end_in_the_models(seed):
    rng = np.random.default_rng(seed)
    random = MatrixRandom(CONFIG, rng)
    scratchpad = rng.integers(-128, 128, CONFIG.scratchpad).astype(np.int8)
    sums = np.zeros((CONFIG.psum_depth, CONFIG.lanes), np.int32)
    explained = 0
    for job in random.jobs(12):
        before, sums_before = scratchpad.copy(), sums.copy()
        job.run(CONFIG, scratchpad, sums)
        for address in np.flatnonzero(before != scratchpad)[::3].tolist():
            lines = job.explain(CONFIG, before, sums_before, address)
            assert last_value(lines) == scratchpad[address]
            passes = [int(a.rpartition(" = ")[2]) for a in lines if a.startswith("pass ")]
            if job.fields["first"] and not any("share 16 sums" in line for line in lines):
                assert any(f"acc {sum(passes)}," in line for line in lines)
            explained += 1
        assert not job.explain(CONFIG, before, sums_before, 0)
    assert explained > 30


@pytest.mark.parametrize("seed", range(4))
def test_bytes_of_vector_commands_end_in_the_models(seed):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, CONFIG.tables)
    scratchpad = rng.integers(-128, 128, CONFIG.scratchpad).astype(np.int8)
    state = RowState()
    explained = 0
    for _ in range(30):
        fields = random_command(rng, CONFIG, rows=(Row.NONE, Row.SUM, Row.MAXIMUM))
        before, state_before = scratchpad.copy(), copy(state)
        run_vector(CONFIG, fields, scratchpad, tables, state)
        for address in np.flatnonzero(before != scratchpad)[::11].tolist():
            lines = explain_vector(fields, before, tables, state_before, address)
            assert last_value(lines) == scratchpad[address], fields
            explained += 1
    assert explained > 30


def test_inputs_are_in_one_line():
    fields = {"bias": -3, "left": 0, "multiplier": 5, "single": 0, "right": 2, "rounding": 1}
    lines = requantize_lines(7, fields | {"zero_point": 4, "low": -128, "high": 127})
    assert lines[0] == (
        "inputs: acc 7, bias -3, left 0, multiplier 5, single 0, right 2, rounding 1 (half_up), "
        "zero_point 4, low -128, high 127"
    )
