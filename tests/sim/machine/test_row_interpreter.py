"""The microprogram of a row's function is golden's, and each of its lines is needed."""

import numpy as np
import pytest

from eightfold.hw.vector.row_program import program
from eightfold.sim.machine import row_interpreter
from eightfold.sim.machine.row_interpreter import interpret_row_function
from eightfold.sim.stimuli.rows import LOWEST, row_fields, row_sums

FUNCTIONS = [pytest.param(function, id=function.name.lower()) for function in LOWEST]


def mismatches(function, sums):
    found, expected = interpret_row_function(function, sums), row_fields(function, sums)
    assert found.keys() == expected.keys()
    return sum(np.count_nonzero(found[name] != expected[name]) for name in found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_is_goldens(function, seed):
    sums = row_sums(np.random.default_rng(seed), function, 500_000)
    assert mismatches(function, sums) == 0


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_sum_wraps_so_that_none_could_saturate(function, seed):
    sums = row_sums(np.random.default_rng(seed), function, 100_000)

    def watch(instruction, value, holds):
        written = value[holds]
        np.testing.assert_array_equal(written, written.astype(np.int32), str(instruction))

    # What INVERSE_ROOT computes of sums below 2 does not count.
    valid = sums[(sums > 1) & (sums < 1 << 31)]
    interpret_row_function(function, valid, watch)


@pytest.mark.parametrize("seed", [2])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_line_and_every_condition_is_needed(monkeypatch, function, seed):
    sums = row_sums(np.random.default_rng(seed), function, 2000)
    lines = program(function)
    for number, line in enumerate(lines):
        instead = [(), (line._replace(condition=0),)] if line.condition else [()]
        for other in instead:
            changed = (*lines[:number], *other, *lines[number + 1 :])
            monkeypatch.setattr(row_interpreter, "program", lambda _, changed=changed: changed)
            assert mismatches(function, sums) > 0, f"{other} instead of line {number}: {line}"
