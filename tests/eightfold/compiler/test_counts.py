"""Tensors longer than a command's fields count: loops of commands, or a refusal by name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.compiler.emit import emitter
from eightfold.compiler.steps import channelwise, convolution, reduction, windowed
from eightfold.operators import load_model
from eightfold.target.config import PRESETS
from tests.support.command import Call, refusal, saved
from tests.support.models.single import one_operator
from tests.support.networks.layers import CONV, Layers
from tests.support.networks.machine_run import compile_stream, expect_golden

PRIME = 65537
"""The first prime beyond 16 bits."""

NANO = PRESETS["nano"]

ROOMY = PRESETS["base"].replace(scratchpad=1 << 20)
"""The largest scratchpad: long tensors are there as a whole."""

Shape = tuple[int, ...]


def window(
    name: str,
    shape: Shape,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: str = "VALID",
) -> bytes:
    """Return a convolution or pool; CONV_2D has two channels."""
    filters = (2, *kernel, shape[3]) if name == CONV else kernel
    scale = 0.5 if "POOL" in name else 1.0
    layers = Layers(shape, zero_point=0)
    return layers.window(name, filters, stride, dilation, padding, scale=scale).model()


def reduced(name: str, shape: Shape, *axes: int) -> bytes:
    """Return a reduction that keeps its axes, so that a sum is not clamped."""
    result = tuple(1 if place in axes else size for place, size in enumerate(shape))
    scales = (0.5, 64.0 if name == "SUM" else 0.5)
    constants = (np.array(axes, np.int32),)
    options = {"keep_dims": True}
    return one_operator(name, [shape], result, scales=scales, constants=constants, options=options)


def added(a: Shape, b: Shape) -> bytes:
    return one_operator("ADD", [a, b], np.broadcast_shapes(a, b))


def arg_max(shape: Shape) -> bytes:
    constants = (np.array(0, np.int32),)
    options = {"output_type": "INT32"}
    return one_operator(
        "ARG_MAX", [shape], shape[1:], constants=constants, options=options, dtype=np.int32
    )


LONG: dict[str, Callable[[], bytes]] = {
    "conv_columns": lambda: window("CONV_2D", (1, 1, PRIME, 1), (1, 1)),
    "conv_rows": lambda: window("CONV_2D", (1, PRIME, 1, 1), (3, 1), padding="SAME"),
    "conv_row_stride": lambda: window("CONV_2D", (1, 2 * PRIME, 1, 1), (3, 1), (32_767, 1)),
    "conv_one_row": lambda: window("CONV_2D", (1, 2 * PRIME, 1, 1), (1, 1), (32_767, 1)),
    "conv_stride_beyond": lambda: window(
        "CONV_2D", (1, 5, 5, 2), (3, 3), (32_767, 32_767), padding="SAME"
    ),
    "conv_dilation_of_columns": lambda: window(
        "CONV_2D", (1, 1, PRIME, 1), (1, 2), dilation=(1, 32_767)
    ),
    "depthwise_columns": lambda: window("DEPTHWISE_CONV_2D", (1, 1, PRIME, 2), (1, 3)),
    "depthwise_rows": lambda: window("DEPTHWISE_CONV_2D", (1, PRIME, 1, 2), (3, 1)),
    "depthwise_stride": lambda: window("DEPTHWISE_CONV_2D", (1, 300, 600, 2), (3, 3), (257, 256)),
    "depthwise_row_stride": lambda: window(
        "DEPTHWISE_CONV_2D", (1, 2 * PRIME, 1, 2), (3, 1), (32_767, 1)
    ),
    "max_pool_columns": lambda: window("MAX_POOL_2D", (1, 1, PRIME + 1, 1), (1, 2)),
    "max_pool_rows": lambda: window("MAX_POOL_2D", (1, PRIME, 1, 1), (2, 1), padding="SAME"),
    "max_pool_stride": lambda: window("MAX_POOL_2D", (1, 1, 2 * PRIME, 1), (1, 2), (1, PRIME)),
    "max_pool_channels": lambda: window("MAX_POOL_2D", (1, 1, 2, PRIME), (1, 2)),
    "max_pool_padding": lambda: window("MAX_POOL_2D", (1, 3, 3, 3), (65_536, 1), padding="SAME"),
    "average_pool_rows": lambda: window("AVERAGE_POOL_2D", (1, PRIME, 1, 1), (2, 1)),
    "average_pool_padding": lambda: window(
        "AVERAGE_POOL_2D", (1, 3, 3, 3), (65_536, 1), padding="SAME"
    ),
    "maximum": lambda: reduced("REDUCE_MAX", (PRIME,), 0),
    "maximum_of_rows": lambda: reduced("REDUCE_MAX", (2, PRIME), 1),
    "minimum_of_long_results": lambda: reduced("REDUCE_MIN", (2, PRIME), 0),
    "two_factors": lambda: reduced("REDUCE_MAX", (2 * 40_000,), 0),
    "sum": lambda: reduced("SUM", (PRIME,), 0),
    "mean_of_rows": lambda: reduced("MEAN", (2, PRIME), 1),
    "add": lambda: added((PRIME, 1), (1, 3)),
    "add_three_loops": lambda: added((PRIME, 1, 2), (PRIME, 2, 1)),
}

SHORT_OF_ROOM = ("max_pool_columns", "maximum_of_rows")


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
@pytest.mark.usual(count=12)
def test_a_long_tensor_equals_golden(name: str) -> None:
    expect_golden(LONG[name](), ROOMY, keep=False)


@pytest.mark.parametrize("name", SHORT_OF_ROOM)
def test_a_long_tensor_in_parts_equals_golden(name: str) -> None:
    expect_golden(LONG[name](), NANO, keep=False)


REFUSED: dict[str, tuple[bytes, str]] = {
    "conv_kernel": (
        window("CONV_2D", (1, PRIME, 1, 1), (PRIME, 1)),
        "CONV_2D: MATRIX: ky must be in 0..65535, not 65537",
    ),
    "max_pool_window": (
        window("MAX_POOL_2D", (1, 1, PRIME, 1), (1, PRIME)),
        "MAX_POOL_2D: VECTOR: window0 must be in 0..65535, not 65537",
    ),
    "arg_max": (arg_max((PRIME,)), "ARG_MAX: an axis of 65537 elements is longer than 65535"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_compile_and_estimate_refuse_the_same_with_operator_and_limit(
    name: str, tmp_path: Path, call: Call
) -> None:
    model, reason = REFUSED[name]
    path = saved(tmp_path, model)
    config = tmp_path / "roomy.toml"
    config.write_text("scratchpad = 1048576\n", encoding="utf-8")
    commands = ("compile", "-o", tmp_path / "out"), ("estimate",)
    (line,) = {refusal(call, *words, path, "--config", config) for words in commands}
    assert reason in line


def test_what_no_command_counts_is_left_to_golden() -> None:
    model, reason = REFUSED["max_pool_window"]
    network = compile_network(load_model(model), ROOMY, fallback=True)
    assert network.reasons == {0: reason.partition(": ")[2]}
    assert [segment.compiled for segment in network.segments] == [None]


def test_a_stream_has_a_most_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_model(window("MAX_POOL_2D", (1, 9, 9, 2), (3, 3)))
    needed = len(compile_stream(graph, NANO).issued) - 1  # END is always there
    monkeypatch.setattr(emitter, "MAX_COMMANDS", needed)
    compile_network(graph, NANO)
    monkeypatch.setattr(emitter, "MAX_COMMANDS", needed - 1)
    with pytest.raises(InputError, match=f"0 MAX_POOL_2D: .* more than {needed - 1} commands"):
        compile_network(graph, NANO)


WINDOWS = ("AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "TRANSPOSE_CONV")


@pytest.mark.slow
@pytest.mark.parametrize("operator", WINDOWS)
def test_small_limits_change_no_window(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut where 16 bits end is cut after a few rows and columns instead."""
    for module in (windowed, channelwise, convolution):
        monkeypatch.setattr(module, "LONGEST", 4)
    expect_random(operator, range(12))


