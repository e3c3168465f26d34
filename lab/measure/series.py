"""The entry of every operator: of those that compute, and of those that copy or interpolate.

Computing goes element by element, over windows, along rows and axes; copies are as long runs of
bytes, and as short ones.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from eightfold.compiler.lower.pointwise import FROM_ZERO_POINT
from lab.measure import models
from lab.measure.models import CatalogueEntry, MeasuredModel, Series, Size, Workload

ROW = 256
"""Elements of a row, where rows are long."""

SHORT_ROW = 32

ROWS = {f"rows of {length}": length for length in (ROW, SHORT_ROW)}

WIDTH = 64
"""Inputs and outputs of FULLY_CONNECTED, where the batch grows."""


def _each(
    build: Callable[[MeasuredModel, Size, Any], Workload],
    choices: Mapping[str, Any],
    counted: str = models.OUTPUTS,
    unit: str = "",
    largest: Size = models.SIZES[-1],
) -> tuple[Series, ...]:
    """Return a series by each label, of the models that ``build`` makes of what it stands for."""
    return tuple(
        Series(label, lambda m, s, choice=choice: build(m, s, choice), counted, unit, largest)
        for label, choice in choices.items()
    )


def _by_label(
    choices: Mapping[str, Any] | Callable[[str], Mapping[str, Any]],
    unit: str = "",
    counted: str = models.OUTPUTS,
    largest: Size = models.SIZES[-1],
) -> Callable[[Callable[..., Workload]], Callable[..., tuple[Series, ...]]]:
    """Let a function that builds a model of an operator return the series of that, by its name.

    ``choices``: what the function is given behind model, size and name, by label; one that looks at
        the name returns them. Options come last.
    """

    def decorated(build: Callable[..., Workload]) -> Callable[..., tuple[Series, ...]]:
        def series(name: str, **options: Any) -> tuple[Series, ...]:
            return _each(
                lambda model, size, choice: build(model, size, name, choice, **options),
                choices(name) if callable(choices) else choices,
                counted,
                unit,
                largest,
            )

        return series

    return decorated


def unary(
    name: str,
    quantization: tuple[float, int] | None = None,
    *,
    dtype: type[np.generic] = np.int8,
    label: str = "any shape",
    largest: Size = models.SIZES[-1],
    **options: Any,
) -> tuple[Series, ...]:
    """Return the series of a function of one element."""
    zero_point = -128 if name in FROM_ZERO_POINT else models.ZERO_POINT  # no code is refused

    def build(model: MeasuredModel, size: Size) -> Workload:
        operand = model.operand(size.image, dtype, zero_point=zero_point)
        model.subject(name, [operand], quantization, options)
        return Workload(size.elements)

    return (Series(label, build, largest=largest),)


def binary(
    name: str, dtype: type[np.generic] = np.int8, largest: Size = models.SIZES[-1]
) -> tuple[Series, ...]:
    """Return the series of a function of two elements, the second also broadcast.

    Those of SELECT and SELECT_V2 have a condition before them.
    """
    same = ("MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2")  # by the spec, or as converters have it
    zero_point = models.ZERO_POINT if name in same else -7

    def build(model: MeasuredModel, size: Size, repeated: str) -> Workload:
        shapes = {"": size.image, "channel": (size.depth,), "all": (1,)}
        other = model.operand(shapes[repeated], dtype, "second input", zero_point)
        inputs = [model.operand(size.image, dtype), other]
        if name.startswith("SELECT"):
            inputs.insert(0, model.operand(size.image, np.bool_, "condition"))
        model.subject(name, inputs)
        return Workload(size.elements, {"": 0, "channel": size.pixels}.get(repeated))

    shapes = {"equal shapes": "", "one value per channel": "channel"}
    return (
        *_each(build, shapes, unit="pixel with a broadcast operand", largest=largest),
        *_each(build, {"one value": "all"}, largest=largest),
    )


@_by_label({"2x2, stride 2": (2, 2), "3x3, stride 1": (3, 1)}, "element of a window", models.INPUTS)
def pool(model: MeasuredModel, size: Size, name: str, window: tuple[int, int]) -> Workload:
    """Build a pool of disjoint windows, or of overlapping ones."""
    kernel, stride = window
    options = _window(stride) | {"filter_height": kernel, "filter_width": kernel}
    model.subject(name, [model.operand(size.image)], options=options)
    return Workload(size.elements, size.elements // stride**2 * kernel**2)


def _window(stride: int) -> dict[str, Any]:
    return {"padding": "SAME", "stride_h": stride, "stride_w": stride}


@_by_label(ROWS, "row")
def rows(model: MeasuredModel, size: Size, name: str, length: int, **options: Any) -> Workload:
    """Build an operator on rows, long ones or short ones."""
    shape = (size.elements // length, length)
    model.subject(name, [model.operand(shape)], options=options)
    return Workload(size.elements, shape[0])


def reduction(name: str, dtype: type[np.generic] = np.int8) -> tuple[Series, ...]:
    """Return the series of a reduction: of rows, and of what lies before the channels.

    ARG_MAX and ARG_MIN have one axis: the rows of an image.
    """
    one = name in ("ARG_MAX", "ARG_MIN")
    options: dict[str, Any] = {"output_type": "INT32"} if one else {"keep_dims": False}

    def build(model: MeasuredModel, size: Size, length: int) -> Workload:
        shape = (size.elements // length, length) if length else size.image
        axes = [1] if one or length else [1, 2]
        inputs = [model.operand(shape, dtype), model.integers(axes, "axes")]
        model.subject(name, inputs, options=options)
        return Workload(size.elements, shape[0] if length else None)

    pixels = {"height" if one else "height and width": 0}
    return (*_each(build, ROWS, models.INPUTS, "row"), *_each(build, pixels, models.INPUTS))


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
        model.constant(bias, scale=np.float32(models.SCALE) * scales, name="bias"),
    ]


@_by_label({"3x3, stride 1": 3, "1x1, stride 1": 1})
def convolution(model: MeasuredModel, size: Size, name: str, kernel: int) -> Workload:
    """Build CONV_2D with as many output channels as inputs."""
    weights = _weights(model, (size.depth, kernel, kernel, size.depth))
    model.subject(name, [model.operand(size.image), *weights], options=_window(1))
    return Workload(size.elements)


@_by_label({"3x3, stride 1": 1, "3x3, stride 2": 2})
def depthwise(model: MeasuredModel, size: Size, name: str, stride: int) -> Workload:
    """Build DEPTHWISE_CONV_2D with multiplier 1."""
    weights = _weights(model, (1, 3, 3, size.depth), 3)
    options = _window(stride) | {"depth_multiplier": 1}
    model.subject(name, [model.operand(size.image), *weights], options=options)
    return Workload(size.elements // stride**2)


@_by_label({"2x2, stride 2": 2, "3x3, stride 2": 3})
def transposed(model: MeasuredModel, size: Size, name: str, kernel: int) -> Workload:
    """Build TRANSPOSE_CONV that doubles height and width."""
    weights, bias = _weights(model, (size.depth, kernel, kernel, size.depth))
    x = model.operand((1, size.height // 2, size.width // 2, size.depth))
    inputs = [model.integers(size.image, "output shape"), weights, x, bias]
    model.subject(name, inputs, options=_window(2))
    return Workload(size.elements)


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
        Series("batch 1", single, models.WEIGHTS),
        Series(f"{WIDTH} inputs, {WIDTH} outputs", batched, models.OUTPUTS),
    )


@_by_label(
    {"two computed operands": True, "constant second operand": False}, largest=models.QUARTER
)
def products(model: MeasuredModel, size: Size, name: str, computed: bool) -> Workload:
    """Build BATCH_MATMUL of 4 matrices by as many computed ones, or by a constant."""
    count = 1 << (size.elements.bit_length() - 1) // 2
    x = model.operand((4, size.elements // count // 4, count))
    y = model.operand((4, count, count), name="weights") if computed else None
    y = model.codes((count, count), "weights", zero_point=-7) if y is None else y
    model.subject(name, [x, y], (8.0, 5))
    return Workload(size.elements)


def _entries(
    make: Callable[[str], tuple[Series, ...]],
    requirement: models.Requirement | None,
    *names: str,
    limit: str = "",
) -> dict[str, CatalogueEntry]:
    """Return an entry for each operator, with the series that ``make`` makes of its name."""
    return {name: CatalogueEntry(make(name), requirement, limit) for name in names}


COMPUTING: dict[str, CatalogueEntry] = {
    "BATCH_MATMUL": CatalogueEntry(
        products("BATCH_MATMUL"),
        None,
        "rank 2 to 5; what a sum takes of both operands fits the scratchpad",
    ),
    **_entries(
        binary,
        models.TWO_OPERANDS,
        *("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB"),
        *("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
    ),
    **_entries(partial(binary, dtype=np.bool_), models.TWO_OPERANDS, "LOGICAL_AND", "LOGICAL_OR"),
    **_entries(
        partial(binary, largest=models.QUARTER),
        None,
        "DIV",
        limit="a computed divisor of 0: `run` refuses it, a stream ends with the error INDEX",
    ),
    **_entries(partial(binary, largest=models.QUARTER), None, "SQUARED_DIFFERENCE", "SELECT_V2"),
    "SELECT": CatalogueEntry(binary("SELECT", largest=models.QUARTER)[:1], None),
    **_entries(
        binary, models.TWO_OPERANDS, "PRELU", limit="slopes are broadcast, the input is not"
    ),
    **_entries(
        unary,
        models.TABLES,
        *("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1"),
        *("ABS", "ELU", "EXP", "GELU", "HARD_SWISH", "LOG", "LOGISTIC"),
        *("NEG", "RSQRT", "SQRT", "TANH"),
    ),
    "CAST": CatalogueEntry(
        (
            *unary("CAST", label="to bool", out_data_type="BOOL"),
            *unary("CAST", label="to int32", largest=models.QUARTER, out_data_type="INT32"),
        ),
        None,
        "no float32",
    ),
    "LOGICAL_NOT": CatalogueEntry(unary("LOGICAL_NOT", dtype=np.bool_), models.TABLES),
    "LEAKY_RELU": CatalogueEntry(unary("LEAKY_RELU", alpha=0.1), models.TABLES),
    "QUANTIZE": CatalogueEntry(unary("QUANTIZE", (0.07, -9)), models.TABLES),
    **_entries(pool, models.POOLS, "AVERAGE_POOL_2D", "MAX_POOL_2D", limit="rank 4"),
    **_entries(reduction, models.REDUCTIONS, "MEAN", "SUM"),
    **_entries(partial(reduction, dtype=np.bool_), models.REDUCTIONS, "REDUCE_ALL", "REDUCE_ANY"),
    **_entries(
        reduction,
        models.REDUCTIONS,
        *("REDUCE_MAX", "REDUCE_MIN"),
        limit="one scale and zero point for input and output",
    ),
    **_entries(
        reduction,
        models.REDUCTIONS,
        *("ARG_MAX", "ARG_MIN"),
        limit="one axis, of at most 65,535 elements",
    ),
    "SOFTMAX": CatalogueEntry(rows("SOFTMAX", beta=1.0), models.SOFTMAX),
    **_entries(rows, None, "LOG_SOFTMAX", "L2_NORMALIZATION"),
    "CONV_2D": CatalogueEntry(convolution("CONV_2D"), None, "rank 4, with a bias"),
    "DEPTHWISE_CONV_2D": CatalogueEntry(depthwise("DEPTHWISE_CONV_2D"), None, "rank 4"),
    "TRANSPOSE_CONV": CatalogueEntry(transposed("TRANSPOSE_CONV"), None),
    "FULLY_CONNECTED": CatalogueEntry(dense(), None),
}
"""By the operator's name."""

