"""Small networks of known shape: one that keeps past rows, one of person_detect's forms."""

import numpy as np

from eightfold.model.builder import ModelBuilder

PAST, NEW, CHANNELS = 3, 2, 4
QUANTIZED = {"scale": 0.5, "zero_point": -3}


def streaming(seed: int = 0) -> bytes:
    """Return a model: past rows before the input's, a dense layer of both; the last rows stay."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder("streaming")
    x = builder.input((1, NEW, CHANNELS), **QUANTIZED)
    shape = (1, PAST, CHANNELS)
    past = builder.variable(np.full(shape, -3, np.int8), name="past", **QUANTIZED)
    before = builder.tensor(shape, **QUANTIZED)
    builder.operator("READ_VARIABLE", [past], [before])
    rows = builder.tensor((1, PAST + NEW, CHANNELS), **QUANTIZED)
    builder.operator("CONCATENATION", [before, x], [rows], {"axis": 1})
    bounds = [builder.constant(np.array(b, np.int32)) for b in ([0, NEW, 0], [0] * 3, [1] * 3)]
    last = builder.tensor(shape, **QUANTIZED)
    builder.operator(
        "STRIDED_SLICE", [rows, *bounds], [last], {"begin_mask": 0b101, "end_mask": 0b111}
    )
    builder.operator("ASSIGN_VARIABLE", [past, last], [])
    codes = rng.integers(-127, 128, (5, (PAST + NEW) * CHANNELS), np.int8)
    weights = builder.constant(codes, scale=0.01)
    bias = builder.constant(np.arange(5, dtype=np.int32), scale=0.005)
    result = builder.tensor((1, 5), scale=0.3, zero_point=4)
    builder.operator("FULLY_CONNECTED", [rows, weights, bias], [result], {})
    builder.output(result)
    return builder.build()


def computed_shape(builder: ModelBuilder, x: int, rank: int, axis: int, other: int) -> int:
    """Add what computes a shape as converters do: the size of ``x`` along an axis, and another."""
    sizes, size, shape = (builder.tensor(of, dtype=np.int32) for of in ((rank,), (), (2,)))
    ends = [builder.constant(np.array([end], np.int32)) for end in (axis, axis + 1, 1)]
    builder.operator("SHAPE", [x], [sizes], {"out_type": "INT32"})
    builder.operator("STRIDED_SLICE", [sizes, *ends], [size], {"shrink_axis_mask": 1})
    parts = [size, builder.constant(np.int32(other))]
    builder.operator("PACK", parts, [shape], {"values_count": 2, "axis": 0})
    return shape


INPUT = 0
BIASES = (2, 5, 9)
"""Tensors of `person_detect` that state their weights' quantized dimension, and lack it."""


def person_detect(dimension: int = 3) -> bytes:
    """Return a model whose biases, of rank 1, state ``dimension`` as their quantized dimension.

    Depthwise and pointwise convolution, average pooling, a convolution to two classes, softmax.
    """
    rng = np.random.default_rng(17)
    b = ModelBuilder("forms of person_detect")

    def weights(shape: tuple[int, ...], axis: int, scale_in: float) -> list[int]:
        count = shape[axis]
        scales = rng.uniform(0.002, 0.01, count).astype(np.float32)
        codes = rng.integers(-127, 128, shape, dtype=np.int8)
        values = rng.integers(-2000, 2000, count, dtype=np.int32)
        product = (scales.astype(np.float64) * np.float64(np.float32(scale_in))).astype(np.float32)
        return [
            b.constant(codes, scale=scales, axis=axis),
            b.constant(values, scale=product, axis=dimension),
        ]

    window = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    x = b.input((1, 6, 6, 1), scale=0.0078125, zero_point=-1, name="input")
    first = weights((1, 3, 3, CHANNELS), 3, 0.0078125)
    y = b.tensor((1, 3, 3, CHANNELS), scale=0.0235, zero_point=-128)
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "depth_multiplier": CHANNELS}
    relu = {"fused_activation_function": "RELU6"}
    b.operator("DEPTHWISE_CONV_2D", [x, *first], [y], options | relu)
    second = weights((2 * CHANNELS, 1, 1, CHANNELS), 0, 0.0235)
    z = b.tensor((1, 3, 3, 2 * CHANNELS), scale=0.0235, zero_point=-128)
    b.operator("CONV_2D", [y, *second], [z], window | relu)
    mean = b.tensor((1, 1, 1, 2 * CHANNELS), scale=0.0235, zero_point=-128)
    pool = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 3, "filter_height": 3}
    b.operator("AVERAGE_POOL_2D", [z], [mean], pool)
    third = weights((2, 1, 1, 2 * CHANNELS), 0, 0.0235)
    classes = b.tensor((1, 1, 1, 2), scale=0.02, zero_point=3)
    b.operator("CONV_2D", [mean, *third], [classes], window)
    flat = b.tensor((1, 2), scale=0.02, zero_point=3)
    shape = b.constant(np.array([-1, 2], np.int32))
    b.operator("RESHAPE", [classes, shape], [flat], {"new_shape": [-1, 2]})
    chances = b.tensor((1, 2), scale=1 / 256, zero_point=-128)
    b.operator("SOFTMAX", [flat], [chances], {"beta": 1.0})
    b.output(chances)
    return b.build()
