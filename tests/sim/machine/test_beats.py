"""The beat-level model against operators written directly, so that the oracle has one too."""

import numpy as np
import pytest

from eightfold.golden.requantize import requantize
from eightfold.sim.machine.beats import Program, buffers, results
from eightfold.sim.stimuli.beats import ProgramBuilder, random_program, requantize_fields
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(lanes=4, width=3, psum_depth=16, parameter_banks=4)
FLAGS = ("depthwise", "fire", "first", "last", "next_weights", "next_parameters")


def program(rng, taps, beats):
    """Return a program of dicts of beats; one bank of parameters, its values, all lanes."""
    fields = requantize_fields(rng, CONFIG.lanes)
    parameters = {f"requantize.{name}": values for name, values in fields.items()}
    activations = {
        name: np.array([beat.get(name, 0) for beat in beats]) for name in (*FLAGS, "slot", "line")
    }
    activations["bytes"] = np.array([beat["bytes"] for beat in beats])
    no_marks = {"last": np.zeros(len(taps), int)}
    return Program(
        weights={"taps": taps, **no_marks},
        parameters={**parameters, "last": np.zeros(CONFIG.lanes, int)},
        activations=activations,
    )


def expected_of(made, sums):
    fields = {name.removeprefix("requantize."): v for name, v in made.parameters.items()}
    fields.pop("last")
    return requantize(sums, **fields)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fully_connected_over_chunks_is_a_matrix_product(seed):
    rng = np.random.default_rng(seed)
    chunks, pixels = 5, 3
    x = rng.integers(-128, 128, (pixels, chunks, CONFIG.width))
    w = rng.integers(-128, 128, (CONFIG.lanes, chunks, CONFIG.width))
    beats = [
        {
            "bytes": x[pixel, chunk],
            "fire": 1,
            "slot": 3 + 2 * pixel,
            "first": chunk == 0,
            "last": chunk == chunks - 1,
            "next_weights": pixel == 0,
            "next_parameters": pixel == 0 and chunk == 0,
        }
        for chunk in range(chunks)
        for pixel in range(pixels)
    ]
    taps = w.transpose(1, 0, 2).reshape(-1, CONFIG.width)
    made = program(rng, taps, beats)
    sums = np.einsum("pck,lck->pl", x, w)
    np.testing.assert_array_equal(results(CONFIG, made), expected_of(made, sums))


@pytest.mark.parametrize(
    ("width", "line", "ages", "seed"),
    [
        (2, 5, [0, 5], 0),
        (3, 3, [0, 3, 6], 1),
        (4, 7, [0, 7, 14, 15], 2),
        (8, 4, [0, 1, 4, 5, 8, 9, 10, 11], 3),
        (8, 16, [0, 1, 16, 17, 32, 33, 34, 35], 4),
    ],
)
def test_depthwise_window_is_three_rows_of_a_correlation_newest_byte_first(width, line, ages, seed):
    rng = np.random.default_rng(seed)
    config = CONFIG.replace(width=width, line_depth=16)
    count = ages[-1] + 9
    x = rng.integers(-128, 128, (count, width))
    w = rng.integers(-128, 128, (config.lanes, width))
    beats = [
        {
            "bytes": column,
            "depthwise": 1,
            "line": line % 16,
            "fire": index >= ages[-1],
            "first": 1,
            "last": 1,
            "next_weights": index == 0,
            "next_parameters": index == 0,
        }
        for index, column in enumerate(x)
    ]
    made = program(rng, w, beats)
    columns = np.zeros((count, config.lanes), int)
    shared = min(width, config.lanes)
    columns[:, :shared] = x[:, :shared]  # lanes from `width` on have no byte
    sums = [
        sum(columns[n - age] * w[:, tap] for tap, age in enumerate(ages))
        for n in range(ages[-1], count)
    ]
    np.testing.assert_array_equal(results(config, made), expected_of(made, np.array(sums)))


def test_buffers_end_at_last_or_at_the_last_lane():
    last = np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1])
    ends = [(part.start, part.stop) for part in buffers(last, 4)]
    assert ends == [(0, 4), (4, 5), (5, 7), (7, 11)]


def test_model_refuses_a_program_without_enough_weights():
    rng = np.random.default_rng(0)
    beats = [{"bytes": [0, 0, 0], "next_weights": 1}] * 2
    made = program(rng, np.zeros((CONFIG.lanes, CONFIG.width), int), beats)
    with pytest.raises(IndexError, match="weights"):
        results(CONFIG, made)


@pytest.mark.parametrize("seed", [0, 1])
def test_random_programs_reach_both_limits_and_much_between(seed):
    made = random_program(CONFIG, np.random.default_rng(seed), passes=40)
    values = results(CONFIG, made)
    assert {-128, 127} <= set(values.ravel().tolist())
    assert len(np.unique(values)) > 150


def test_builder_never_marks_last_unless_buffers_may_be_partial():
    builder = ProgramBuilder(CONFIG, np.random.default_rng(0))
    builder.dense(4, 3)
    made = builder.build()
    assert not made.weights["last"].any()
    assert len(made.weights["last"]) == 3 * CONFIG.lanes
