"""BATCH_MATMUL: golden's bytes, whatever is constant, broadcast, transposed, or works in parts."""

from collections.abc import Sequence

import numpy as np
import pytest

from eightfold.compiler import Compiled
from eightfold.isa import Vector, Weights
from eightfold.model import Graph
from eightfold.target.config import PRESETS
from tests.support.networks.layers import Written
from tests.support.networks.machine_run import compile_stream, expect_golden

Shape = tuple[int, ...]

NANO = PRESETS["nano"]
TINY = NANO.replace(scratchpad=4096)
CODES = np.random.default_rng(7).integers(-128, 128, 4096, dtype=np.int8)


def graph_of(
    shapes: Sequence[Shape],
    output: Shape,
    constant: int | None = None,
    scale: float = 90.0,
    **options: bool,
) -> Graph:
    """Return a product; input ``constant`` is a constant."""
    net = Written(zero_point=-3)
    operands = []
    for place, shape in enumerate(shapes):
        net.usual = 0.5, (127, -128)[place]
        given = net.codes(np.resize(CODES, shape)) if place == constant else net.given(*shape)
        operands.append(given)
    result = net.add("BATCH_MATMUL", operands, (scale, -3), options)
    assert result.shape == output
    return net.graph(result)


def commands(stream: Compiled, kind: type) -> list:
    return [each.instruction for each in stream.issued if isinstance(each.instruction, kind)]


PRODUCTS: dict[str, Graph] = {
    "three axes, each broadcast in turn": graph_of(
        [(2, 1, 3, 4, 5), (1, 2, 1, 5, 6)], (2, 2, 3, 4, 6)
    ),
    "a matrix for all": graph_of([(2, 3, 4, 5), (5, 17)], (2, 3, 4, 17)),
    "all by a matrix": graph_of([(4, 5), (3, 2, 17, 5)], (3, 2, 4, 17), adj_y=True),
    "matrices by vectors": graph_of([(2, 5, 40), (5, 1)], (2, 40, 1), adj_x=True),
    "one element": graph_of([(1, 1), (1, 1)], (1, 1)),
    "constant second": graph_of([(2, 9, 17), (17, 5)], (2, 9, 5), 1),
    "constant second, columns first": graph_of(
        [(2, 17, 9), (1, 5, 17)], (2, 9, 5), 1, adj_x=True, adj_y=True
    ),
    "constant first": graph_of([(1, 9, 17), (2, 17, 5)], (2, 9, 5), 0),
    "constant matrices second": graph_of([(2, 9, 17), (2, 5, 17)], (2, 9, 5), 1, adj_y=True),
    "constant matrices first": graph_of([(2, 17, 9), (2, 17, 5)], (2, 9, 5), 0, adj_x=True),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("config", [NANO, TINY], ids=["nano", "tiny"])
def test_products_are_goldens(name: str, config) -> None:
    graph = PRODUCTS[name]
    expect_golden(graph, config)


@pytest.mark.parametrize(
    ("name", "vectors"),
    [
        ("three axes, each broadcast in turn", 2),
        ("a matrix for all", 1),
        ("constant second", 0),
        ("constant first", 1),
        ("constant matrices second", 1),
    ],
)
def test_one_constant_matrix_is_weights(name: str, vectors: int) -> None:
    stream = compile_stream(PRODUCTS[name], PRESETS["large"])
    assert len(commands(stream, Vector)) == vectors
    assert bool(commands(stream, Weights)) == (vectors == 0)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [[(3, 900), (900, 40)], [(40, 900), (900, 3)]])
def test_parts_of_either_operand_fit(shapes: list[Shape]) -> None:
    graph = graph_of(shapes, (shapes[0][0], shapes[1][1]), scale=700.0)
    stream = expect_golden(graph, TINY)
    assert len(commands(stream, Vector)) > 1


def test_a_matrix_by_itself() -> None:
    net = Written(zero_point=11)
    x = net.given(2, 7, 9)
    expect_golden(net.model(net.add("BATCH_MATMUL", [x, x], (300.0, 0), {"adj_y": True})), NANO)


@pytest.mark.parametrize("length", [33100, 70000])
def test_long_sums_wrap_as_goldens(length: int) -> None:
    """255 * 255 * 33,100 is beyond int32; a window of 70,000 has two loops."""
    graph = graph_of([(1, length), (length, 1)], (1, 1), scale=1e7)
    ends = np.full((1, length), -128, np.int8), np.full((length, 1), 127, np.int8)
    inputs = dict(zip(graph.inputs, ends, strict=True))
    expect_golden(graph, PRESETS["large"], inputs)
