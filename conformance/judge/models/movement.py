"""Mistakes of operators that copy codes, and of the one that interpolates between pixels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eightfold.conformance.judge.models.subject import (
    RESCALED,
    ROUNDED,
    Compute,
    OperatorRun,
    Results,
    SameError,
    Table,
    maker,
    run,
)
from eightfold.golden import indexing, joining
from eightfold.golden.quantization import clamp
from eightfold.golden.resize import bilinear_taps, nearest_taps
from eightfold.golden.tpu_mlir.numbers import round_float


def _column_major(subject: OperatorRun) -> Results:
    x = subject.codes(0)
    return [x.reshape(-1, order="F").reshape(each.shape, order="F") for each in subject.expected]


def _inputs(subject: OperatorRun) -> list[np.ndarray]:
    return [subject.codes(place) for place in range(len(subject.inputs))]


def _reversed_inputs(subject: OperatorRun) -> Results:
    return [joining.concatenation(_inputs(subject)[::-1], subject.options["axis"])]


def _bytes_appended(subject: OperatorRun) -> Results:
    arrays = [codes.reshape(-1) for codes in _inputs(subject)]
    return [np.concatenate(arrays).reshape(subject.expected[0].shape)]


@maker
def _blocks(subject: OperatorRun, *order: int) -> Results:
    """Return SPACE_TO_DEPTH with the axes of images, rows, columns and channels in an order."""
    x = subject.codes(0)
    block = subject.options["block_size"]
    n, h, w, c = x.shape
    parts = x.reshape(n, h // block, block, w // block, block, c)
    return [parts.transpose(order).reshape(subject.expected[0].shape)]


@maker
def _pad(subject: OperatorRun, fill: Callable[[OperatorRun], int] | None) -> Results:
    """Return what is padded with a code; None: with the edge."""
    x = subject.codes(0)
    paddings = subject.array(1).astype(np.int64)
    if fill is None:
        return [np.pad(x, paddings, mode="edge")]
    return [np.pad(x, paddings, constant_values=fill(subject))]


@maker
def _swapped(subject: OperatorRun, position: int) -> Results:
    """Return the results with each axis's two numbers swapped in an operand."""
    margins = np.asarray(subject.array(position)[:, ::-1], order="C")
    return run(subject.changed(arrays={position: margins}))


@maker
def _transposed(subject: OperatorRun, order: Callable[[list[int]], list[int]]) -> Results:
    x = subject.codes(0)
    axes = [axis % x.ndim for axis in subject.vector(1)]
    return [x.transpose(order(axes))]


@maker
def _gathered(
    subject: OperatorRun, axis: int | None = None, batch: int | None = None, factor: int = 1
) -> Results:
    axes = subject.options["axis"] if axis is None else axis
    batches = subject.options["batch_dims"] if batch is None else batch
    return [indexing.gather(subject.codes(0), factor * subject.array(1), axes, batches)]


def _begin_ignored(subject: OperatorRun) -> Results:
    begin = np.zeros_like(subject.array(1))
    sizes = np.asarray(subject.expected[0].shape, subject.array(2).dtype)
    return run(subject.changed(arrays={1: begin, 2: sizes}))


def _with_batches(subject: OperatorRun, move: Callable[[np.ndarray, bool], np.ndarray]) -> Results:
    """Return what becomes of images whose batches move: of the results, or ``back`` of operands."""
    if subject.operator.name == "SPACE_TO_BATCH_ND":
        codes = subject.expected[0]
        return [move(codes, False).reshape(codes.shape)]
    x = subject.codes(0)
    moved = np.asarray(move(x, True).reshape(x.shape), order="C")
    return run(subject.changed(arrays={0: moved}))


def _reversed_batches(subject: OperatorRun) -> Results:
    """Return the blocks' pixels column by column, where they go row by row."""
    block = subject.vector(1)
    if len(block) != 2 or min(block) < 2:
        raise SameError
    count = block[0] * block[1]
    order = np.arange(count).reshape(block).T.reshape(-1)

    def move(codes: np.ndarray, back: bool) -> np.ndarray:
        places = np.argsort(order) if back else order
        return codes.reshape(count, -1, *codes.shape[1:])[places]

    return _with_batches(subject, move)


def _batch_outermost(subject: OperatorRun) -> Results:
    count = int(np.prod(subject.vector(1)))

    def move(codes: np.ndarray, back: bool) -> np.ndarray:
        sizes = (-1, count) if back else (count, -1)
        return codes.reshape(*sizes, *codes.shape[1:]).swapaxes(0, 1)

    return _with_batches(subject, move)


@maker
def _resized(subject: OperatorRun, taps: Callable[..., Any], rounding: str) -> Results:
    """Return an interpolation in real numbers; ``taps`` gives each output's place in the input."""
    x = subject.codes(0).astype(np.float64)
    rows, columns = subject.vector(1)
    options = (subject.options["align_corners"], subject.options["half_pixel_centers"])
    for axis, count in ((1, rows), (2, columns)):
        lower, upper, part = taps(x.shape[axis], count, *options)
        weight = part.reshape([-1 if d == axis else 1 for d in range(4)])
        below, above = np.take(x, lower, axis), np.take(x, upper, axis)
        x = below * (1 - weight) + above * weight
    return [clamp(round_float(x, rounding).astype(np.int64))]


def _kernel_taps(size: int, count: int, corners: bool, half: bool):
    lower, upper, part = bilinear_taps(size, count, corners, half)
    return lower, upper, part / 1024


