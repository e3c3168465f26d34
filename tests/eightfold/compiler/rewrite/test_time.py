"""How long rewriting and compiling take, and how that grows with the number of operators."""

import time

import numpy as np
import pytest

from eightfold.compiler import compile_network
from eightfold.compiler.rewrite import rewrite
from eightfold.target.config import PRESETS
from tests.support.networks.redundant import RedundantNetwork
from tests.support.networks.sparse import SparseNetwork


def seconds(layers: int, made: type[SparseNetwork]) -> tuple[int, float, float]:
    """Return operators, and CPU seconds of rewriting and compiling a network of so many layers."""
    network = made(np.random.default_rng(1))
    graph = network.graph(layers)
    begin = time.process_time()
    rewritten = rewrite(graph)
    between = time.process_time()
    compile_network(rewritten.graph, PRESETS["base"])
    return len(graph.operators), between - begin, time.process_time() - between


def test_a_hundred_operators_take_less_than_ten_seconds() -> None:
    operators, rewriting, compiling = seconds(60, RedundantNetwork)
    assert operators > 90
    assert rewriting + compiling < 10


@pytest.mark.long
def test_time_grows_little_faster_than_operators() -> None:
    for made in (SparseNetwork, RedundantNetwork):
        for layers in (10, 100, 1000):
            print(
                "{} operators: {:.2f} s rewriting, {:.2f} s compiling".format(
                    *seconds(layers, made)
                )
            )
