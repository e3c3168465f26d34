"""The model of MATRIX against its text, read word by word, and against plain convolutions."""

import numpy as np
import pytest

from eightfold.golden.requantize import requantize
from eightfold.isa import Matrix
from eightfold.sim.machine.matrix import MatrixRun
from eightfold.sim.stimuli.matrix import MatrixRandom
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(
    lanes=3, width=4, port=4, psum_depth=16, line_depth=16, scratchpad=4096, vector_lanes=2
)

PAIRS = CONFIG.replace(lanes=6, width=16, port=16)
"""Windows wide enough for pairs of pixels, of three bytes each."""


def literal(config, job, scratchpad, sums):
    """Return the scratchpad after a command, vector by vector as the text of MATRIX says."""
    f = job.fields
    result = scratchpad.copy()
    width = config.width
    weights, parameters = iter(job.weights), iter(job.parameters)
    columns = config.window_columns
    for group in range(f["groups"]):
        bank = next(parameters) if f["last"] else None
        passes = list(np.ndindex(f["ky"], f["kx"], f["kc"]))
        final = group == f["groups"] - 1
        full = min(config.lanes, width) if f["depthwise"] else config.lanes
        lanes = f["last_lanes"] if final else full
        for number, (ky, kx, kc) in enumerate(passes):
            taps = next(weights).astype(int)
            history = [np.full(width, f["fill"])] * f["lead"]
            position = 0
            for y, x in np.ndindex(f["y"], f["x"]):
                row = group * f["group_step"] + ky * f["ky_step"] + y * f["y_step"]
                column = f["column0"] + kx * f["kx_step"] + kc * width + x * f["x_step"]
                line = f["row0"] + ky * f["ky_rows"] + y * f["y_rows"]
                vector = np.full(width, f["fill"])
                for d in range(width):
                    if 0 <= column + d < f["columns"] and 0 <= line < f["rows"]:
                        vector[d] = scratchpad[(f["base"] + row + column + d) % config.scratchpad]
                history.append(vector)
                oy, late_y = divmod(y - f["fire_y0"], f["fire_y_step"])
                ox, late_x = divmod(x - f["fire_x0"], f["fire_x_step"])
                if late_y or late_x or oy < 0 or ox < 0:
                    continue
                slot = position % config.psum_depth
                position += 1
                for lane in range(len(taps)):
                    operands = vector
                    if f["depthwise"]:
                        ages = [(s, j) for s in range(config.window_rows) for j in range(columns)]
                        while len(ages) < width:
                            ages.append((ages[-1][0], ages[-1][1] + 1))
                        half = columns // 2
                        places = [
                            (s * f["line"] + j - half, (lane + 3) % 6)
                            if f["pairs"] and j >= half
                            else (s * f["line"] + j, lane)
                            for s, j in ages
                        ]
                        operands = np.array(
                            [history[-1 - b][at] if b < len(history) else 0 for b, at in places]
                        )
                    total = int(operands @ taps[lane])
                    if not (f["first"] and number == 0):
                        total += int(sums[slot, lane])
                    acc = np.array(total).astype(np.int32)
                    if bank is None or number < len(passes) - 1:
                        sums[slot, lane] = acc
                    elif lane < lanes:
                        target = f["target"] + group * f["target_group"] + lane
                        target += oy * f["target_y"] + ox * f["target_x"]
                        fields = {name: values[lane] for name, values in bank.items()}
                        result[target] = requantize(acc, **fields)
    return result


@pytest.mark.parametrize("config", [CONFIG, PAIRS], ids=["narrow", "pairs"])
@pytest.mark.parametrize("seed", range(12))
def test_commands_do_what_their_text_says(seed, config):
    rng = np.random.default_rng(seed)
    scratchpad = rng.integers(-128, 128, config.scratchpad, dtype=np.int8)
    sums, expected_sums = np.zeros((2, config.psum_depth, config.lanes), np.int32)
    for job in MatrixRandom(config, rng).jobs(3):
        expected = literal(config, job, scratchpad, expected_sums)
        assert job.run(config, scratchpad, sums) == 0
        np.testing.assert_array_equal(scratchpad, expected)


def test_sums_wrap_to_int32():
    matrix = Matrix(last_lanes=3, first=0, base=0, columns=4, rows=1)
    scratchpad = np.zeros(CONFIG.scratchpad, np.int8)
    scratchpad[:4] = 1
    sums = np.full((CONFIG.psum_depth, CONFIG.lanes), 2**31 - 1, np.int32)
    bank = {"multiplier": np.full(3, 2**30), "right": np.zeros(3, int)}
    weights = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 0, 0]], np.int8)
    MatrixRun(CONFIG, matrix, scratchpad, sums).run([weights], [bank])
    np.testing.assert_array_equal(scratchpad[:3], [-128, 127, 127])


@pytest.mark.parametrize(
    ("target", "faults"), [(-1, 2), (0, 0), (4096 - 6, 0), (4096 - 5, 1), (4096, 2)]
)
def test_results_that_leave_the_scratchpad_are_counted_and_not_written(target, faults):
    place = target if target != -1 else -4
    matrix = Matrix(last_lanes=3, x=2, base=0, columns=0, rows=0, target=place, target_x=3)
    scratchpad = np.full(CONFIG.scratchpad, 77, np.int8)
    sums = np.zeros((CONFIG.psum_depth, CONFIG.lanes), np.int32)
    bank = {"multiplier": np.full(3, 1), "zero_point": np.full(3, 5)}
    weights = np.zeros((3, 4), np.int8)
    assert MatrixRun(CONFIG, matrix, scratchpad, sums).run([weights], [bank]) == faults
    assert (scratchpad == 5).sum() == 3 * (2 - faults)
