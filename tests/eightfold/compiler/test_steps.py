"""Operators of several steps and several results, results of other types, few commands."""

import numpy as np
import pytest

from eightfold import isa
from eightfold.compiler import Compiled, compile_network
from eightfold.estimate.estimate import estimate_network
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import count_macs, load_model, run_graph, run_operator
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.hostile.subject import run_compiled
from tests.support.models.single import moved, one_operator, transposed
from tests.support.networks.layers import Layers, Written
from tests.support.networks.machine_run import compile_stream, expect_golden, random_values

NANO = PRESETS["nano"]
TINY = NANO.replace(scratchpad=4096)


def moves(stream: Compiled) -> list[dict[str, int]]:
    """Return the MOVE commands within the scratchpad, without those to and from memory."""
    scratchpad, fill = isa.Space.SCRATCHPAD.value, isa.Space.FILL.value
    return [
        dict(issued.fields)
        for issued in stream.issued
        if issued.command.opcode == isa.Opcode.MOVE
        and issued.fields["target_space"] == scratchpad
        and issued.fields["source_space"] in (scratchpad, fill)
    ]


def branching_network() -> Graph:
    """Return SPLIT, TRANSPOSE_CONV of one part, PRELU, and LESS of both, and SHAPE."""
    rng = np.random.default_rng(7)
    net = Written(0.1, 3)
    split = [net.integers(3), net.given(1, 5, 4, 6)]
    first, second = net.add_several("SPLIT", split, net.usual, {"num_splits": 2})
    weights = net.constant(rng.integers(-127, 128, (3, 3, 3, 3), np.int8), scale=0.02)
    operands = [net.integers([1, 10, 8, 3]), weights, first]
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    larger = net.add("TRANSPOSE_CONV", operands, (0.2, -5), options)
    alpha = net.constant(rng.integers(-128, 128, (3,), np.int8), scale=0.01, zero_point=9)
    rectified = net.add("PRELU", [larger, alpha], (0.15, -20))
    less = net.add("LESS", [larger, rectified])
    return net.graph(less, net.add("SHAPE", [rectified], options={"out_type": "INT64"}), second)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("config", [NANO, TINY, PRESETS["small"]], ids=["nano", "tiny", "small"])
def test_a_network_of_several_steps_and_results(config: AcceleratorConfig, keep: bool) -> None:
    graph = branching_network()
    expect_golden(graph, config, keep=keep)


def test_steps_count_for_their_operator() -> None:
    graph = branching_network()
    stream = compile_stream(graph, NANO)
    indices = {operator.index for operator in graph.operators}
    assert {issued.operator for issued in stream.issued} == indices
    assert set(estimate_network([stream])) == set(stream.searched) == indices
    # TRANSPOSE_CONV spreads its input out, PRELU is one command.
    kinds = [(issued.operator, issued.command.opcode) for issued in stream.issued]
    assert kinds.count((1, isa.Opcode.MATRIX)) == 1
    assert kinds.count((2, isa.Opcode.VECTOR)) == 1


def test_macs_of_a_transposed_convolution_are_those_of_its_inputs() -> None:
    graph = branching_network()
    assert count_macs(graph, graph.operators[1]) == 5 * 4 * 3 * 3 * 3 * 3


def test_segments_hand_on_integers() -> None:
    builder = ModelBuilder()
    x = builder.input((3, 4), dtype=np.int64)
    begin = builder.input((2,), dtype=np.int32)
    turned, part, twice = (
        builder.tensor(shape, dtype=np.int64) for shape in ((4, 3), (2, 3), (2, 2, 3))
    )
    order, size = (builder.constant(np.array(v, np.int32)) for v in ([1, 0], [2, 3]))
    builder.operator("TRANSPOSE", [x, order], [turned])
    builder.operator("SLICE", [turned, begin, size], [part])  # in golden: begin is computed
    builder.operator("PACK", [part, part], [twice], {"values_count": 2, "axis": 0})
    builder.output(twice)
    graph = load_model(builder.build())
    values = {**random_values(graph), begin: np.array([1, 0], np.int32)}
    expected = run_graph(graph, values)
    segments = compile_network(graph, NANO, fallback=True).segments
    assert [segment.compiled is None for segment in segments] == [False, True, False]
    for segment in segments:
        if segment.compiled is None:
            for operator in segment.operators:
                values[operator.outputs[0]] = run_operator(graph, operator, values)[0]
        else:
            values |= run_compiled(segment.compiled, graph, values)
    np.testing.assert_array_equal(values[twice], expected[twice], strict=True)


def test_a_constant_under_another_shape_is_written() -> None:
    net = Written()
    y = net.add("RESHAPE", [net.codes(range(6))], options={"new_shape": [2, 3]})
    graph = net.graph(y, net.add("MAXIMUM", [net.given(2, 3), y]))
    expect_golden(graph, NANO)
    expect_golden(graph, TINY, keep=False)


def test_a_constant_that_is_only_copied_is_not_loaded_before() -> None:
    constant = (np.arange(12, dtype=np.int8).reshape(2, 6), 0.5, 0, 0)
    options = {"axis": 1}
    model = one_operator("CONCATENATION", [(2, 3)], (2, 9), constants=(constant,), options=options)
    stream = expect_golden(model, NANO)
    sources = [issued.fields.get("source_space") for issued in stream.issued]
    assert sources.count(isa.Space.MODEL.value) == 1
    assert len(moves(stream)) == 1


