"""Lane programs compute what golden computes, whatever the tiling."""

import numpy as np
import pytest

from eightfold.compiler import LaneProgram, TableProgram, compile_network
from eightfold.config import AcceleratorConfig
from eightfold.execute import run_operator
from eightfold.macs import count_macs
from eightfold.model import Graph, load_model
from eightfold.model.builder import ModelBuilder
from sim import beats_model
from tests.golden.random_models import random_case

SIZES = [(4, 4), (8, 8), (16, 16), (3, 5), (8, 4), (2, 9)]


def expect_equal(graph: Graph, inputs: dict[int, np.ndarray], config: AcceleratorConfig) -> None:
    """Run the first operator through the beats model, and compare with golden."""
    operator = graph.operators[0]
    programs, reasons = compile_network(graph, config)
    if operator.name == "FULLY_CONNECTED":
        filters = graph.tensors[operator.inputs[1]].quantization
        assert filters is not None
        if filters.scale.size == 1 and filters.zero_point[0]:  # 9-bit factors: not for this array
            assert "weights have the zero point" in reasons[0]
            return
    assert not reasons
    program = programs[0]
    values = inputs[operator.inputs[0]]
    if isinstance(program, LaneProgram):
        fed = beats_model.Program(
            program.weights, program.channel_parameters, program.activations(values)
        )
        got = program.scatter(beats_model.results(config, fed))
    else:
        got = program.entries[values.view(np.uint8)]
    np.testing.assert_array_equal(got, run_operator(graph, operator, inputs)[0])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_a_random_operator_equals_golden(operator: str, size: tuple[int, int], seed: int) -> None:
    model, inputs = random_case(operator, np.random.default_rng(seed))
    config = AcceleratorConfig(lanes=size[0], width=size[1], psum_depth=16)
    expect_equal(load_model(model), inputs, config)


@pytest.mark.parametrize("operator", ["LOGISTIC", "TANH", "QUANTIZE", "RELU", "RELU6"])
def test_a_table_equals_golden(operator: str) -> None:
    model, inputs = random_case(operator, np.random.default_rng(1))
    expect_equal(load_model(model), inputs, AcceleratorConfig(lanes=4, width=4))


def convolution(
    shape: tuple[int, ...], weights: np.ndarray, options: dict, depthwise: bool = False
) -> Graph:
    """Return a graph of one convolution; VALID, so that the output shape is easily found."""
    builder = ModelBuilder()
    x = builder.input(shape, scale=0.5, zero_point=-7)
    channels = weights.shape[3] if depthwise else weights.shape[0]
    w = builder.constant(weights, scale=[0.01] * channels, zero_point=0, axis=3 if depthwise else 0)
    bias = builder.constant(np.arange(channels, dtype=np.int32), scale=[0.005] * channels, axis=0)
    strides = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    chosen = {**strides, "padding": "VALID", "fused_activation_function": "NONE", **options}
    sizes = [
        (shape[1 + axis] - (weights.shape[1 + axis] - 1) * chosen[f"dilation_{name}_factor"] - 1)
        // chosen[f"stride_{name}"]
        + 1
        for axis, name in enumerate("hw")
    ]
    y = builder.tensor((shape[0], *sizes, channels), scale=0.3, zero_point=4)
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    if depthwise:
        chosen["depth_multiplier"] = channels // shape[3]
    builder.operator(name, [x, w, bias], [y], chosen)
    builder.output(y)
    return load_model(builder.build())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ((16, 16), {}),
        ((15, 1), {"stride_h": 2}),
        ((1, 15), {"stride_w": 3}),
        ((3, 3), {"dilation_h_factor": 2, "dilation_w_factor": 3}),
        ((3, 3), {"stride_h": 2, "stride_w": 2}),
        ((2, 5), {"stride_h": 4, "dilation_w_factor": 2}),
        ((1, 1), {"stride_w": 2}),
    ],
    ids=str,
)
def test_a_wide_depthwise_window_is_split(
    kernel: tuple[int, int], options: dict, size: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (1, *kernel, 6), dtype=np.int8)
    graph = convolution((2, 19, 18, 3), weights, options, depthwise=True)
    inputs = {0: rng.integers(-128, 128, (2, 19, 18, 3), dtype=np.int8)}
    expect_equal(graph, inputs, AcceleratorConfig(lanes=size[0], width=size[1], psum_depth=16))


def test_groups_are_convolved_apart() -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (6, 3, 2, 4), dtype=np.int8)
    graph = convolution((1, 7, 6, 8), weights, {})
    inputs = {0: rng.integers(-128, 128, (1, 7, 6, 8), dtype=np.int8)}
    expect_equal(graph, inputs, AcceleratorConfig(lanes=4, width=4))


def test_depthwise_takes_about_one_and_a_half_beats_per_output() -> None:
    weights = np.ones((1, 3, 3, 16), dtype=np.int8)
    graph = convolution((1, 42, 42, 16), weights, {}, depthwise=True)
    program = compile_network(graph, AcceleratorConfig.load("base"))[0][0]
    assert isinstance(program, LaneProgram)
    assert len(program.streams.beats.source) <= 1.5 * 1.06 * 40 * 40


def test_weights_that_are_not_constant_stay_in_golden() -> None:
    builder = ModelBuilder()
    x = builder.input((1, 4), scale=0.5)
    w = builder.input((2, 4), scale=0.1)
    y = builder.tensor((1, 2), scale=0.3)
    options = {"fused_activation_function": "NONE", "keep_num_dims": False}
    builder.operator("FULLY_CONNECTED", [x, w, -1], [y], options)
    builder.output(y)
    programs, reasons = compile_network(load_model(builder.build()), AcceleratorConfig())
    assert not programs
    assert "tensor 1" in reasons[0]
    assert "is not constant" in reasons[0]


def test_macs_count_padding_taps_too() -> None:
    weights = np.ones((6, 3, 2, 4), dtype=np.int8)
    graph = convolution((1, 7, 6, 8), weights, {})
    assert count_macs(graph, graph.operators[0]) == 5 * 5 * 6 * 3 * 2 * 4


def test_a_table_program_pads_and_cuts() -> None:
    config = AcceleratorConfig(lanes=4, width=4)
    program = TableProgram(
        config=config, entries=np.arange(256).astype(np.int8), output_shape=(2, 3)
    )
    values = np.array([[-1, 2, 3], [4, 5, -128]], dtype=np.int8)
    words = program.lookup_words(values)
    assert words == [0x040302FF, 0x00008005]
    looked_up = np.array([[1, 2, 3, 4], [5, 6, 0, 0]], dtype=np.int8)
    np.testing.assert_array_equal(program.gather(looked_up), [[1, 2, 3], [4, 5, 6]])
