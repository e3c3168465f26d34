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
from tests.support.networks.layers import CONV, DEPTHWISE, Layers, Pair
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

Shape = tuple[int, ...]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize("operator", sorted(HARDWARE))
@pytest.mark.usual("operator")
def test_a_random_operator_is_exact_and_covered(operator: str, config: str, seed: int) -> None:
    model, inputs = random_case(operator, np.random.default_rng(seed))
    graph = load_model(model)
    try:
        expect_covered(expect_golden(graph, TIGHT[config], inputs))
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
    expect_golden(model, TIGHT[config], inputs, keep=seed % 2 == 0)


KERNELS: list[tuple[tuple[int, int], Pair, Pair]] = [
    ((16, 16), 1, 1),
    ((15, 1), (2, 1), 1),
    ((1, 15), (1, 3), 1),
    ((3, 3), 1, (2, 3)),
    ((3, 3), 2, 1),
    ((2, 5), (4, 1), (1, 2)),
    ((1, 1), (1, 2), 1),
]
"""Rows and columns, strides, dilations."""


def expect_convolved(
    name: str,
    shape: Shape,
    filters: Shape,
    config: str,
    stride: Pair = 1,
    dilation: Pair = 1,
    **more: Any,
) -> None:
    """Expect golden's results of a convolution."""
    graph = Layers(shape).window(name, filters, stride, dilation, **more).graph()
    expect_golden(graph, TIGHT[config])


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize(("kernel", "stride", "dilation"), KERNELS, ids=str)
@pytest.mark.usual("kernel", "stride", "dilation")
def test_a_wide_depthwise_window_is_split(
    kernel: tuple[int, int], stride: Pair, dilation: Pair, multiplier: int, config: str
) -> None:
    shape = (2, 19, 18, 6 // multiplier)
    expect_convolved(DEPTHWISE, shape, (1, *kernel, 6), config, stride, dilation)


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.parametrize(("kernel", "stride", "dilation"), KERNELS, ids=str)
@pytest.mark.usual("kernel", "stride", "dilation")
def test_a_wide_dense_window_is_split(
    kernel: tuple[int, int], stride: Pair, dilation: Pair, config: str
) -> None:
    expect_convolved(CONV, (2, 19, 18, 3), (5, *kernel, 3), config, stride, dilation)


@pytest.mark.parametrize("channels", [1, 6])
def test_the_bias_of_a_dense_convolution_has_any_shape(channels: int) -> None:
    bias = np.arange(channels).reshape(1, 1, channels)
    expect_convolved(CONV, (1, 7, 6, channels), (channels, 3, 2, channels), "4x4", biases=bias)


@pytest.mark.parametrize(
    ("name", "shape", "filters", "config"),
    [
        pytest.param(CONV, (1, 7, 6, 8), (6, 3, 2, 4), "4x4", id="groups"),
        # A window larger than the scratchpad is summed in slices.
        pytest.param(CONV, (1, 1, 1, 9000), (9, 1, 1, 9000), "8x8", id="long window"),
        pytest.param(CONV, (1, 3, 2, 5000), (9, 1, 1, 5000), "8x8", id="long windows"),
        pytest.param(
            *(DEPTHWISE, (1, 30, 40, 24), (1, 3, 3, 24), "8x8"),
            marks=pytest.mark.slow,
            id="tensor larger than the scratchpad",
        ),
    ],
)
def test_a_convolution_in_parts(name: str, shape: Shape, filters: Shape, config: str) -> None:
    expect_convolved(name, shape, filters, config)


def matrix_commands(graph: Graph, config: str) -> list[dict]:
    """Return the fields of all MATRIX commands of a network."""
    issued = compile_stream(graph, PRESETS[config]).issued
    return [dict(i.fields) for i in issued if i.command.opcode == isa.Opcode.MATRIX]


def test_depthwise_takes_little_more_than_a_vector_per_output() -> None:
    graph = Layers((1, 42, 42, 16)).window(DEPTHWISE).graph()
    (fields,) = matrix_commands(graph, "base")
    assert fields["y"] * fields["x"] <= 1.11 * 40 * 40


def test_few_output_channels_share_a_pass_with_their_neighbours() -> None:
    graph = Layers((1, 10, 18, 1)).window(CONV, (4, 3, 3, 1)).graph()
    (fields,) = matrix_commands(graph, "base")
    assert fields["x"] == 4
    expect_golden(graph, PRESETS["base"])


@pytest.mark.slow
@pytest.mark.parametrize("config", TIGHT)
@pytest.mark.usual(count=2)
def test_a_group_of_channels_reads_no_others_behind_the_last_pixel(config: str) -> None:
    graph = Layers((2, 7, 6, 5)).window(DEPTHWISE, (1, 3, 3, 10)).graph()
    expect_covered(compile_stream(graph, TIGHT[config]))


@pytest.mark.slow
def test_the_last_patch_is_read_to_the_end_of_its_vectors() -> None:
    graph = Layers((1, 20, 12, 1)).window(CONV, (16, 7, 3, 1)).graph()
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
    graph = Layers((1, 7, 6, 8)).window(CONV, (6, 3, 2, 4)).graph()
    assert count_macs(graph, graph.operators[0]) == 5 * 5 * 6 * 3 * 2 * 4