@pytest.mark.parametrize("config", [NANO, TINY], ids=["nano", "tiny"])
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "MAXIMUM", "LESS", "PRELU"])
def test_broadcasting_to_rank_8(name: str, config: AcceleratorConfig) -> None:
    shapes = [(2, 3, 2, 2, 1, 3, 2, 2), (3, 1, 2, 1, 3, 1, 2)]
    if name != "PRELU":  # whose slopes alone are broadcast
        shapes[0] = (2, 1, 2, 1, 1, 3, 2, 2)
    full = tuple(np.broadcast_shapes(*shapes))
    dtype = np.bool_ if name == "LESS" else np.int8
    model = one_operator(name, shapes, full, scales=(0.5, 0.25, 0.75), dtype=dtype)
    expect_golden(model, config)


def test_a_prelu_whose_multiplier_leaves_results_out_is_two_commands() -> None:
    model = one_operator("PRELU", [(2, 6), (2, 6)], (2, 6), scales=(0.5, 0.5, 0.03))
    stream = expect_golden(model, NANO)
    assert [issued.command.opcode for issued in stream.issued].count(isa.Opcode.VECTOR) == 2


def resized(factor: int) -> bytes:
    size = [4 * factor, 5 * factor]
    return moved("RESIZE_NEAREST_NEIGHBOR", (1, 4, 5, 3), (1, *size, 3), size)


FOUR = (2, 4, 6, 8)


@pytest.mark.parametrize(
    ("model", "commands"),
    [
        (moved("TRANSPOSE", FOUR, (2, 6, 8, 4), [0, 2, 3, 1]), 1),
        (moved("SLICE", FOUR, (1, 2, 3, 4), [1, 1, 1, 1], [1, 2, 3, 4]), 1),
        (moved("PAD", FOUR, (2, 6, 8, 8), [[0, 0], [1, 1], [1, 1], [0, 0]]), 3),
        (moved("SPACE_TO_DEPTH", FOUR, (2, 2, 3, 32), options={"block_size": 2}), 1),
        (moved("DEPTH_TO_SPACE", FOUR, (2, 8, 12, 2), options={"block_size": 2}), 1),
        (moved("SPACE_TO_BATCH_ND", FOUR, (8, 3, 4, 8), [2, 2], [[1, 1], [1, 1]]), 3),
        (moved("BATCH_TO_SPACE_ND", (8, 4, 6, 8), (2, 6, 10, 8), [2, 2], [[1, 1], [1, 1]]), 2),
        (resized(2), 1),
        (resized(3), 1),
        (one_operator("PACK", [(5, 7)] * 3, (5, 3, 7), options={"values_count": 3, "axis": 1}), 3),
        (one_operator("PACK", [(5, 7)], (1, 5, 7), options={"values_count": 1}), 0),
        (moved("TRANSPOSE", (1, 4, 1, 8), (4, 1, 1, 8), [1, 0, 2, 3]), 0),
        (one_operator("PADV2", [(9, 9), ()], (24, 9),
                      constants=(np.array([[10, 5], [0, 0]], np.int32),), order=(0, 2, 1)), 5),
    ],
)  # fmt: skip
def test_movement_takes_few_commands(model: bytes, commands: int) -> None:
    assert len(moves(expect_golden(model, NANO))) == commands


def test_rows_before_columns_where_a_resize_has_odd_ratios() -> None:
    size = [23, 31]
    graph = load_model(moved("RESIZE_NEAREST_NEIGHBOR", (1, 13, 11, 3), (1, *size, 3), size))
    expect_golden(graph, TINY)
    assert len(moves(expect_golden(graph, NANO))) < 25


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize(
    ("kernel", "stride", "config", "commands"),
    [
        ((3, 3), 1, NANO, 4),  # a command per image and axis
        ((5, 4), 2, PRESETS["base"], 4),
        ((2, 7), 1, PRESETS["base"], 4),
        ((3, 3), 1, TINY, 2),  # no room between
        ((2, 2), 2, PRESETS["base"], 2),  # windows that do not overlap
        ((1, 7), 1, PRESETS["base"], 2),
    ],
)
def test_pools_of_windows_that_overlap_go_along_one_axis_at_a_time(
    kernel: tuple[int, int], stride: int, padding: str, config: AcceleratorConfig, commands: int
) -> None:
    layers = Layers((2, 9, 12, 8), scale=0.1, zero_point=-9)
    layers.window("MAX_POOL_2D", kernel, stride, padding=padding, fused_activation_function="RELU6")
    graph = layers.graph()
    stream = expect_golden(graph, config)
    opcodes = [issued.command.opcode for issued in stream.issued]
    assert opcodes.count(isa.Opcode.VECTOR) == commands


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rim", "padding", "strides"),
    [
        (rim, padding, strides)
        for strides in [(1, 3), (4, 2), (1, 1)]
        for padding, rim in [("VALID", 0), ("SAME", 0), ("SAME", 2), ("VALID", 2)]
    ],
)
@pytest.mark.usual("rim", "padding")
def test_a_transposed_convolution_with_a_rim(
    strides: tuple[int, int], padding: str, rim: int
) -> None:
    rng = np.random.default_rng(5)
    kernel = (2, 5)
    source = (2, 3, 4, 2)
    sizes = [
        (n - 1) * s + (k if padding == "VALID" else 1) + min(rim, s - 1)
        for n, s, k in zip(source[1:3], strides, kernel, strict=True)
    ]
    weights = rng.integers(-128, 128, (9, *kernel, 2)).astype(np.int8)
    model = transposed(
        (2, *sizes, 9), source=source, weights=(weights, 0.05, 3, 0),
        padding=padding, stride_h=strides[0], stride_w=strides[1],
    )  # fmt: skip
    for config in (NANO, TINY, PRESETS["base"]):
        expect_golden(model, config)
