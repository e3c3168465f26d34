"""The limits in `lab.measure.series`: a model beyond each is refused."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.isa import ErrorCode
from eightfold.isa.decode import CommandError
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph
from eightfold.target.config import PRESETS
from lab.hostile.subject import run_compiled
from lab.measure.__main__ import refused_activations
from lab.measure.series import CATALOGUE
from tests.support.models.refusals import INT32_INDEX, bilinear, reduced, scattered
from tests.support.models.single import WINDOW, convolution, moved, one_operator, product
from tests.support.models.tolerated import BOTH
from tests.support.networks.machine_run import compile_stream

NANO = PRESETS["nano"]


def _rank_3(name: str) -> bytes:
    if "POOL" in name:
        options = WINDOW | {"filter_height": 1, "filter_width": 1}
        return one_operator(name, [(2, 2, 3)], (2, 2, 3), options=options)
    axis, filters = (0, (2, 1, 1, 3)) if name == "CONV_2D" else (3, (1, 1, 1, 3))
    weights = (np.ones(filters, np.int8), 0.5, 0, axis)
    bias = (np.zeros(filters[axis], np.int32), 0.25, 0, 0)
    result = (2, 2, filters[axis])
    return one_operator(name, [(2, 2, 3)], result, constants=(weights, bias), options=WINDOW)


BEYOND: dict[str, list[tuple[Callable[[], bytes], str]]] = {
    "BATCH_MATMUL": [
        (partial(product, (1,) * 5 + (2,), (2, 3)), "has rank 6, not 2 to 5"),
        (partial(product, (1, 20000), (20000, 1)), "smallest part does not fit a scratchpad"),
        (partial(product, (1, 65537), (65537, 1)), "65537 products"),
    ],
    **{
        name: [
            (
                partial(moved, name, (1 << 16, 2), (2,), 0, **INT32_INDEX),
                "an axis of 65536 elements is longer than 65535",
            ),
            (partial(reduced, name, [0, 1], **INT32_INDEX), "one axis is needed|one integer"),
        ]
        for name in ("ARG_MAX", "ARG_MIN")
    },
    **{
        name: [(partial(_rank_3, name), "rank 3, not 4|must have rank 4")]
        for name in ("DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")
    },
    "CAST": [(partial(one_operator, "CAST", [(2,)], (2,), dtype=np.float32), "is float32")],
    "CONV_2D": [
        (partial(_rank_3, "CONV_2D"), "rank 3, not 4|must have rank 4"),
        (partial(convolution, bias=None), "needs a bias"),
    ],
    "GATHER_ND": [
        (partial(one_operator, "GATHER_ND", [(2, 3)], (1,), computed=[(1, 2)]), "has 2 coordinates")
    ],
    "PRELU": [(partial(one_operator, "PRELU", [(1, 3), (2, 3)], (2, 3)), "larger than the input")],
    **{
        name: [(partial(reduced, name, scales=(0.5, 0.25)), "same scale and zero point")]
        for name in ("REDUCE_MAX", "REDUCE_MIN")
    },
    "RESIZE_BILINEAR": [(partial(bilinear, [3, 3], **BOTH), "not both")],
    "SCATTER_ND": [(partial(scattered, [[1], [1]], (2, 3), 2, 3), "name a place twice")],
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_beyond_a_limit_is_refused(name: str) -> None:
    for make, message in BEYOND[name]:
        with pytest.raises(InputError, match=f"{name}: .*({message})"):
            compile_network(load_model(make()), NANO)


def test_every_limit_has_a_model_beyond_it() -> None:
    assert set(BEYOND) | {"DIV", "GATHER"} == {
        name for name, entry in CATALOGUE.items() if entry.limit
    }


def test_an_axis_at_the_limit_is_computed() -> None:
    model = moved("ARG_MAX", (65535, 1), (1,), 0, **INT32_INDEX)
    compile_network(load_model(model), NANO)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_computed_index_outside_of_the_axis_is_an_error_of_the_run(index: int) -> None:
    model = one_operator("GATHER", [(3, 2)], (2, 2), computed=[(2,)], options={"axis": 0})
    values = {0: np.zeros((3, 2), np.int8), 1: np.array([0, index], np.int32)}
    expect_index_error(load_model(model), values)


def test_a_computed_divisor_of_0_is_an_error_of_the_run() -> None:
    model = one_operator("DIV", [(3, 2), (2,)], (3, 2), zero_points=(0, 5, 0))
    graph = load_model(model)
    values = {0: np.zeros((3, 2), np.int8), 1: np.array([4, 5], np.int8)}
    expect_index_error(graph, values)
    with pytest.raises(InputError, match="DIV: a divisor is 0"):
        run_graph(graph, values)


def expect_index_error(graph: Graph, values: dict[int, np.ndarray]) -> None:
    with pytest.raises(CommandError) as stopped:
        run_compiled(compile_stream(graph, NANO), graph, values)
    assert stopped.value.code == ErrorCode.INDEX


def test_fused_activations_that_are_refused_are_found() -> None:
    every = ("RELU", "RELU_N1_TO_1", "RELU6")
    assert refused_activations("ADD") == refused_activations("SLICE") == ()
    assert refused_activations("L2_NORMALIZATION") == refused_activations("CONCATENATION") == every
