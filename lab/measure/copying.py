"""Series of the operators that copy or interpolate: as long runs of bytes, and as short ones."""

from collections.abc import Callable
from math import prod

import numpy as np

from lab.measure.models import CONTIGUOUS, CatalogueEntry, MeasuredModel, Series, Size, Workload

THIN = 4
"""Channels, where runs of a pixel are short."""

SLICE_LENGTHS = (64, 4)
"""Elements of what one index of GATHER picks."""


def _thin(size: Size) -> tuple[int, int, int]:
    """Return height, width and few channels, of as many elements."""
    return size.height, size.width * size.depth // THIN, THIN


def _joined(name: str, axes: tuple[int, int]) -> tuple[Series, ...]:
    """Return CONCATENATION of two halves, or PACK of two tensors, along the first or last axis."""

    def build(model: MeasuredModel, size: Size, axis: int) -> Workload:
        shape = list(size.image)
        shape[min(axis, 3)] //= 2
        inputs = [model.operand(shape), model.operand(shape, name="second input")]
        options = {"axis": axis} | ({"values_count": 2} if name == "PACK" else {})
        model.subject(name, inputs, options=options)
        return Workload(size.elements, 2 * prod(shape[:axis]))

    return _two(build, axes)


def _apart(name: str, axes: tuple[int, int]) -> tuple[Series, ...]:
    """Return SPLIT or UNPACK into two tensors along the first or last axis."""

    def build(model: MeasuredModel, size: Size, axis: int) -> Workload:
        if name == "UNPACK":
            half = list(size.image)
            half[min(axis, 3)] //= 2
            x = model.operand([*half[:axis], 2, *half[axis:]])
            model.subject(name, [x], options={"axis": axis, "num": 2})
            return Workload(size.elements, 2 * prod(half[:axis]))
        inputs = [model.integers([axis], "axis"), model.operand(size.image)]
        model.subject(name, inputs, options={"num_splits": 2})
        return Workload(size.elements, 2 * prod(size.image[:axis]))

    return _two(build, axes)


def _two(
    build: Callable[[MeasuredModel, Size, int], Workload], axes: tuple[int, int]
) -> tuple[Series, ...]:
    return tuple(
        Series(f"axis {axis}", lambda m, s, axis=axis: build(m, s, axis), unit="run")
        for axis in axes
    )


def _padded(name: str) -> tuple[Series, ...]:
    """Return PAD or PADV2: rows and columns around an image, or channels behind each pixel."""

    def build(model: MeasuredModel, size: Size, paddings: list[list[int]]) -> Workload:
        _, height, width, depth = size.image
        shape = [1, height - sum(paddings[1]), width - sum(paddings[2]), depth - sum(paddings[3])]
        inputs = [model.operand(shape), model.integers(paddings, "paddings")]
        if name == "PADV2":
            inputs.append(model.codes((1,), "value", zero_point=3))
        model.subject(name, inputs)
        return Workload(size.elements, shape[1] * (shape[2] if sum(paddings[3]) else 1))

    around = [[0, 0], [1, 1], [1, 1], [0, 0]]
    behind = [[0, 0], [0, 0], [0, 0], [0, 4]]
    return (
        Series("height and width by 2", lambda m, s: build(m, s, around), unit="run"),
        Series("channels by 4", lambda m, s: build(m, s, behind), unit="run"),
    )


def _sliced(name: str) -> tuple[Series, ...]:
    """Return SLICE of adjacent rows or channels, STRIDED_SLICE of every other row or channel."""

    def build(model: MeasuredModel, size: Size, axis: int) -> Workload:
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

    return _two(build, (1, 3))


