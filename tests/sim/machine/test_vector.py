"""The model of VECTOR commands computes golden's operators, on elements and on rows."""

import numpy as np
import pytest

from eightfold.isa import Row
from eightfold.sim.machine.vector import VectorFault, run_vector
from eightfold.sim.stimuli.rows import OPERATORS, rows_of
from eightfold.sim.stimuli.vector import row_fields
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.row_cases import random_row_case

CONFIG = AcceleratorConfig(scratchpad=1 << 16)
ONE = dict.fromkeys(("count0", "count1", "count2", "window0", "window1", "rows", "columns"), 1)
SINGLE = {
    "requantize.multiplier": 1,
    "requantize.single": 1,
    "requantize.low": -128,
    "requantize.high": 127,
}
TARGET = 1 << 15


@pytest.mark.parametrize("target", [-1, CONFIG.scratchpad - 3])
def test_writes_outside_are_faults_and_change_nothing(target):
    scratchpad = np.zeros(CONFIG.scratchpad, dtype=np.int8)
    fields = ONE | SINGLE | {"run": 4, "target": target, "requantize.zero_point": 1}
    with pytest.raises(VectorFault, match="outside of 65536 bytes"):
        run_vector(CONFIG, fields, scratchpad, np.zeros((2, 256), dtype=np.int32))
    assert not scratchpad.any()


def run_rows(fields, x, tables=((0,) * 256,) * 2):
    """Return what a command makes of the rows ``x``, one byte per row or as many as it has."""
    scratchpad = np.zeros(CONFIG.scratchpad, dtype=np.int8)
    scratchpad[: x.size] = x.reshape(-1)
    step = 1 if fields["row"] in (Row.SUM.value, Row.MAXIMUM.value, Row.MINIMUM.value) else 0
    places = ONE | {"count0": len(x), "a_step0": x.shape[1], "run": x.shape[1], "target": TARGET}
    places |= {"target_step0": step or x.shape[1]}
    run_vector(CONFIG, fields | places, scratchpad, np.array(tables, dtype=np.int32))
    size = len(x) if step else x.size
    return scratchpad[TARGET : TARGET + size].reshape(len(x), -1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", OPERATORS)
def test_rows_are_goldens_for_all_lengths_and_scales(name, seed):
    rng = np.random.default_rng(seed)
    for length in [*range(1, 40), *rng.integers(40, 500, 20)]:
        scaling, function = rows_of(random_row_case(rng, name))
        spread = int(rng.integers(1, 129))
        x = rng.integers(-spread, spread, (int(rng.integers(1, 5)), length)).astype(np.int8)
        np.testing.assert_array_equal(run_rows(row_fields(scaling), x, scaling.tables), function(x))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("row", [Row.MAXIMUM, Row.MINIMUM])
def test_extremes_are_numpys_and_the_first_one_counts(row, seed):
    rng = np.random.default_rng(seed)
    for length in (1, 2, 3, 17, 300, 2000):
        spread = int(rng.choice([1, 2, 128]))
        x = rng.integers(-spread, spread, (3, length)).astype(np.int8)
        index = x.argmax(axis=1) if row == Row.MAXIMUM else x.argmin(axis=1)
        expected = {8: x[range(3), index], 24: index & 255, 16: index >> 8}
        for left, byte in expected.items():
            shifts = {"requantize.left": left, "requantize.right": 24, "requantize.rounding": 5}
            found = run_rows(SINGLE | shifts | {"row": row.value}, x)
            np.testing.assert_array_equal(found[:, 0], byte.astype(np.uint8).view(np.int8))


def test_sums_wrap_and_look_up():
    table = np.arange(256) * 1000
    x = np.arange(-100, 100, dtype=np.int8).reshape(4, 50)
    fields = {"row": Row.SUM.value, "lookup_b": 1, "table_b": 1, "requantize.right": 17}
    found = run_rows(SINGLE | fields, x, (table, table))
    total = table[x.astype(int) & 255].sum(axis=1)
    np.testing.assert_array_equal(found[:, 0], (total + (1 << 16)) >> 17)


@pytest.mark.parametrize(
    ("row", "entry", "limits"),
    [
        (Row.RECIPROCAL, 0, "1..268435455"),
        (Row.LOGARITHM, (1 << 19) - 1, "524288..2147483647"),
        (Row.INVERSE_ROOT, 1 << 30, "-2147483648..2147483647"),
    ],
)
def test_sums_that_a_function_does_not_take_are_refused(row, entry, limits):
    fields = SINGLE | {"row": row.value, "lookup_b": 1}
    x = np.zeros((1, 2 if row == Row.INVERSE_ROOT else 1), dtype=np.int8)
    with pytest.raises(ValueError, match=limits):
        run_rows(fields, x, ((entry,) * 256,) * 2)


def test_a_function_has_no_window():
    fields = ONE | SINGLE | {"row": Row.RECIPROCAL.value, "run": 4, "window0": 2}
    with pytest.raises(ValueError, match="RECIPROCAL has no window"):
        run_vector(CONFIG, fields, np.zeros(CONFIG.scratchpad, np.int8), np.ones((2, 256), int))
