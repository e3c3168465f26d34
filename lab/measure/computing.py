"""Series of the operators that compute: element by element, over windows, along rows and axes."""

from typing import Any

import numpy as np

from lab.measure.models import (
    INPUTS,
    OUTPUTS,
    POOLS,
    REDUCTIONS,
    SCALE,
    SOFTMAX,
    TABLES,
    TWO_OPERANDS,
    WEIGHTS,
    ZERO_POINT,
    CatalogueEntry,
    MeasuredModel,
    Series,
    Size,
    Workload,
)

ROW = 256
"""Elements of a row, where rows are long."""

SHORT_ROW = 32

WIDTH = 64
"""Inputs and outputs of FULLY_CONNECTED, where the batch grows."""


def unary(
    name: str, quantization: tuple[float, int] | None = None, **options: Any
) -> tuple[Series, ...]:
    """Return the series of a function of one element."""

    def build(model: MeasuredModel, size: Size) -> Workload:
        model.subject(name, [model.operand(size.image)], quantization, options)
        return Workload(size.elements)

    return (Series("any shape", build),)


def binary(name: str) -> tuple[Series, ...]:
    """Return the series of a function of two elements, the second also broadcast."""
    zero_point = ZERO_POINT if name in ("MAXIMUM", "MINIMUM") else -7  # equal by the spec

    def build(
        model: MeasuredModel, size: Size, shape: tuple[int, ...], units: int | None
    ) -> Workload:
        other = model.operand(shape, name="second input", zero_point=zero_point)
        model.subject(name, [model.operand(size.image), other])
        return Workload(size.elements, units)

    unit = "pixel with a broadcast operand"
    return (
        Series("equal shapes", lambda m, s: build(m, s, s.image, 0), unit=unit),
        Series("one value per channel", lambda m, s: build(m, s, (s.depth,), s.pixels), unit=unit),
        Series("one value", lambda m, s: build(m, s, (1,), None)),
    )


