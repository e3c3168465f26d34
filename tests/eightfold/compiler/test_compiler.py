"""Command streams compute what golden computes, whatever the tiling, on the machine model."""

from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import random_case
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import count_macs, load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from tests.support.models.single import one_operator
from tests.support.networks.machine_run import compile_stream, expect_covered, expect_golden

TIGHT = {
    "8x8": AcceleratorConfig(
        lanes=8, width=8, port=8, scratchpad=4096, psum_depth=16, line_depth=16, vector_lanes=4
    ),
    "4x4": PRESETS["nano"].replace(scratchpad=4096, psum_depth=16),
    "6x5": AcceleratorConfig(
        lanes=6, width=5, port=4, scratchpad=4096, psum_depth=32, line_depth=32, vector_lanes=2
    ),
    "2x9": AcceleratorConfig(
        lanes=2, width=9, port=4, scratchpad=4096, psum_depth=64, line_depth=64, vector_lanes=1
    ),
    "base": PRESETS["base"],
}
"""Configurations in which little fits, and one in which all does."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize("operator", sorted(HARDWARE))
@pytest.mark.usual("operator")
def test_a_random_operator_equals_golden(operator: str, config: str, seed: int) -> None:
    model, inputs = random_case(operator, np.random.default_rng(seed))
    graph = load_model(model)
    try:
        expect_golden(graph, inputs, TIGHT[config])
    except InputError as error:
        reasons = ("not int8", "not constant", "coordinates rather than one")
        if not any(reason in str(error) for reason in reasons):
            raise


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.usual("seed")
def test_a_random_network_equals_golden(config: str, seed: int) -> None:
    model, inputs = random_network(network_rng(seed), operators=HARDWARE)
    expect_golden(load_model(model), inputs, TIGHT[config], keep=seed % 2 == 0)


def convolution(
    shape: tuple[int, ...],
    weights: np.ndarray,
    options: dict,
    depthwise: bool = False,
    bias_ones: int = 0,
) -> Graph:
    """Return a graph of one convolution; VALID, so that the output shape is easily found.

    ``bias_ones``: axes of length 1 in front of the bias's one.
    """
    axis = 3 if depthwise else 0
    channels = weights.shape[axis]
    bias = np.arange(channels, dtype=np.int32).reshape((1,) * bias_ones + (-1,))
    strides = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    chosen = {**strides, "padding": "VALID", "fused_activation_function": "NONE", **options}
    sizes = [
        (size - (kernel - 1) * chosen[f"dilation_{name}_factor"] - 1) // chosen[f"stride_{name}"]
        + 1
        for size, kernel, name in zip(shape[1:3], weights.shape[1:3], "hw", strict=True)
    ]
    if depthwise:
        chosen["depth_multiplier"] = channels // shape[3]
    model = one_operator(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [shape],
        (shape[0], *sizes, channels),
        scales=(0.5, 0.3),
        zero_points=(-7, 4),
        constants=((weights, [0.01] * channels, 0, axis), (bias, [0.005] * channels, 0, bias_ones)),
        options=chosen,
    )
    return load_model(model)


def random_input(shape: tuple[int, ...], seed: int = 0) -> dict[int, np.ndarray]:
    return {0: np.random.default_rng(seed).integers(-128, 128, shape, dtype=np.int8)}


KERNELS = [
    ((16, 16), {}),
    ((15, 1), {"stride_h": 2}),
    ((1, 15), {"stride_w": 3}),
    ((3, 3), {"dilation_h_factor": 2, "dilation_w_factor": 3}),
    ((3, 3), {"stride_h": 2, "stride_w": 2}),
    ((2, 5), {"stride_h": 4, "dilation_w_factor": 2}),
    ((1, 1), {"stride_w": 2}),
]


def expect_convolved(
    shape: tuple[int, ...], filters: tuple[int, ...], options: dict, config: str, **more: Any
) -> None:
    """Expect golden's results of a convolution with random weights of the shape ``filters``."""
    weights = np.random.default_rng(sum(filters)).integers(-127, 128, filters, dtype=np.int8)
    graph = convolution(shape, weights, options, **more)
    expect_golden(graph, random_input(shape), TIGHT[config])


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize(("kernel", "options"), KERNELS, ids=str)
@pytest.mark.usual("kernel", "options")
def test_a_wide_depthwise_window_is_split(
    kernel: tuple[int, int], options: dict, multiplier: int, config: str
) -> None:
    shape = (2, 19, 18, 6 // multiplier)
    expect_convolved(shape, (1, *kernel, 6), options, config, depthwise=True)


@pytest.mark.parametrize(
    ("shape", "filters", "config"),
    [
        pytest.param((1, 7, 6, 8), (6, 3, 2, 4), "4x4", id="groups"),
        # A window larger than the scratchpad is summed in slices.
        pytest.param((1, 1, 1, 9000), (9, 1, 1, 9000), "8x8", id="long window"),
        pytest.param((1, 3, 2, 5000), (9, 1, 1, 5000), "8x8", id="long windows"),
    ],
)
def test_groups_and_slices_are_convolved_apart(
    shape: tuple[int, ...], filters: tuple[int, ...], config: str
) -> None:
    expect_convolved(shape, filters, {}, config)


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize(("kernel", "options"), KERNELS, ids=str)
@pytest.mark.usual("kernel", "options")
def test_a_wide_dense_window_is_split(kernel: tuple[int, int], options: dict, config: str) -> None:
    weights = np.random.default_rng(0).integers(-127, 128, (5, *kernel, 3), dtype=np.int8)
    graph = convolution((2, 19, 18, 3), weights, options)
    expect_golden(graph, random_input((2, 19, 18, 3)), TIGHT[config])


@pytest.mark.parametrize("channels", [1, 6])
def test_the_bias_of_a_dense_convolution_has_any_shape(channels: int) -> None:
    shape = (channels, 3, 2, channels)
    weights = np.random.default_rng(0).integers(-127, 128, shape, dtype=np.int8)
    graph = convolution((1, 7, 6, channels), weights, {}, bias_ones=2)
    expect_golden(graph, random_input((1, 7, 6, channels)), TIGHT["4x4"])


@pytest.mark.slow
def test_a_tensor_larger_than_the_scratchpad_stays_in_memory() -> None:
    weights = np.random.default_rng(2).integers(-127, 128, (1, 3, 3, 24), dtype=np.int8)
    graph = convolution((1, 30, 40, 24), weights, {}, depthwise=True)
    expect_golden(graph, random_input((1, 30, 40, 24)), TIGHT["8x8"])


def matrix_commands(graph: Graph, config: str) -> list[dict]:
    """Return the fields of all MATRIX commands of a network."""
    issued = compile_stream(graph, PRESETS[config]).issued
    return [dict(i.fields) for i in issued if i.command.opcode == isa.Opcode.MATRIX]


def test_depthwise_takes_little_more_than_a_vector_per_output() -> None:
    weights = np.ones((1, 3, 3, 16), dtype=np.int8)
    (fields,) = matrix_commands(convolution((1, 42, 42, 16), weights, {}, True), "base")
    assert fields["y"] * fields["x"] <= 1.11 * 40 * 40


def test_few_output_channels_share_a_pass_with_their_neighbours() -> None:
    weights = np.ones((4, 3, 3, 1), dtype=np.int8)
    shape = (1, 10, 18, 1)
    (fields,) = matrix_commands(convolution(shape, weights, {}), "base")
    assert fields["x"] == 4
    expect_golden(convolution(shape, weights, {}), random_input(shape), PRESETS["base"])


@pytest.mark.slow
@pytest.mark.parametrize("config", ["4x4", "2x9", "base"])
@pytest.mark.parametrize("operator", sorted(HARDWARE))
@pytest.mark.usual("operator")
def test_commands_say_what_they_touch(operator: str, config: str) -> None:
    for seed in range(6):
        graph = load_model(random_case(operator, np.random.default_rng(seed))[0])
        try:
            expect_covered(compile_stream(graph, TIGHT[config]))
        except InputError:
            continue  # refused, as above


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.usual(count=2)
def test_a_group_of_channels_reads_no_others_behind_the_last_pixel(config: str) -> None:
    weights = np.ones((1, 3, 3, 10), dtype=np.int8)
    graph = convolution((2, 7, 6, 5), weights, {}, depthwise=True)
    expect_covered(compile_stream(graph, TIGHT[config]))


@pytest.mark.slow
def test_the_last_patch_is_read_to_the_end_of_its_vectors() -> None:
    graph = convolution((1, 20, 12, 1), np.ones((16, 7, 3, 1), dtype=np.int8), {})
    commands = matrix_commands(graph, "base")
    assert all((c["ky"], c["kc"]) == (1, 2) for c in commands), "im2col does not pay"
    expect_covered(compile_stream(graph, PRESETS["base"]))


def test_weights_that_are_not_constant_are_refused_with_the_tensor() -> None:
    graph = load_model(one_operator("FULLY_CONNECTED", [(1, 4), (2, 4)], (1, 2)))
    with pytest.raises(InputError, match=r"FULLY_CONNECTED: tensor 1 .* is not constant"):
        compile_network(graph, AcceleratorConfig())
    network = compile_network(graph, AcceleratorConfig(), fallback=True)
    assert [segment.compiled for segment in network.segments] == [None]
    assert "is not constant" in network.reasons[0]


def test_fallback_is_no_advice_where_golden_refuses_too() -> None:
    """All such operators are listed, and no other one."""
    builder = ModelBuilder()
    x = builder.input((1, 4), scale=0.5)
    y, z = (builder.tensor((1, 4), scale=0.5) for _ in range(2))
    real = builder.tensor((1, 4), dtype=np.float32)
    builder.operator("CEIL", [x], [y])
    builder.operator("FLOOR", [y], [z])
    builder.operator("DEQUANTIZE", [z], [real])
    builder.output(real)
    graph = load_model(builder.build())
    said = "not supported: LiteRT and TFLite Micro have no int8 kernel for it"
    for fallback in (False, True):
        with pytest.raises(InputError) as raised:
            compile_network(graph, AcceleratorConfig(), fallback=fallback)
        assert str(raised.value) == f"operator 0 CEIL: {said}; operator 1 FLOOR: {said}"


def test_macs_count_padding_taps_too() -> None:
    weights = np.ones((6, 3, 2, 4), dtype=np.int8)
    graph = convolution((1, 7, 6, 8), weights, {})
    assert count_macs(graph, graph.operators[0]) == 5 * 5 * 6 * 3 * 2 * 4
