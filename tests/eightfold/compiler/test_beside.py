"""Element-wise commands beside the convolutions around them: same bytes, fewer cycles."""

from fractions import Fraction

import pytest

from eightfold.cases.builder import SeededNetwork, Value
from eightfold.compiler import beside, network
from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import Matrix, Vector
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from eightfold.target.memory import IDEAL
from tests.support.networks.machine_run import compile_stream, expect_covered, expect_golden

NANO = PRESETS["nano"]
ODD = AcceleratorConfig(lanes=3, width=5, psum_depth=64, port=4, scratchpad=32768)


def block(stride: int = 1, channels: int = 7, size: tuple[int, int] = (12, 5)) -> Graph:
    """Return a residual block: a 3x3 convolution and a 1x1 one, added, and a convolution behind."""
    net = SeededNetwork("a sum between convolutions", seed=7)
    x = net.graph_input((1, *size, channels), 1 / 64, 5)

    def convolved(x: Value, kernel: int, step: int = 1) -> Value:
        options = {"padding": "SAME", "stride_h": step, "stride_w": step}
        return net.weighted("CONV_2D", x, (channels, kernel, kernel, channels), options, 0.1)

    y = convolved(x, 3)
    inputs = [y, convolved(x, 1)]
    total = net.add("ADD", inputs, (0.1, -5), {"fused_activation_function": "NONE"})
    convolved(total, 3, stride)
    return load_model(net.build())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "config", "stride"),
    [(Fraction(1, 2), NANO, 2), (Fraction(3, 4), ODD, 1), (Fraction(1, 7), ODD, 2)],
    ids=["half", "more", "less"],
)
@pytest.mark.usual(names=["half"])
def test_parts_compute_what_the_whole_does(
    share: Fraction, config: AcceleratorConfig, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "SMALL", 64)
    divided = lambda config, issued, _: beside._divided(config, issued, share)  # noqa: E731
    monkeypatch.setattr(network, "beside", divided)
    graph = block(stride)
    stream = expect_golden(graph, config, keep=False)
    expect_covered(stream)
    kinds = [type(command.instruction) for command in stream.issued]
    assert kinds.count(Vector) == 2
    assert kinds.count(Matrix) >= 5


def test_the_parts_are_taken_if_they_take_fewer_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = block(channels=16, size=(16, 16))
    config = NANO.replace(port=16)  # weights that are fetched twice keep nobody waiting
    cut = compile_stream(graph, config)
    monkeypatch.setattr(network, "beside", lambda _, issued, __: [*issued])
    whole = compile_stream(graph, config)
    cycles = [estimate_stream(config, each.issued, IDEAL)[1] for each in (whole, cut)]
    sums = [c.instruction.run for c in cut.issued if isinstance(c.instruction, Vector)]
    assert sum(sums) == 16 * 16 * 16
    assert len(sums) == 2
    # The sum alone takes half a cycle for an element.
    assert cycles[0] - cycles[1] > sum(sums) // 2 // 2


@pytest.mark.slow
@pytest.mark.parametrize("channels", [12, 10])
@pytest.mark.usual
def test_an_average_pool_is_summed_up_beside_the_convolution(channels: int) -> None:
    net = SeededNetwork("a convolution and the mean of its pixels", seed=8)
    x = net.graph_input((1, 9, 9, 12), 1 / 64, 5)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    for size in (12, channels):  # the first one is computed while its input arrives
        x = net.weighted("CONV_2D", x, (size, 1, 1, 12), options, 0.1)
    window = {**options, "filter_height": 9, "filter_width": 9}
    net.add("AVERAGE_POOL_2D", [x], (x.scale, x.zero_point), window)
    stream = expect_golden(net.build(), NANO, keep=False)
    of = [type(each.instruction) for each in stream.issued if each.operator]
    assert (of.count(Matrix), of.count(Vector)) == (4, 2)