def pool(name: str) -> tuple[Series, ...]:
    """Return the series of a pool: disjoint windows, and overlapping ones."""

    def build(model: MeasuredModel, size: Size, kernel: int, stride: int) -> Workload:
        options = _window(stride) | {"filter_height": kernel, "filter_width": kernel}
        model.subject(name, [model.operand(size.image)], options=options)
        return Workload(size.elements, size.elements // stride**2 * kernel**2)

    unit = "element of a window"
    return (
        Series("2x2, stride 2", lambda m, s: build(m, s, 2, 2), INPUTS, unit),
        Series("3x3, stride 1", lambda m, s: build(m, s, 3, 1), INPUTS, unit),
    )


def _window(stride: int) -> dict[str, Any]:
    return {"padding": "SAME", "stride_h": stride, "stride_w": stride}


def rows(name: str, **options: Any) -> tuple[Series, ...]:
    """Return the series of an operator on rows: long ones and short ones."""

    def build(model: MeasuredModel, size: Size, length: int) -> Workload:
        shape = (size.elements // length, length)
        model.subject(name, [model.operand(shape)], options=options)
        return Workload(size.elements, shape[0])

    return tuple(
        Series(f"rows of {length}", lambda m, s, length=length: build(m, s, length), unit="row")
        for length in (ROW, SHORT_ROW)
    )


def reduction(name: str) -> tuple[Series, ...]:
    """Return the series of a reduction: of rows, and of what lies before the channels.

    ARG_MAX and ARG_MIN have one axis: the rows of an image.
    """
    one = name in ("ARG_MAX", "ARG_MIN")
    options: dict[str, Any] = {"output_type": "INT32"} if one else {"keep_dims": False}

    def along_rows(model: MeasuredModel, size: Size, length: int) -> Workload:
        count = size.elements // length
        inputs = [model.operand((count, length)), model.integers([1], "axes")]
        model.subject(name, inputs, options=options)
        return Workload(size.elements, count)

    def of_pixels(model: MeasuredModel, size: Size) -> Workload:
        axes = [1] if one else [1, 2]
        model.subject(
            name, [model.operand(size.image), model.integers(axes, "axes")], options=options
        )
        return Workload(size.elements)

    label = "height" if one else "height and width"
    return (
        *(
            Series(
                f"rows of {length}",
                lambda m, s, length=length: along_rows(m, s, length),
                INPUTS,
                "row",
            )
            for length in (ROW, SHORT_ROW)
        ),
        Series(label, of_pixels, INPUTS),
    )


def _weights(model: MeasuredModel, shape: tuple[int, ...], axis: int = 0) -> list[int]:
    """Add weights and their bias; scales that spread the results over int8.

    One scale in a matrix, else one per channel along the axis.
    """
    channels = shape[axis]
    taps = int(np.prod(shape)) // channels
    scale = 0.5 / np.sqrt(taps) / 73
    scales = np.full(channels if len(shape) > 2 else 1, scale, np.float32)
    if len(shape) > 2:
        scales *= np.linspace(0.5, 1.5, channels, dtype=np.float32)
    bias = np.arange(channels, dtype=np.int32) * 100 - 50 * channels
    return [
        model.codes(shape, "weights", scale=scales, axis=axis),
        model.constant(bias, scale=np.float32(SCALE) * scales, name="bias"),
    ]


def convolution(kernel: int) -> Series:
    """Return the series of CONV_2D with as many output channels as inputs."""

    def build(model: MeasuredModel, size: Size) -> Workload:
        weights = _weights(model, (size.depth, kernel, kernel, size.depth))
        model.subject("CONV_2D", [model.operand(size.image), *weights], options=_window(1))
        return Workload(size.elements)

    return Series(f"{kernel}x{kernel}, stride 1", build)


def depthwise(kernel: int, stride: int) -> Series:
    """Return the series of DEPTHWISE_CONV_2D with multiplier 1."""

    def build(model: MeasuredModel, size: Size) -> Workload:
        weights = _weights(model, (1, kernel, kernel, size.depth), 3)
        options = _window(stride) | {"depth_multiplier": 1}
        model.subject("DEPTHWISE_CONV_2D", [model.operand(size.image), *weights], options=options)
        return Workload(size.elements // stride**2)

    return Series(f"{kernel}x{kernel}, stride {stride}", build)


def transposed(kernel: int) -> Series:
    """Return the series of TRANSPOSE_CONV that doubles height and width."""

    def build(model: MeasuredModel, size: Size) -> Workload:
        weights, bias = _weights(model, (size.depth, kernel, kernel, size.depth))
        x = model.operand((1, size.height // 2, size.width // 2, size.depth))
        inputs = [model.integers(size.image, "output shape"), weights, x, bias]
        model.subject("TRANSPOSE_CONV", inputs, options=_window(2))
        return Workload(size.elements)

    return Series(f"{kernel}x{kernel}, stride 2", build)


def dense() -> tuple[Series, ...]:
    """Return the series of FULLY_CONNECTED: of one input row, and of many."""

    def build(model: MeasuredModel, batch: int, width: int, outputs: int) -> None:
        weights = _weights(model, (outputs, width))
        model.subject("FULLY_CONNECTED", [model.operand((batch, width)), *weights])

    def single(model: MeasuredModel, size: Size) -> Workload:
        outputs = 1 << (size.elements.bit_length() // 2)
        build(model, 1, size.elements // outputs, outputs)
        return Workload(size.elements)

    def batched(model: MeasuredModel, size: Size) -> Workload:
        build(model, size.elements // WIDTH, WIDTH, WIDTH)
        return Workload(size.elements)

    return (
        Series("batch 1", single, WEIGHTS),
        Series(f"{WIDTH} inputs, {WIDTH} outputs", batched, OUTPUTS),
    )


COMPUTING: dict[str, CatalogueEntry] = {
    **{
        name: CatalogueEntry(binary(name), TWO_OPERANDS)
        for name in (
            *("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB"),
            *("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
        )
    },
    "PRELU": CatalogueEntry(
        binary("PRELU"), TWO_OPERANDS, "slopes are broadcast, the input is not"
    ),
    **{
        name: CatalogueEntry(unary(name), TABLES)
        for name in (
            *("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1"),
            *("HARD_SWISH", "LOGISTIC", "TANH"),
        )
    },
    "LEAKY_RELU": CatalogueEntry(unary("LEAKY_RELU", alpha=0.1), TABLES),
    "QUANTIZE": CatalogueEntry(unary("QUANTIZE", (0.07, -9)), TABLES),
    **{
        name: CatalogueEntry(pool(name), POOLS, "rank 4")
        for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
    },
    **{name: CatalogueEntry(reduction(name), REDUCTIONS) for name in ("MEAN", "SUM")},
    **{
        name: CatalogueEntry(
            reduction(name), REDUCTIONS, "one scale and zero point for input and output"
        )
        for name in ("REDUCE_MAX", "REDUCE_MIN")
    },
    **{
        name: CatalogueEntry(reduction(name), REDUCTIONS, "one axis, of at most 65,535 elements")
        for name in ("ARG_MAX", "ARG_MIN")
    },
    "SOFTMAX": CatalogueEntry(rows("SOFTMAX", beta=1.0), SOFTMAX),
    **{name: CatalogueEntry(rows(name), None) for name in ("LOG_SOFTMAX", "L2_NORMALIZATION")},
    "CONV_2D": CatalogueEntry((convolution(3), convolution(1)), None, "rank 4, with a bias"),
    "DEPTHWISE_CONV_2D": CatalogueEntry((depthwise(3, 1), depthwise(3, 2)), None, "rank 4"),
    "TRANSPOSE_CONV": CatalogueEntry((transposed(2), transposed(3)), None),
    "FULLY_CONNECTED": CatalogueEntry(dense(), None),
}
"""By the operator's name."""
