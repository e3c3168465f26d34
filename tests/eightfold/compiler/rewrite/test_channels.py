"""Channels that are constant or unused: they go, and what is computed stays the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eightfold.compiler.rewrite import compact, intervals
from eightfold.compiler.rewrite.intervals import Intervals
from eightfold.compiler.rewrite.rules import rewrite
from eightfold.model import Graph, Operator
from eightfold.operators import run_graph
from eightfold.target.config import PRESETS
from tests.eightfold.compiler.rewrite.test_rules import expect_caught, replace_by
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
    rewritten = expect_rewritten(graph, PRESETS["nano"])
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
    rewritten = expect_rewritten(graph, PRESETS["nano"], keep=False)
    assert rewritten.held[middle].channels is None


def narrower(right: Callable, known: Intervals, operator: Operator) -> Any:
    """An interval is one code too narrow."""
    found = right(known, operator)
    if found is None or operator.name not in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        return found
    return intervals.Interval(found.low, np.maximum(found.low, found.high - 1))


def without_borders(right: Callable, *arguments: Any) -> np.ndarray | None:
    """Intervals know of no padding."""
    found = right(*arguments)
    return None if found is None else np.ones_like(found[:1])


def padding_is_seen(*_: Any) -> bool:
    """A constant channel is folded into a bias though windows reach into the padding."""
    return True


def nothing_is_added(*_: Any) -> None:
    """A constant channel goes without what it adds."""


def only_the_first_tap(_: Callable, needs: compact.Needs, operator: Operator) -> None:
    """A channel counts as unused if its weights at the first tap are 0."""
    node = compact.Node(needs._graph.tensors, operator)
    weights = node.constant(1)[needs.kept[node.output.index]]
    taps = weights if weights.ndim == 2 else weights[:, 0, 0]
    used = taps.any(axis=0)
    needs.kept[node.input(0).index] |= used & ~needs._foldable(node)


def scales_stay(_: Callable, quantization: Any, axis: int, kept: np.ndarray) -> Any:
    """The scales of filters are those of the first channels, not of those that stay."""
    if quantization is None or len(quantization.scale) == 1:
        return quantization
    scale, zero_point = (
        each[: len(kept)] for each in (quantization.scale, quantization.zero_point)
    )
    return replace(quantization, scale=scale, zero_point=zero_point)


MUTANTS: dict[Callable, tuple[Any, str]] = {
    narrower: (Intervals, "_result"),
    without_borders: (intervals, "patterns"),
    padding_is_seen: (compact, "_sees_all"),
    nothing_is_added: (compact.Needs, "constant_part"),
    only_the_first_tap: (compact.Needs, "_ask"),
    scales_stay: (compact, "sliced"),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", MUTANTS)
@pytest.mark.usual(count=3)
def test_a_wrong_rule_is_caught(wrong: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_by(wrong, *MUTANTS[wrong], monkeypatch)
    expect_caught(sparse_network)