THIN = 4
"""Channels, where runs of a pixel are short."""

DEPTHS = {f"{Size.depth} channels": False, f"{THIN} channels": True}
"""Whether pixels are `THIN`."""

SLICE_LENGTHS = (64, 4)
"""Elements of what one index of GATHER picks."""

AXES = {f"axis {axis}": axis for axis in (1, 3)}
OF_PARTS = {f"axis {axis}": axis for axis in (1, 4)}
"""The first or the last axis of an image, and of several."""

PADDINGS = {
    "height and width by 2": [[0, 0], [1, 1], [1, 1], [0, 0]],
    "channels by 4": [[0, 0], [0, 0], [0, 0], [0, 4]],
}

ORDERS = {"to axes 0, 2, 1, 3": [0, 2, 1, 3], "to axes 0, 1, 3, 2": [0, 1, 3, 2]}


def _thin(size: Size) -> tuple[int, int, int]:
    """Return height, width and few channels, of as many elements."""
    return size.height, size.width * size.depth // THIN, THIN


@_by_label(lambda name: OF_PARTS if name == "PACK" else AXES, "run")
def _joined(model: MeasuredModel, size: Size, name: str, axis: int) -> Workload:
    """Build CONCATENATION of two halves, or PACK of two tensors, along the first or last axis."""
    shape = list(size.image)
    shape[min(axis, 3)] //= 2
    inputs = [model.operand(shape), model.operand(shape, name="second input")]
    options = {"axis": axis} | ({"values_count": 2} if name == "PACK" else {})
    model.subject(name, inputs, options=options)
    return Workload(size.elements, 2 * prod(shape[:axis]))


