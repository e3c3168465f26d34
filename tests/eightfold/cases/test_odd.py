"""Odd networks are accepted, always the same, and odd in every way that they are drawn for."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from eightfold.cases.networks import (
    DRAWN,
    LARGE,
    MAX_ELEMENTS,
    MOST_LARGE,
    network_rng,
    odd_network,
)
from eightfold.compiler import HARDWARE
from eightfold.model import Graph
from eightfold.operators import load_model

SEEN = range(150)

EDGES = {"QUANTIZE", "DEQUANTIZE", "READ_VARIABLE", "ASSIGN_VARIABLE"}
"""Operators that stand around the network, as large as what they bring or take."""


@cache
def graph(seed: int) -> Graph:
    return load_model(odd_network(network_rng(seed))[0])


def ways(seed: int) -> Iterator[str]:
    """Yield in which ways a network is odd."""
    found = graph(seed)
    read = {i for o in found.operators for i in o.inputs}
    made = {i for o in found.operators for i in o.outputs}
    for operator in found.operators:
        inputs = [i for i in operator.inputs if i >= 0]
        x, y = (found.tensors[side[0]].shape for side in (inputs, operator.outputs))
        yield f"rank {len(y)}"
        yield from ["an operand twice"] if len(inputs) > len(set(inputs)) else []
        yield from ["a long axis"] if max(x, default=0) > 65_536 else []
        yield from ["many channels"] if len(x) == 4 and x[3] >= 4000 else []
        if "stride_h" in operator.options and operator.name != "TRANSPOSE_CONV":
            if operator.name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
                height, width = found.tensors[inputs[1]].shape[1:3]
            else:
                height, width = (operator.options[f"filter_{axis}"] for axis in ("height", "width"))
            strides = operator.options["stride_h"], operator.options["stride_w"]
            larger = height > x[1] or width > x[2]
            yield from ["a window larger than the image"] if larger else []
            yield from ["a stride larger than it"] if strides[0] > x[1] or strides[1] > x[2] else []
            yield from ["one pixel"] if x[1:3] == (1, 1) else []
            yield from ["depth 1"] if x[3] == 1 else []
    yield from ["several outputs"] if len(found.outputs) > 1 else []
    yield from ["an input that nothing reads"] if set(found.inputs) - read else []
    for index in found.outputs:
        if index in made & read:
            yield "an output that is read"
        elif index in found.inputs:
            yield "an output that is an input"
        elif index not in made:
            yield "an output that is a constant"


@pytest.mark.slow
def test_every_way_of_being_odd_occurs() -> None:
    seen = Counter(way for seed in SEEN for way in set(ways(seed)))
    assert set(seen) == {
        *(f"rank {rank}" for rank in range(9)),
        "an operand twice",
        "a long axis",
        "many channels",
        "a window larger than the image",
        "a stride larger than it",
        "one pixel",
        "depth 1",
        "several outputs",
        "an input that nothing reads",
        "an output that is read",
        "an output that is an input",
        "an output that is a constant",
    }


@pytest.mark.slow
def test_every_operator_occurs() -> None:
    seen = {o.name for seed in SEEN for o in graph(seed).operators}
    assert seen == DRAWN


@pytest.mark.parametrize("seed", range(20))
def test_the_same_seed_gives_the_same_network_within_its_limits(seed: int) -> None:
    first, second = (odd_network(network_rng(seed), operators=HARDWARE) for _ in range(2))
    assert first[0] == second[0]
    for index, array in first[1].items():
        np.testing.assert_array_equal(array, second[1][index])
    found = load_model(first[0])
    assert {operator.name for operator in found.operators} <= HARDWARE
    sizes = [
        np.prod(found.tensors[operator.outputs[0]].shape)
        for operator in found.operators
        if operator.name not in EDGES
    ]
    assert max(sizes, default=0) <= MAX_ELEMENTS
    assert sum(size >= LARGE for size in sizes) <= MOST_LARGE
