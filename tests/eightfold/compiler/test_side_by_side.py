"""Depthwise windows of neighbouring columns, side by side in the lanes, give golden's bytes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any, Self

import numpy as np
import pytest

from eightfold import isa
from eightfold.compiler import Compiled, best_cascades, planes
from eightfold.compiler.steps.depthwise import SideBySide
from eightfold.model import Graph
from eightfold.target.config import PRESETS, AcceleratorConfig
from eightfold.target.memory import PROFILES
from tests.support.networks.layers import CONV, DEPTHWISE, Layers
from tests.support.networks.machine_run import compile_stream, expect_covered, expect_golden

WIDE = replace(PRESETS["base"], scratchpad=1 << 16)
CONFIGS = [
    WIDE,
    replace(WIDE, psum_depth=16),
    replace(WIDE, width=8, lanes=12, line_depth=16, dsp_taps=0),
]


class Depthwise(Layers):
    """Convolutions with random zero points, depthwise ones among them."""

    def dense(self, channels: int) -> Self:
        """Add a 1x1 CONV_2D."""
        return self.window(CONV, (channels, 1, 1, self.top.shape[3]), zero_point=self._zero_point())

    def depthwise(
        self,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        dilation: int = 1,
        padding: str = "SAME",
    ) -> Self:
        """Add a DEPTHWISE_CONV_2D."""
        zero_point = self._zero_point()
        return self.window(DEPTHWISE, kernel, stride, dilation, padding, zero_point=zero_point)

    def _zero_point(self) -> int:
        return int(self.rng.integers(-20, 20))


def scans(stream: Compiled) -> list[Mapping[str, int]]:
    """Return the fields of each depthwise command of the stream."""
    commands = [c for c in stream.issued if c.command.opcode == isa.Opcode.MATRIX]
    return [c.fields for c in commands if c.fields["depthwise"]]


def channels(stream: Compiled) -> list[int]:
    """Return the channels in the lanes of each depthwise command of the stream."""
    return [fields["last_lanes"] for fields in scans(stream)]


def expect_exact(graph: Graph, config: AcceleratorConfig, *, keep: bool = False) -> Compiled:
    """Check results, tokens, what commands say of their bytes, and that partial sums have room."""
    stream = expect_golden(graph, config, keep=keep)
    expect_covered(stream)
    for f in scans(stream):
        fires = [len(range(f[f"fire_{a}0"], f[a], f[f"fire_{a}_step"])) for a in "yx"]
        whole = f["ky"] == f["kx"] == f["first"] == f["last"] == 1
        assert whole or prod(fires) <= config.psum_depth
    return stream


@pytest.fixture
def anyway(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, int]]:
    """Have columns side by side, and planes, wherever they may be; count planes and factors."""
    seen: Counter[tuple[int, int]] = Counter()

    def most(way: SideBySide, *_: object) -> int:
        return -way.factor

    def emit(self: SideBySide, *given: Any) -> None:
        seen[self.count, self.factor] += 1
        emitted(self, *given)

    emitted = SideBySide.emit
    monkeypatch.setattr(SideBySide, "cycles", most)
    monkeypatch.setattr(SideBySide, "emit", emit)
    monkeypatch.setattr(planes, "pays", lambda *_: True)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usual(count=6)
def test_every_geometry_gives_goldens_bytes(
    seed: int, config: AcceleratorConfig, anyway: Counter[tuple[int, int]]
) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(2, 5))
    size = int(rng.integers(8, 24)), int(rng.choice([12, 24]))
    layers = Depthwise((int(rng.integers(1, 3)), *size, depth), seed)
    for paddings in (["SAME"], ["SAME", "VALID"]):
        kernel = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        small = min(layers.top.shape[1:3]) < 9
        padding = "SAME" if small else str(rng.choice(paddings))
        stride, dilation = rng.choice([(1, 1), (1, 2), (2, 1), (3, 1)]).tolist()
        layers.dense(depth).depthwise(kernel, stride, dilation, padding)
    layers.dense(3)
    expect_exact(layers.graph(), config)
    assert anyway


@pytest.mark.parametrize(
    ("shape", "kernel", "depth", "expected"),
    [
        pytest.param((1, 24, 32, 4), (3, 3), WIDE.psum_depth, [16], id="columns share a vector"),
        pytest.param((1, 24, 32, 4), (3, 3), 128, [16, 16], id="sums that do not fit, in parts"),
        pytest.param((1, 8, 15, 8), (3, 1), WIDE.psum_depth, [8], id="15 do not divide"),
        pytest.param((1, 8, 17, 8), (3, 1), WIDE.psum_depth, [8], id="17 do not divide"),
    ],
)
def test_channels_in_the_lanes(
    shape: tuple[int, int, int, int], kernel: tuple[int, int], depth: int, expected: list[int]
) -> None:
    graph = Depthwise(shape).depthwise(kernel).graph()
    assert channels(expect_exact(graph, replace(WIDE, psum_depth=depth))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [16, 6])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usual(count=4)
def test_pairs_of_pixels_give_goldens_bytes(seed: int, lanes: int) -> None:
    config = replace(WIDE, lanes=lanes)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 13)), int(rng.choice([8, 16, 24, 36]))
    layers = Depthwise((int(rng.integers(1, 3)), *size, config.pixel), seed)
    for stride in rng.choice([1, 2], 3).tolist():
        kernel = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        layers.depthwise(kernel, stride, int(rng.integers(1, 3)) if stride == 1 else 1)
    expect_exact(layers.dense(3).graph(), config)


@pytest.mark.parametrize(
    ("columns", "kernel", "stride", "padding", "expected"),
    [
        pytest.param(24, 3, 1, "SAME", 16, id="neighbours in the halves of the lanes"),
        pytest.param(24, 3, 1, "VALID", 16, id="without padding"),
        pytest.param(24, 3, 2, "SAME", 8, id="a stride of two: one half"),
        pytest.param(25, 3, 1, "SAME", 0, id="columns that do not pair"),
        pytest.param(24, 2, 1, "VALID", 0, id="results that do not pair"),
        pytest.param(24, 5, 1, "SAME", 0, id="more columns than the window has"),
        pytest.param(24, 3, 3, "SAME", 0, id="a stride of three"),
    ],
)
def test_where_a_vector_has_two_pixels(
    columns: int, kernel: int, stride: int, padding: str, expected: int
) -> None:
    layers = Depthwise((1, 12, columns, 8)).depthwise((3, kernel), stride, padding=padding)
    (scan,) = scans(expect_exact(layers.graph(), WIDE))
    assert scan["last_lanes"] * scan["pairs"] == expected


def test_rows_that_weigh_nothing_are_read_too() -> None:
    graph = Depthwise((1, 7, 5, 6)).depthwise((5, 3)).graph()
    expect_exact(graph, replace(WIDE, psum_depth=16))


def test_where_weights_come_slowly_there_are_few() -> None:
    graph = Depthwise((1, 24, 32, 4)).depthwise().graph()
    assert channels(compile_stream(graph, WIDE, memory=PROFILES["sdr-sdram-16"])) == [4]


def strided(columns: int, stride: int = 2, kernel: int = 3, padding: str = "SAME") -> Depthwise:
    """Return a network with a depthwise layer behind a convolution."""
    layers = Depthwise((1, 20, columns, 6)).dense(4).dense(4)
    return layers.depthwise((3, kernel), stride, padding=padding)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "stride", "kernel", "padding"),
    [
        (*size, kernel, padding)
        for size in [(16, 2), (17, 2), (15, 2), (24, 3), (25, 3)]
        for kernel in [2, 3, 5]
        for padding in ["SAME", "VALID"]
    ],
)
@pytest.mark.usual(count=4)
def test_a_stride_reads_planes(
    columns: int, stride: int, kernel: int, padding: str, anyway: Counter[tuple[int, int]]
) -> None:
    graph = strided(columns, stride, kernel, padding).graph()
    expect_exact(graph, replace(WIDE, psum_depth=16))
    assert {count for count, _ in anyway} == {stride}


@pytest.mark.slow
def test_each_plane_has_a_command() -> None:
    assert channels(compile_stream(strided(32).graph(), WIDE)) == [16, 16]


def test_planes_without_taps_have_none(anyway: Counter[tuple[int, int]]) -> None:
    graph = strided(16, kernel=1).graph()
    assert channels(expect_exact(graph, WIDE)) == [16]
    assert set(anyway) == {(2, 4)}


def read_twice() -> Depthwise:
    """Return a network whose strided layer is not the only reader of what it reads."""
    layers = Depthwise((1, 20, 16, 6)).dense(4).dense(4)
    before = layers.top
    layers.depthwise(stride=2).out()
    layers.top = before
    return layers.dense(2)


@pytest.mark.parametrize(
    ("layers", "keep"),
    [
        (strided(16), True),
        (read_twice(), False),
        (Depthwise((1, 8, 16, 4)).depthwise(stride=2), False),
    ],
    ids=["kept", "another reader", "an input"],
)
def test_these_tensors_have_no_planes(
    layers: Depthwise, keep: bool, anyway: Counter[tuple[int, int]]
) -> None:
    expect_exact(layers.graph(), WIDE, keep=keep)
    assert not anyway


def test_a_vector_with_padding_and_pixels_is_streamed(anyway: Counter[tuple[int, int]]) -> None:
    graph = Depthwise((1, 12, 32, 6)).depthwise((5, 4), dilation=2).graph()
    expect_exact(graph, replace(WIDE, width=24, psum_depth=64, line_depth=16))
    assert set(anyway) == {(1, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("scratchpad", [4096, 8192])
def test_tensors_outside_of_the_scratchpad_have_no_planes(
    scratchpad: int, anyway: Counter[tuple[int, int]]
) -> None:
    graph = Depthwise((1, 24, 36, 6)).dense(6).dense(6).depthwise(stride=2).dense(6).graph()
    config = replace(WIDE, scratchpad=scratchpad)
    for cascades in (None, best_cascades):
        expect_golden(graph, config, keep=False, cascades=cascades)
    assert {count for count, _ in anyway} <= {1}
