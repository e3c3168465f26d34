"""Models that once led to a wrong tensor, a traceback or gigabytes, and what LiteRT says."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import read_model
from eightfold.operators import load_model
from eightfold.run.reference.oracle import Oracle, OracleAborted, OracleRejected
from tests.support.models.single import (
    WINDOW,
    convolution,
    dense,
    depthwise,
    moved,
    one_operator,
    pool,
    transposed,
    weights_of,
)

INT32_MAX = 2**31 - 1
KEEP = {"keep_dims": False}


def zeros(*shape: int) -> tuple:
    return (np.zeros(shape, np.int32), 0.25, 0, 0)


@dataclass(frozen=True)
class Known:
    """A model, what the gate says, and whether LiteRT stops too; if not, ``reason`` says why not
    to follow it."""

    make: Callable[[], bytes]
    message: str
    reason: str | None = None


_ONE = (np.zeros(1, np.int8), 0.5, 0, 0)
_OTHER_TYPE = {"options": {"output_type": "STRING"}, "dtype": np.int32}
_FILTER = {"filter_height": 1, "filter_width": 1}
_NO_LIMIT = "LiteRT has no limit but the machine's memory"

KNOWN: dict[str, Known] = {
    "depthwise bias of rank 2": Known(
        partial(depthwise, bias=zeros(1, 3)), "tensor 2 'tensor_2' has rank 2, not 1"
    ),
    "groups with no output": Known(
        partial(convolution, weights=weights_of((1, 1, 1, 3)), bias=zeros(1), depth=6, outputs=1),
        "groups of 3 channels must divide 6 input channels, and their number 1 output channels",
    ),
    "axis of rank 2 with two elements": Known(
        partial(moved, "EXPAND_DIMS", (2, 3), (1, 2, 3), [[0, 0]]), "must be one integer, not 2"
    ),
    "transposition of rank 2": Known(
        partial(moved, "TRANSPOSE", (2, 3), (3, 2), [[1], [0]]), "must be a vector, not (2, 1)"
    ),
    "MAX_POOL_2D of rank 0": Known(
        partial(moved, "MAX_POOL_2D", (), (), options=WINDOW | _FILTER),
        "the input must have rank 4, not 0",
    ),
    "RESIZE_BILINEAR to 2^24 times 2^24": Known(
        partial(moved, "RESIZE_BILINEAR", (1, 2, 2, 1), (1, 3, 3, 1), [1 << 24, 1 << 24]),
        "declared shape [1, 3, 3, 1], computed [1, 16777216, 16777216, 1]",
    ),
    "PADV2 by 2^31 - 1": Known(
        partial(moved, "PADV2", (2, 2), (2, 2), [[0, INT32_MAX], [0, 0]], _ONE),
        "declared shape [2, 2], computed [2147483649, 2]",
    ),
    "PADV2 by 2^31": Known(
        partial(moved, "PADV2", (2, 2), (2, 2), np.array([[0, 1 << 31], [0, 0]]), _ONE),
        "declared shape [2, 2], computed [2147483650, 2]",
    ),
    "GATHER beyond the end": Known(
        partial(moved, "GATHER", (2, 3), (1, 3), [5]), "an index must be in 0..1"
    ),
    "ARG_MAX of strings": Known(
        partial(moved, "ARG_MAX", (2, 3), (3,), 0, **_OTHER_TYPE),
        "output_type must be INT32 or INT64, not STRING",
    ),
    "EXPAND_DIMS to another scale": Known(
        partial(moved, "EXPAND_DIMS", (2, 3), (1, 2, 3), 0, scales=(0.5, 0.25)),
        "input and output must have the same scale and zero point",
    ),
    "SLICE beyond the end": Known(
        partial(moved, "SLICE", (2, 3), (2, 2), [0, 2], [2, 2]),
        "begin 2 and size 2 do not fit into 3",
    ),
    "SLICE before the begin": Known(
        partial(moved, "SLICE", (2, 3), (2, 2), [-1, 0], [2, 2]), "begin -1 and size 2 do not fit"
    ),
    "MEAN over an int64 axis": Known(
        partial(moved, "MEAN", (2, 3), (3,), np.array([0]), options=KEEP), "is int64, not int32"
    ),
    "SOFTMAX of rank 0": Known(
        partial(one_operator, "SOFTMAX", [()], (), scales=(0.1, 1 / 256), zero_points=(0, -128)),
        "has rank 0, not 1 to 32",
    ),
    "FULLY_CONNECTED of shuffled weights": Known(
        partial(dense, weights_format="SHUFFLED4x16INT8"), "weights_format must be DEFAULT"
    ),
    "pool with a padding beyond 16 bits": Known(
        partial(
            moved,
            "MAX_POOL_2D",
            *[(1, 4, 4, 1)] * 2,
            options=WINDOW | {"padding": "SAME", "filter_height": 65537, "filter_width": 2},
        ),
        "the vertical padding 32768 is above 32767",
    ),
    "CONV_2D with a padding beyond 16 bits": Known(
        partial(
            moved,
            "CONV_2D",
            *[(1, 4, 4, 1)] * 2,
            *(weights_of((1, 1, 5, 1)), zeros(1)),
            options=WINDOW | {"padding": "SAME", "dilation_w_factor": 32767},
        ),
        "the horizontal padding 65534 is above 32767",
    ),
    "CONV_2D with a stride beyond 16 bits": Known(
        partial(convolution, stride_h=32768), "stride (32768, 1) is above 32767"
    ),
    "depthwise dilation beyond 16 bits": Known(
        partial(depthwise, dilation_w_factor=32768), "dilation (1, 32768) is above 32767"
    ),
    "TRANSPOSE_CONV with a stride beyond 16 bits": Known(
        partial(transposed, (1, 3, 3, 1), stride_w=32768), "stride (1, 32768) is above 32767"
    ),
    "RESIZE_BILINEAR to 2^31 - 1": Known(
        partial(moved, "RESIZE_BILINEAR", (1, 2, 2, 1), (1, INT32_MAX, 1, 1), [INT32_MAX, 1]),
        "tensor 2 'tensor_2' has 2147483647 elements; the limit is",
        _NO_LIMIT,
    ),
    "RESIZE_BILINEAR to 2^24": Known(
        partial(moved, "RESIZE_BILINEAR", (1, 2, 2, 1), (1, 1 << 24, 1, 1), [1 << 24, 1]),
        "tensor 2 'tensor_2' has 16777216 elements; the limit is",
        _NO_LIMIT,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_models_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(InputError) as raised:
        load_model(KNOWN[name].make())
    words = str(raised.value)
    assert KNOWN[name].message in words
    assert "\n" not in words
    assert len(words) < 400


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if not known.reason])
def test_litert_stops_at_them_too(oracle: Oracle, name: str) -> None:
    model = KNOWN[name].make()
    with pytest.raises((OracleRejected, OracleAborted)):
        oracle.run(model, {})


RIGHT = {
    "CONV_2D bias of rank 2": partial(convolution, bias=zeros(1, 2)),
    "FULLY_CONNECTED bias of rank 2": partial(dense, bias=zeros(1, 2)),
    "TRANSPOSE_CONV bias of rank 2": partial(transposed, bias=zeros(1, 1)),
    "MEAN axes of rank 2": partial(moved, "MEAN", (2, 3), (3,), [[0]], options=KEEP),
    "SUM axis of rank 0": partial(moved, "REDUCE_MAX", (2, 3), (3,), 0, options=KEEP),
    "EXPAND_DIMS axis of rank 2": partial(moved, "EXPAND_DIMS", (2, 3), (1, 2, 3), [[0]]),
}
"""What the kernels take, of whatever rank: they count elements."""


@pytest.mark.parametrize("name", RIGHT)
def test_ranks_at_which_no_kernel_looks_pass(oracle: Oracle, name: str) -> None:
    model = RIGHT[name]()
    graph = load_model(model)
    (output,) = graph.outputs
    inputs = {i: np.zeros(graph.tensors[i].shape, np.int8) for i in graph.inputs}
    assert oracle.run(model, inputs)[output].shape == graph.tensors[output].shape


def test_what_does_not_pass_can_still_be_read() -> None:
    assert read_model(pool("MAX_POOL_2D", filter_height=1)).operators[0].name == "MAX_POOL_2D"
