"""Every operator of the accelerator once, each on what earlier ones computed.

``python -m examples.operators FILE`` writes the model.
"""

from pathlib import Path

import click
import numpy as np

from eightfold.cases.builder import SeededNetwork, Value
from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors

SAME = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
HALVED = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
SEED = 56


def operators_model() -> bytes:
    """Return the model, the same bytes each time.

    int8 results feed the operators that follow; results of other types are outputs of the model,
    but for those of ARG_MAX, which GATHER takes as its indices.
    """
    net = SeededNetwork("every operator of the accelerator once", SEED)
    image = net.graph_input((1, 6, 6, 4), 1 / 32, -4)
    coarse, fine = _images(net, image)
    pixels = _blocks(net, coarse, fine)
    turned = _resized(net, pixels)
    rows = _pieces(net, turned)
    _rows(net, rows)
    _reductions(net, turned, pixels)
    return net.build()


def _images(net: SeededNetwork, image: Value) -> tuple[Value, Value]:
    """Convolutions and pools; return two images of 3 x 3."""
    x = net.weighted("CONV_2D", image, (8, 3, 3, 4), SAME)
    x = net.add("RELU", [x], (0.05, -128))
    depthwise = HALVED | {"depth_multiplier": 1}
    x = net.weighted("DEPTHWISE_CONV_2D", x, (1, 3, 3, 8), depthwise)
    x = net.add("LEAKY_RELU", [x], (0.03, 3), {"alpha": 0.1})
    x = net.add("ELU", [x], (0.025, -40))
    x = net.weighted("TRANSPOSE_CONV", x, (4, 2, 2, 8), HALVED, shape=(1, 6, 6, 4))
    x = net.add("HARD_SWISH", [x], (0.04, -20))
    x = net.add("GELU", [x], (0.03, -30))
    x = net.add("ABS", [x], (0.03, -100))
    two = {"filter_height": 2, "filter_width": 2}
    peak = net.add("MAX_POOL_2D", [x], x, HALVED | two)
    three = {"filter_height": 3, "filter_width": 3}
    mean = net.add("AVERAGE_POOL_2D", [peak], peak, SAME | three)
    differs = net.add("NOT_EQUAL", [peak, mean])
    chosen = net.add("SELECT", [differs, mean, peak], peak)
    return peak, chosen


def _blocks(net: SeededNetwork, coarse: Value, fine: Value) -> Value:
    """Operators of two tensors, pixels to channels and to batches and back; return 4 x 4 pixels."""
    x = net.add("SUB", [coarse, fine], (1 / 50, -10))
    squared = net.add("SQUARED_DIFFERENCE", [coarse, fine], (1 / 20, -128))
    net.add("DIV", [squared, net.codes((1, 3, 1, 4), 0.02, -128)], (1 / 30, 3))
    x = net.add("RELU_N1_TO_1", [x], (1 / 100, 5))
    padded = net.add("PAD", [x, net.integers([[0, 0], [1, 0], [0, 1], [0, 0]])], x)
    deep = net.add("SPACE_TO_DEPTH", [padded], padded, {"block_size": 2})
    gate = net.add("LOGISTIC", [deep])
    net.add("RSQRT", [gate], (1 / 30, -128))
    gate = net.add("SQRT", [gate], (1 / 256, -128))
    gate = net.add("QUANTIZE", [gate], (1 / 128, -100))
    x = net.add("MUL", [deep, gate], (1 / 150, 0))
    x = net.add("DEPTH_TO_SPACE", [x], x, {"block_size": 2})
    x = net.add("ADD", [padded, x], (1 / 60, -30))
    two = net.integers([2, 2])
    none = net.integers([[0, 0], [0, 0]])
    x = net.add("SPACE_TO_BATCH_ND", [x, two, none], x)
    x = net.add("TANH", [x])
    x = net.add("BATCH_TO_SPACE_ND", [x, two, none], x)
    x = net.add("PRELU", [x, net.codes((1, 1, 4), 0.02, 9)], (0.01, -5))
    same = net.add("EQUAL", [x, padded])
    return net.add("SELECT_V2", [same, net.code(77, x.scale), x], x)


def _resized(net: SeededNetwork, pixels: Value) -> Value:
    """Resizing, extremes of two tensors; return 4 x 4 pixels."""
    centers = {"half_pixel_centers": True}
    x = net.add("RESIZE_BILINEAR", [pixels, net.integers([5, 3])], pixels, centers)
    x = net.add("RESIZE_NEAREST_NEIGHBOR", [x, net.integers([3, 3])], x)
    x = net.add("RELU6", [x], (0.012, -90))
    scale, zero_point = x.scale, x.zero_point
    fill = net.codes((), scale, zero_point)
    rim = net.integers([[0, 0], [0, 1], [1, 0], [0, 0]])
    x = net.add("PADV2", [x, rim, fill], x)
    codes = np.arange(-64, 64, 2, dtype=np.int8).reshape(x.shape)
    past = net.variable(codes, scale=scale, zero_point=zero_point)
    before = net.add("READ_VARIABLE", [past], x)
    net.operator("ASSIGN_VARIABLE", [past, x.index], [])
    above = net.add("MAXIMUM", [x, before], x)
    turned = net.add("TRANSPOSE", [x, net.integers([0, 2, 1, 3])], x)
    return net.add("MINIMUM", [above, turned], x)