@_by_label(lambda name: OF_PARTS if name == "UNPACK" else AXES, "run")
def _apart(model: MeasuredModel, size: Size, name: str, axis: int) -> Workload:
    """Build SPLIT, SPLIT_V or UNPACK into two tensors along the first or last axis."""
    if name == "UNPACK":
        half = list(size.image)
        half[min(axis, 3)] //= 2
        x = model.operand([*half[:axis], 2, *half[axis:]])
        model.subject(name, [x], options={"axis": axis, "num": 2})
        return Workload(size.elements, 2 * prod(half[:axis]))
    inputs = [model.integers([axis], "axis"), model.operand(size.image)]
    if name == "SPLIT_V":
        halves = [size.image[axis] // 2, -1]
        inputs = [inputs[1], model.integers(halves, "sizes"), inputs[0]]
    model.subject(name, inputs, options={"num_splits": 2})
    return Workload(size.elements, 2 * prod(size.image[:axis]))


@_by_label(PADDINGS, "run")
def _padded(model: MeasuredModel, size: Size, name: str, paddings: list[list[int]]) -> Workload:
    """Build padding by rows and columns around an image, or by channels behind each pixel."""
    _, height, width, depth = size.image
    shape = [1, height - sum(paddings[1]), width - sum(paddings[2]), depth - sum(paddings[3])]
    inputs = [model.operand(shape), model.integers(paddings, "paddings")]
    if name == "PADV2":
        inputs.append(model.codes((1,), "value", zero_point=3))
    model.subject(name, inputs)
    return Workload(size.elements, shape[1] * (shape[2] if sum(paddings[3]) else 1))


@_by_label(AXES, "run")
def _along(model: MeasuredModel, size: Size, name: str, axis: int) -> Workload:
    """Build an operator that works along the rows, or along the channels, of an image."""
    whole = np.array(size.image)
    chosen = np.arange(4) == axis
    half = whole // (1 + chosen)
    rows, run = prod(size.image[: axis + 1]), prod(size.image[axis + 1 :])
    inputs: dict[str, Callable[[], list[int]]] = {
        "BROADCAST_TO": lambda: [
            model.operand(np.where(chosen, 1, whole).tolist()),
            model.integers(whole, "shape"),
        ],
        "DYNAMIC_UPDATE_SLICE": lambda: [
            model.operand(size.image),
            model.operand(half.tolist(), name="update"),
            model.integers(chosen, "start"),
        ],
        "REVERSE_V2": lambda: [model.operand(size.image), model.integers([axis], "axes")],
        "SCATTER_ND": lambda: [  # every other row
            model.integers(np.arange(0, rows, 2)[:, None], "indices"),
            model.operand((rows // 2, run), name="updates"),
            model.integers([rows, run], "shape"),
        ],
        "TILE": lambda: [model.operand(half.tolist()), model.integers(1 + chosen, "multiples")],
    }
    model.subject(name, inputs[name]())
    return Workload(size.elements, rows)


@_by_label(AXES, "run")
def _sliced(model: MeasuredModel, size: Size, name: str, axis: int) -> Workload:
    """Build SLICE of adjacent rows or channels, STRIDED_SLICE of every other row or channel."""
    shape = list(size.image)
    start = [0] * 4
    shape[axis] //= 2
    start[axis] = 1
    inputs = [model.operand(size.image), model.integers(start, "begin")]
    runs = prod(shape[:axis])
    if name == "SLICE":
        inputs.append(model.integers(shape, "size"))
    else:
        steps = [1 + (i == axis) for i in range(4)]
        inputs += [model.integers(size.image, "end"), model.integers(steps, "strides")]
        runs *= shape[axis]
    model.subject(name, inputs)
    return Workload(size.elements // 2, runs)


@_by_label(ORDERS, "run")
def _transposed(model: MeasuredModel, size: Size, name: str, order: list[int]) -> Workload:
    """Build TRANSPOSE that keeps pixels together, or one that moves each byte."""
    inputs = [model.operand(size.image), model.integers(order, "order")]
    model.subject(name, inputs)
    run = size.depth if order[3] == 3 else 1
    return Workload(size.elements, size.elements // run)


@_by_label(DEPTHS, "run")
def _blocks(model: MeasuredModel, size: Size, name: str, thin: bool) -> Workload:
    """Build an operator between pixels and channels or batches, in blocks of 2 x 2."""
    run = 2 if "DEPTH" in name else 1  # pixels that lie side by side on both sides
    height, width, depth = _thin(size) if thin else size.image[1:]
    shape = [1, height, width, depth]
    if not name.startswith("SPACE"):
        small = [height // 2, width // 2]
        shape = [1, *small, 4 * depth] if "DEPTH" in name else [4, *small, depth]
    inputs = [model.operand(shape)]
    options = {}
    if "DEPTH" in name:
        options = {"block_size": 2}
    else:
        inputs += [
            model.integers([2, 2], "block"),
            model.integers([[0, 0], [0, 0]], "crops" if "TO_SPACE" in name else "paddings"),
        ]
    model.subject(name, inputs, options=options)
    return Workload(size.elements, size.elements // (run * depth))


@_by_label(DEPTHS, "pixel")
def _resized(model: MeasuredModel, size: Size, name: str, thin: bool) -> Workload:
    """Build an operator that doubles height and width."""
    options = {"half_pixel_centers": True}
    height, width, depth = _thin(size) if thin else size.image[1:]
    x = model.operand([1, height // 2, width // 2, depth])
    inputs = [x, model.integers([height, width], "size")]
    model.subject(name, inputs, options=options)
    return Workload(size.elements, height * width)


@_by_label({f"slices of {n}": n for n in SLICE_LENGTHS}, "index")
def _gathered(model: MeasuredModel, size: Size, name: str, length: int) -> Workload:
    """Build GATHER or GATHER_ND of slices along the first axis, from 8 of them."""
    count = size.elements // length
    shape, options = ((count,), {"axis": 0}) if name == "GATHER" else ((count, 1), {})
    inputs = [model.operand((8, length)), model.operand(shape, np.int32, name="indices")]
    model.subject(name, inputs, options=options)
    return Workload(size.elements, count)


@_by_label({"any shape": None})
def _renamed(model: MeasuredModel, size: Size, name: str, _: None) -> Workload:
    """Build an operator whose result is its operand under another shape."""
    inputs = [model.operand(size.image)]
    options = {}
    if name == "RESHAPE":
        inputs.append(model.integers(size.image[1:], "shape"))
    elif name == "SQUEEZE":
        options = {"squeeze_dims": [0]}
    else:
        inputs.append(model.integers([0], "axis"))
    model.subject(name, inputs, options=options)
    return Workload(size.elements)


@_by_label({"any shape": None})
def _variable(model: MeasuredModel, size: Size, name: str, _: None) -> Workload:
    """Build an operator on a variable that is read, and then assigned."""
    handle = model.variable(
        np.zeros(size.image, np.int8), scale=models.SCALE, zero_point=models.ZERO_POINT
    )
    value = model.operand(size.image)
    model.subject("READ_VARIABLE", [handle])
    model.operator("ASSIGN_VARIABLE", [handle, value], [])
    model.about(name)
    return Workload(size.elements)


@_by_label({"rank 4": None})
def _shape(model: MeasuredModel, size: Size, name: str, _: None) -> Workload:
    model.subject(name, [model.operand(size.image)], options={"out_type": "INT32"})
    return Workload(4)


_OUTSIDE = (
    "a computed index outside of the axis: `run` refuses it, a stream ends with the error INDEX"
)
_CENTERS = "not align_corners with half_pixel_centers"

COPYING: dict[str, CatalogueEntry] = {
    **_entries(_variable, None, "ASSIGN_VARIABLE", "READ_VARIABLE"),
    **_entries(
        _blocks,
        models.CONTIGUOUS,
        *("BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH"),
    ),
    **_entries(_along, models.CONTIGUOUS, "BROADCAST_TO", "TILE"),
    **_entries(_along, None, "DYNAMIC_UPDATE_SLICE", "REVERSE_V2"),
    **_entries(_along, None, "SCATTER_ND", limit="no two indices the same"),
    **_entries(_joined, models.CONTIGUOUS, "CONCATENATION", "PACK"),
    **_entries(_apart, models.CONTIGUOUS, "SPLIT", "SPLIT_V", "UNPACK"),
    **_entries(_renamed, None, "EXPAND_DIMS", "RESHAPE", "SQUEEZE"),
    **_entries(_gathered, models.CONTIGUOUS, "GATHER", limit=_OUTSIDE),
    **_entries(
        _gathered,
        models.CONTIGUOUS,
        "GATHER_ND",
        limit=f"computed indices of one coordinate; {_OUTSIDE}",
    ),
    **_entries(_padded, models.CONTIGUOUS, "PAD", "PADV2"),
    **_entries(_padded, None, "MIRROR_PAD"),
    **_entries(_resized, models.CONTIGUOUS, "RESIZE_NEAREST_NEIGHBOR"),
    **_entries(_resized, None, "RESIZE_BILINEAR", limit=_CENTERS),
    **_entries(_shape, None, "SHAPE"),
    **_entries(_sliced, models.CONTIGUOUS, "SLICE", "STRIDED_SLICE"),
    **_entries(_transposed, models.CONTIGUOUS, "TRANSPOSE"),
}
"""By the operator's name."""

CATALOGUE: dict[str, CatalogueEntry] = dict(sorted((COMPUTING | COPYING).items()))
"""By the operator's name."""

SERIES: dict[str, tuple[Series, ...]] = {name: entry.series for name, entry in CATALOGUE.items()}
"""The series alone."""