@pytest.mark.parametrize("operator", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_a_window_reads_nothing_that_is_in_no_image(operator: str) -> None:
    """Rows of taps in the padding of every output are left out, however many there are."""
    streams = []
    for rows in (3, 9000):
        model = window(operator, (1, 2, 7, 3), (rows, 4), (2, 1), padding="SAME")
        stream = expect_golden(model, NANO, keep=False)
        streams.append((stream.words.tolist(), stream.model))
    assert streams[0] == streams[1]


REDUCED = [((130,), 0), ((2, 130), 1), ((3, 67), 0), ((67, 3), 0), ((2, 67, 3), 1)]


@pytest.mark.parametrize("name", ["MEAN", "REDUCE_MAX", "SUM"])
@pytest.mark.parametrize(("shape", "axis"), REDUCED)
def test_small_limits_change_no_reduction(
    name: str, shape: Shape, axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduction, "LONGEST", 64)
    monkeypatch.setattr(reduction, "RUN", 64)
    expect_golden(reduced(name, shape, axis), ROOMY, keep=False)


def expect_random(operator: str, seeds: range) -> None:
    """Compile random models of an operator, and compare those that compile with golden."""
    compiled = 0
    for seed in seeds:
        model, inputs = random_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        try:
            expect_golden(graph, ROOMY, inputs, keep=False)
        except InputError:  # golden's rules are those of other tests
            continue
        compiled += 1
    assert compiled > len(seeds) // 2