def _pieces(net: SeededNetwork, x: Value) -> Value:
    """Taking apart and joining; return two rows of 8."""
    begin = [0, 0, -1, 0]
    end = [0, 0, 0, 0]
    strides = [1, 2, -1, 1]
    bounds = [net.integers(part) for part in (begin, end, strides)]
    x = net.add("STRIDED_SLICE", [x, *bounds], x, {"end_mask": 15})
    part = [net.integers([0, 0, 1, 0]), net.integers([1, 2, -1, 4])]
    x = net.add("SLICE", [x, *part], x)
    one, other = net.add_several("SPLIT", [net.integers(1), x], x, {"num_splits": 2})
    uneven = [other, net.integers([1, -1]), net.integers(3)]
    left, right = net.add_several("SPLIT_V", uneven, x, {"num_splits": 2})
    x = net.add("CONCATENATION", [right, one, left], x, {"axis": -1})
    x = net.add("SQUEEZE", [x], x, {"squeeze_dims": [0, 1]})
    x = net.add("EXPAND_DIMS", [x, net.integers(0)], x)
    x = net.add("REVERSE_V2", [x, net.integers([1, -1])], x)
    first, second, third = net.add_several("UNPACK", [x], x, {"num": 3, "axis": 1})
    net.add("LESS", [first, second])
    x = net.add("PACK", [third, first], x, {"values_count": 2, "axis": 0})
    x = net.add("RESHAPE", [x, net.integers([2, -1])], x)
    three = net.add("MIRROR_PAD", [x, net.integers([[0, 1], [0, 0]])], x, {"mode": "SYMMETRIC"})
    update = net.add("GATHER_ND", [three, net.integers([[[2, 5], [0, 3], [1, 7]]])], x)
    into = net.add("SCATTER_ND", [net.integers([[1], [0]]), x, net.integers([2, 8])], x)
    return net.add("DYNAMIC_UPDATE_SLICE", [into, update, net.integers([1, 2])], x)


def _rows(net: SeededNetwork, x: Value) -> None:
    """A classifier, and what its largest logits choose."""
    x = net.add("L2_NORMALIZATION", [x])
    logits = net.weighted("FULLY_CONNECTED", x, (5, 8), {"keep_num_dims": True})
    x = net.add("LOG_SOFTMAX", [logits])
    x = net.add("SOFTMAX", [x], options={"beta": 1.0})
    net.add("BATCH_MATMUL", [x, logits], (0.05, -3), {"adj_y": True})
    x = net.add("LOG", [x], (1 / 40, 100))
    x = net.add("EXP", [x], (1 / 200, -128))
    x = net.add("NEG", [x], x)
    index = {"output_type": "INT32"}
    largest = net.add("ARG_MAX", [x, net.integers(1)], options=index)
    chosen = net.add("GATHER", [logits, largest], logits, {"axis": 1})
    net.add("LESS_EQUAL", [chosen, net.codes((2, 1), 0.5, 3)])
    net.add("SHAPE", [chosen], options={"out_type": "INT32"})


def _reductions(net: SeededNetwork, x: Value, pixels: Value) -> None:
    """Reductions, and comparisons of what they find."""
    mean = net.add("MEAN", [x, net.integers([1, 2])], (0.01, 11), {"keep_dims": True})
    mean = net.add("RELU_0_TO_1", [mean], (1 / 200, -128))
    bright = net.add("GREATER", [pixels, mean])
    bright = net.add("REDUCE_ANY", [bright, net.integers([1, 3])], options={"keep_dims": True})
    total = net.add("SUM", [x, net.integers([3])], (2 * x.scale, -60))
    total = net.add("TILE", [total, net.integers([1, 2, 1])], total)
    high = net.add("REDUCE_MAX", [total, net.integers(1)], total)
    low = net.add("REDUCE_MIN", [pixels, net.integers([1, 3])], pixels)
    wide = net.add("GREATER_EQUAL", [high, low])
    both = net.add("LOGICAL_AND", [wide, bright])
    net.add("CAST", [net.add("LOGICAL_NOT", [both])], options={"out_data_type": "INT32"})
    net.add("REDUCE_ALL", [net.add("LOGICAL_OR", [both, wide]), net.integers([2])])
    high = net.add("BROADCAST_TO", [high, net.integers([3, 4])], high)
    net.add("ARG_MIN", [high, net.integers(1)], options={"output_type": "INT64"})


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("build/operators.tflite"))
def write(file: Path) -> None:
    """Write the network with every operator to FILE, build/operators.tflite if it is not given."""
    write_file(file, operators_model())
    click.echo(file)


if __name__ == "__main__":
    one_line_errors(write)