def _transposed() -> tuple[Series, ...]:
    """Return TRANSPOSE that keeps pixels together, and one that moves each byte."""

    def build(model: MeasuredModel, size: Size, order: list[int]) -> Workload:
        inputs = [model.operand(size.image), model.integers(order, "order")]
        model.subject("TRANSPOSE", inputs)
        run = size.depth if order[3] == 3 else 1
        return Workload(size.elements, size.elements // run)

    orders = ([0, 2, 1, 3], [0, 1, 3, 2])
    return tuple(
        Series(
            f"to axes {', '.join(map(str, order))}",
            lambda m, s, order=order: build(m, s, order),
            unit="run",
        )
        for order in orders
    )


def _blocks(name: str, run: int) -> tuple[Series, ...]:
    """Return an operator between pixels and channels or batches, in blocks of 2 x 2.

    ``run``: pixels that lie side by side on both sides.
    """

    def build(model: MeasuredModel, size: Size, thin: bool) -> Workload:
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

    return _thick_and_thin(build)


def _thick_and_thin(build: Callable[[MeasuredModel, Size, bool], Workload], unit: str = "run"):
    return (
        Series(f"{Size.depth} channels", lambda m, s: build(m, s, False), unit=unit),
        Series(f"{THIN} channels", lambda m, s: build(m, s, True), unit=unit),
    )


def _resized(name: str) -> tuple[Series, ...]:
    """Return an operator that doubles height and width."""
    options = {"half_pixel_centers": True}

    def build(model: MeasuredModel, size: Size, thin: bool) -> Workload:
        height, width, depth = _thin(size) if thin else size.image[1:]
        x = model.operand([1, height // 2, width // 2, depth])
        inputs = [x, model.integers([height, width], "size")]
        model.subject(name, inputs, options=options)
        return Workload(size.elements, height * width)

    return _thick_and_thin(build, "pixel")


def _gathered() -> tuple[Series, ...]:
    """Return GATHER of slices along the first axis, from 8 of them."""

    def build(model: MeasuredModel, size: Size, length: int) -> Workload:
        count = size.elements // length
        inputs = [
            model.operand((8, length)),
            model.operand((count,), np.int32, name="indices"),
        ]
        model.subject("GATHER", inputs, options={"axis": 0})
        return Workload(size.elements, count)

    return tuple(
        Series(f"slices of {length}", lambda m, s, length=length: build(m, s, length), unit="index")
        for length in SLICE_LENGTHS
    )


def _renamed(name: str) -> tuple[Series, ...]:
    """Return an operator whose result is its operand under another shape."""

    def build(model: MeasuredModel, size: Size) -> Workload:
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

    return (Series("any shape", build),)


def _shape() -> tuple[Series, ...]:
    def build(model: MeasuredModel, size: Size) -> Workload:
        model.subject("SHAPE", [model.operand(size.image)], options={"out_type": "INT32"})
        return Workload(4)

    return (Series("rank 4", build),)


_OUTSIDE = (
    "a computed index outside of the axis: `run` refuses it, a stream ends with the error INDEX"
)
_CENTERS = "not align_corners with half_pixel_centers"

COPYING: dict[str, CatalogueEntry] = {
    "BATCH_TO_SPACE_ND": CatalogueEntry(_blocks("BATCH_TO_SPACE_ND", 1), CONTIGUOUS),
    "CONCATENATION": CatalogueEntry(_joined("CONCATENATION", (1, 3)), CONTIGUOUS),
    "DEPTH_TO_SPACE": CatalogueEntry(_blocks("DEPTH_TO_SPACE", 2), CONTIGUOUS),
    "EXPAND_DIMS": CatalogueEntry(_renamed("EXPAND_DIMS"), None),
    "GATHER": CatalogueEntry(_gathered(), CONTIGUOUS, _OUTSIDE),
    "PACK": CatalogueEntry(_joined("PACK", (1, 4)), CONTIGUOUS),
    "PAD": CatalogueEntry(_padded("PAD"), CONTIGUOUS),
    "PADV2": CatalogueEntry(_padded("PADV2"), CONTIGUOUS),
    "RESHAPE": CatalogueEntry(_renamed("RESHAPE"), None),
    "RESIZE_BILINEAR": CatalogueEntry(_resized("RESIZE_BILINEAR"), None, _CENTERS),
    "RESIZE_NEAREST_NEIGHBOR": CatalogueEntry(_resized("RESIZE_NEAREST_NEIGHBOR"), CONTIGUOUS),
    "SHAPE": CatalogueEntry(_shape(), None),
    "SLICE": CatalogueEntry(_sliced("SLICE"), CONTIGUOUS),
    "SPACE_TO_BATCH_ND": CatalogueEntry(_blocks("SPACE_TO_BATCH_ND", 1), CONTIGUOUS),
    "SPACE_TO_DEPTH": CatalogueEntry(_blocks("SPACE_TO_DEPTH", 2), CONTIGUOUS),
    "SPLIT": CatalogueEntry(_apart("SPLIT", (1, 3)), CONTIGUOUS),
    "SQUEEZE": CatalogueEntry(_renamed("SQUEEZE"), None),
    "STRIDED_SLICE": CatalogueEntry(_sliced("STRIDED_SLICE"), CONTIGUOUS),
    "TRANSPOSE": CatalogueEntry(_transposed(), CONTIGUOUS),
    "UNPACK": CatalogueEntry(_apart("UNPACK", (1, 4)), CONTIGUOUS),
}
"""By the operator's name."""
