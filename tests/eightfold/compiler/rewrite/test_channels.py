"""Channels that are constant or unused: they go, and what is computed stays the same."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from eightfold.compiler.rewrite import compact, intervals, rewrite
from eightfold.compiler.rewrite.intervals import Intervals
from eightfold.golden.windows import Window
from eightfold.model import Graph
from eightfold.operators import run_graph
from eightfold.target.config import PRESETS
from tests.eightfold.compiler.rewrite.test_rules import expect_caught
from tests.support.networks.layers import CONV, Layers
from tests.support.networks.machine_run import expect_rewritten, random_values
from tests.support.networks.sparse import sparse_network

NONE = {"fused_activation_function": "NONE"}


def test_codes_lie_in_their_intervals() -> None:
    reached = 0
    for seed in range(40):
        graph = sparse_network(seed)
        known = Intervals(graph, "litert")
        for draw in range(4):
            inputs = random_values(graph, draw)
            if draw % 2:  # the ends of the codes
                inputs = {t: np.where(x < 0, -128, 127).astype(np.int8) for t, x in inputs.items()}
            for tensor, values in run_graph(graph, inputs).items():
                rows = values.reshape(-1, values.shape[-1])
                interval = known[tensor]
                assert (rows >= interval.low).all() and (rows <= interval.high).all()
                reached += int((rows.min(axis=0) == interval.low).sum())
    assert reached > 1000


def network(
    padding: str, bias: int, weights: np.ndarray, kernel: tuple[int, int] = (1, 1), *, zero: int = 0
) -> Graph:
    """Return two convolutions; channel 0 between them has no weights, and a bias.

    ``weights`` are those of the second one for each channel, ``zero`` the zero point between.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(-127, 128, (len(weights), 1, 1, 3), dtype=np.int8)
    first[0] = 0
    second = rng.integers(1, 128, (3, *kernel, len(weights)), dtype=np.int8)
    second[..., weights == 0] = 0
    layers = Layers((1, 4, 5, 3), zero_point=zero)
    layers.window(CONV, first, biases=[bias] + [7] * (len(weights) - 1))
    return layers.window(CONV, second, padding=padding, biases=[1, 2, 3]).graph()


USED = np.array([1, 1, 1, 1])
UNUSED = np.array([1, 1, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (network("VALID", 900, USED), 3),
        (network("VALID", 900, USED, (3, 2)), 3),
        (network("SAME", 900, USED), 3),
        (network("SAME", 900, USED, (3, 2)), None),
        (network("SAME", 0, USED, (3, 2)), 3),
        (network("SAME", 0, USED, (3, 2), zero=-128), 3),
        (network("SAME", 900, UNUSED, (3, 2)), 3),
        (network("VALID", 900, UNUSED, (3, 2)), 2),
    ],
    ids=[
        "constant",
        "constant, no padding",
        "constant, SAME without padding",
        "constant, and the padding is another code",
        "constant, and the padding is the same code",
        "the same with another zero point",
        "no weights read it",
        "one constant, one unused",
    ],
)
def test_a_channel_goes_if_that_is_exact(graph: Graph, left: int | None) -> None:
    rewritten = expect_rewritten(graph, random_values(graph), PRESETS["nano"])
    held = rewritten.held[graph.operators[0].outputs[0]]
    assert (None if held.channels is None else len(held.channels)) == left


def test_rewriting_can_be_left_out() -> None:
    graph = network("VALID", 900, USED)
    for without in (["channels"], ["all"]):
        rewritten = rewrite(graph, without=without)
        assert rewritten.graph.operators == graph.operators
        assert not rewritten.applied


def test_what_the_model_gives_out_stays_whole() -> None:
    graph = network("VALID", 900, UNUSED)
    middle = graph.operators[0].outputs[0]
    graph = replace(graph, outputs=(*graph.outputs, middle))
    rewritten = expect_rewritten(graph, random_values(graph), PRESETS["nano"], keep=False)
    assert rewritten.held[middle].channels is None


def narrower(patch: pytest.MonkeyPatch) -> None:
    """An interval is one code too narrow."""
    right = Intervals.weighted

    def weighted(self: Intervals, call) -> intervals.Interval:
        found = right(self, call)
        assert found is not None
        return intervals.Interval(found.low, np.maximum(found.low, found.high - 1))

    for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        patch.setitem(intervals.RULES, name, weighted)


def without_borders(patch: pytest.MonkeyPatch) -> None:
    """Intervals know of no padding."""
    right = intervals.patterns

    def inside(window: Window, axis: int, size: int) -> np.ndarray | None:
        found = right(window, axis, size)
        return None if found is None else np.ones_like(found[:1])

    patch.setattr(intervals, "patterns", inside)


def padding_is_seen(patch: pytest.MonkeyPatch) -> None:
    """A constant channel is folded into a bias though windows reach into the padding."""
    patch.setattr(compact, "_sees_all", lambda node: True)


def nothing_is_added(patch: pytest.MonkeyPatch) -> None:
    """A constant channel goes without what it adds."""
    patch.setattr(compact.Needs, "constant_part", lambda self, operator: None)


def only_the_first_tap(patch: pytest.MonkeyPatch) -> None:
    """A channel counts as unused if its weights at the first tap are 0."""

    def ask(self: compact.Needs, operator) -> None:
        node = compact.Node(self._graph.tensors, operator)
        weights = node.constant(1)[self.kept[node.output.index]]
        taps = weights if weights.ndim == 2 else weights[:, 0, 0]
        used = taps.any(axis=0)
        self.kept[node.input(0).index] |= used & ~self._foldable(node)

    patch.setattr(compact.Needs, "_ask", ask)


def scales_stay(patch: pytest.MonkeyPatch) -> None:
    """The scales of filters are those of the first channels, not of those that stay."""
    patch.setattr(
        compact,
        "sliced",
        lambda quantization, axis, kept: (
            quantization
            if quantization is None or len(quantization.scale) == 1
            else replace(
                quantization,
                scale=quantization.scale[: len(kept)],
                zero_point=quantization.zero_point[: len(kept)],
            )
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [narrower, without_borders, padding_is_seen, nothing_is_added, only_the_first_tap, scales_stay],
)
@pytest.mark.usual(count=3)
def test_a_wrong_rule_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    expect_caught(sparse_network)