def _real_taps(size: int, count: int, corners: bool, half: bool):
    ratio = (size - 1) / (count - 1) if corners and count > 1 else size / count
    u = np.arange(count) * ratio
    if half:
        u = np.maximum((np.arange(count) + 0.5) * ratio - 0.5, 0)
    lower = np.minimum(np.floor(u).astype(np.int64), size - 1)
    return lower, np.minimum(lower + 1, size - 1), u - lower


def _nearest(subject: OperatorRun) -> Results:
    rows, columns = subject.vector(1)
    x = subject.codes(0)
    options = (subject.options["align_corners"], subject.options["half_pixel_centers"])
    y = nearest_taps(x.shape[1], rows, *options)
    return [x[:, y][:, :, nearest_taps(x.shape[2], columns, *options)]]


def _centers(half_pixel: bool | None, corners: bool | None) -> Compute:
    """Return what interpolates with other options; None: with the operator's."""
    given = {"half_pixel_centers": half_pixel, "align_corners": corners}
    options = {name: value for name, value in given.items() if value is not None}
    return lambda subject: run(subject.changed(options=options))


_BY_COLUMNS = "The pixels of a block go column by column."
_MARGINS_SWAPPED = "What is before and behind each axis is swapped."

_BATCHES: Table = {
    ("block_by_columns", _reversed_batches): _BY_COLUMNS,
    ("batch_outermost", _batch_outermost): "The blocks of each batch stand together; the kernels "
    "put all batches of a pixel together.",
    ("margins_swapped", _swapped(2)): _MARGINS_SWAPPED,
}

_EDGES: Table = {
    ("padding_edge", _pad(None)): "Padding repeats the edge.",
    ("margins_swapped", _swapped(1)): _MARGINS_SWAPPED,
    **RESCALED,
}

MOVEMENT: dict[str, Table] = {
    "BATCH_TO_SPACE_ND": _BATCHES,
    "CONCATENATION": {
        ("order_reversed", _reversed_inputs): "The inputs come in reverse order.",
        ("last_axis", lambda s: [np.concatenate(_inputs(s), -1)]): "The axis is always the last "
        "one.",
        ("bytes_appended", _bytes_appended): "The inputs' bytes stand one after the other, as "
        "along the first axis.",
    },
    "GATHER": {
        ("axis_ignored", _gathered(axis=0, batch=0)): "The axis counts as 0.",
        ("batch_ignored", _gathered(batch=0)): "batch_dims counts as 0.",
        ("first_only", _gathered(factor=0)): "All indices count as 0.",
        **RESCALED,
    },
    "PAD": {
        ("padding_0", _pad(lambda _: 0)): "Padding is the code 0 and not the output's zero point.",
        ("padding_input_zero_point", _pad(lambda s: s.scales[0][1])): "Padding is the input's zero "
        "point and not the output's.",
        **_EDGES,
    },
    "PADV2": {
        ("value_ignored", _pad(lambda s: s.scales[1][1])): "Padding is the output's zero point: "
        "the value is not used.",
        ("padding_0", _pad(lambda _: 0)): "Padding is the code 0.",
        **_EDGES,
    },
    "RESHAPE": {("column_major", _column_major): "The elements are read column by column."},
    "RESIZE_BILINEAR": {
        ("half_pixel_ignored", _centers(False, None)): "half_pixel_centers is not read.",
        ("align_corners_ignored", _centers(None, False)): "align_corners is not read.",
        ("half_pixel_always", _centers(True, False)): "Pixels have half-pixel centers whatever the "
        "options.",
        ("align_corners_always", _centers(False, True)): "Corners are aligned whatever the "
        "options.",
        ("nearest", _nearest): "The nearest pixel is taken.",
        **{
            (f"coordinates_{kind}_{mode}", _resized(taps, mode)): f"Coordinates are {what}, and "
            f"the sum is {text}."
            for kind, what, taps in (
                ("1024", "those of the kernel, in steps of 1/1024", _kernel_taps),
                ("real", "real numbers, not steps of 1/1024", _real_taps),
            )
            for mode, text in ROUNDED.items()
            if (kind, mode) != ("1024", "half_away")
        },
        **RESCALED,
    },
    "SHAPE": {
        ("reversed", lambda s: [s.expected[0][::-1]]): "The sizes come in reverse order.",
    },
    "SLICE": {("begin_ignored", _begin_ignored): "Slices begin at 0.", **RESCALED},
    "SPACE_TO_BATCH_ND": {
        **_BATCHES,
        ("padding_0", lambda s: run(s.of_other_kernels())): "Padding is the code 0 and not the "
        "zero point: TFLite Micro's form.",
    },
    "SPACE_TO_DEPTH": {
        ("channels_slowest", _blocks(0, 1, 3, 5, 2, 4)): "A block's pixels vary fastest, then "
        "channels, as in PyTorch's pixel_unshuffle.",
        ("block_by_columns", _blocks(0, 1, 3, 4, 2, 5)): _BY_COLUMNS,
        **RESCALED,
    },
    "SQUEEZE": RESCALED,
    "TRANSPOSE": {
        ("inverse", _transposed(lambda axes: np.argsort(axes).tolist())): "The inverse permutation "
        "is applied.",
        ("reversed", _transposed(lambda axes: axes[::-1])): "The axes are always reversed.",
        ("not_moved", lambda s: [s.codes(0).reshape(s.expected[0].shape)]): "The bytes stay where "
        "they are.",
        **RESCALED,
    },
}
