"""The model of VECTOR commands computes golden's operators."""

import numpy as np
import pytest

from eightfold.golden.pooling import max_pool_2d
from eightfold.golden.quantization import Quantization
from eightfold.golden.windows import Window
from eightfold.isa import Reduce
from eightfold.sim.machine.vector import VectorFault, run_vector
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(scratchpad=1 << 16)
ONE = dict.fromkeys(("count0", "count1", "count2", "window0", "window1", "rows", "columns"), 1)
IDENTITY = {
    "requantize.multiplier": 1 << 30,
    "requantize.left": 1,
    "requantize.low": -128,
    "requantize.high": 127,
}
TARGET = 1 << 15


@pytest.mark.parametrize("seed", [0])
def test_max_pool_is_goldens_with_padding(seed):
    rng = np.random.default_rng(seed)
    height, width, channels = 7, 6, 5
    x = rng.integers(-128, 128, (1, height, width, channels), dtype=np.int8)
    window = Window(kernel=(3, 3), stride=(2, 2), padding="SAME")
    quantization = Quantization(np.array([np.float32(1)]), np.array([0]))
    expected = max_pool_2d(x, window=window, output_quantization=quantization)
    scratchpad = np.zeros(CONFIG.scratchpad, dtype=np.int8)
    scratchpad[: x.size] = x.reshape(-1)
    row = width * channels
    top = 1
    left = 0  # SAME: 1 row on both sides, 1 column at the end
    fields = ONE | IDENTITY | {"reduce": Reduce.MAXIMUM.value, "fill": -128, "run": channels}
    fields |= {"window0": 3, "window1": 3, "count0": 3, "count1": 4}
    fields |= {"source_a": -top * row - left * channels, "a_window0": channels, "a_window1": row}
    fields |= {"a_step0": 2 * channels, "a_step1": 2 * row}
    fields |= {"target": TARGET, "target_step0": channels, "target_step1": 3 * channels}
    fields |= {"row0": -top, "rows": height, "row_step": 2, "row_window": 1}
    fields |= {"column0": -left, "columns": width, "column_step": 2, "column_window": 1}
    run_vector(CONFIG, fields, scratchpad, np.zeros((2, 256), dtype=np.int32))
    np.testing.assert_array_equal(
        scratchpad[TARGET : TARGET + expected.size].reshape(expected.shape), expected
    )


@pytest.mark.parametrize("target", [-1, CONFIG.scratchpad - 3])
def test_writes_outside_are_faults_and_change_nothing(target):
    scratchpad = np.zeros(CONFIG.scratchpad, dtype=np.int8)
    fields = ONE | IDENTITY | {"run": 4, "target": target, "requantize.zero_point": 1}
    with pytest.raises(VectorFault, match="outside of 65536 bytes"):
        run_vector(CONFIG, fields, scratchpad, np.zeros((2, 256), dtype=np.int32))
    assert not scratchpad.any()
