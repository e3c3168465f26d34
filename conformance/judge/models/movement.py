"""Mistakes of operators that copy codes, and of the one that interpolates between pixels."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eightfold.conformance.judge.models.subject import (
    OperatorMistake,
    OperatorRun,
    Results,
    SameError,
    mistake,
    run,
)
from eightfold.golden import indexing, joining
from eightfold.golden.quantization import clamp
from eightfold.golden.resize import bilinear_taps, nearest_taps
from eightfold.golden.tpu_mlir.numbers import round_float

Compute = Callable[[OperatorRun], Results]


@mistake
def rescaled(subject: OperatorRun) -> Results:
    """Codes are rescaled where input and output have another scale or zero point; the kernels copy
    them.
    """
    call = subject.call
    (scale, zero), (out, out_zero) = (
        call.quantization(0).per_tensor(),
        call.output_quantization().per_tensor(),
    )
    if (scale, zero) == (out, out_zero):
        raise SameError
    found = []
    for codes in run(call):
        real = (codes.astype(np.int64) - zero) * (float(scale) / float(out))
        found.append(clamp(round_float(real, "half_away").astype(np.int64) + out_zero))
    return found


def _options(options: Mapping[str, Any]) -> Compute:
    return lambda subject: run(subject.changed(options=options))


def _operand(position: int, change: Callable[[np.ndarray], np.ndarray]) -> Compute:
    return lambda subject: run(
        subject.changed(arrays={position: change(subject.call.array(position))})
    )


@mistake
def column_major(subject: OperatorRun) -> Results:
    """The elements are read column by column."""
    x = subject.call.codes(0)
    return [x.reshape(-1, order="F").reshape(each.shape, order="F") for each in subject.expected]


@mistake
def order_reversed(subject: OperatorRun) -> Results:
    """The inputs come in reverse order."""
    call = subject.call
    arrays = [call.codes(p) for p in range(len(call.inputs))][::-1]
    return [joining.concatenation(arrays, call.options["axis"])]


@mistake
def last_axis(subject: OperatorRun) -> Results:
    """The axis is always the last one."""
    call = subject.call
    return [np.concatenate([call.codes(p) for p in range(len(call.inputs))], -1)]


@mistake
def bytes_appended(subject: OperatorRun) -> Results:
    """The inputs' bytes stand one after the other, as along the first axis."""
    call = subject.call
    arrays = [call.codes(p).reshape(-1) for p in range(len(call.inputs))]
    return [np.concatenate(arrays).reshape(subject.expected[0].shape)]


def _blocks(subject: OperatorRun, *order: int) -> Results:
    """Return SPACE_TO_DEPTH with the axes of images, rows, columns and channels in an order."""
    x = subject.call.codes(0)
    block = subject.call.options["block_size"]
    n, h, w, c = x.shape
    parts = x.reshape(n, h // block, block, w // block, block, c)
    return [parts.transpose(order).reshape(subject.expected[0].shape)]


@mistake
def channels_slowest(subject: OperatorRun) -> Results:
    """A block's pixels vary fastest, then channels, as in PyTorch's pixel_unshuffle."""
    return _blocks(subject, 0, 1, 3, 5, 2, 4)


def _columns_first(subject: OperatorRun) -> Results:
    return _blocks(subject, 0, 1, 3, 4, 2, 5)


def _pad(fill: Callable[[OperatorRun], int]) -> Compute:
    def compute(subject: OperatorRun) -> Results:
        x = subject.call.codes(0)
        paddings = subject.call.array(1).astype(np.int64)
        return [np.pad(x, paddings, constant_values=fill(subject))]

    return compute


def _zero_point(subject: OperatorRun) -> int:
    return subject.call.output_quantization().per_tensor()[1]


def _input_zero_point(subject: OperatorRun) -> int:
    return subject.call.quantization(0).per_tensor()[1]


def _reflected(subject: OperatorRun) -> Results:
    x = subject.call.codes(0)
    paddings = subject.call.array(1).astype(np.int64)
    return [np.pad(x, paddings, mode="edge")]


def _transposed(order: Callable[[list[int]], list[int]]) -> Compute:
    def compute(subject: OperatorRun) -> Results:
        x = subject.call.codes(0)
        axes = [axis % x.ndim for axis in subject.call.vector(1)]
        return [x.transpose(order(axes))]

    return compute


@mistake
def not_moved(subject: OperatorRun) -> Results:
    """The bytes stay where they are."""
    return [subject.call.codes(0).reshape(subject.expected[0].shape)]


def _inverse(axes: list[int]) -> list[int]:
    return np.argsort(axes).tolist()


def _gathered(axis: int | None = None, batch: int | None = None) -> Compute:
    def compute(subject: OperatorRun) -> Results:
        options = subject.call.options
        return [
            indexing.gather(
                subject.call.codes(0),
                subject.call.array(1),
                options["axis"] if axis is None else axis,
                options["batch_dims"] if batch is None else batch,
            )
        ]

    return compute


@mistake
def first_only(subject: OperatorRun) -> Results:
    """All indices count as 0."""
    call = subject.call
    low = np.zeros_like(call.array(1))
    return [indexing.gather(call.codes(0), low, call.options["axis"], call.options["batch_dims"])]


@mistake
def begin_ignored(subject: OperatorRun) -> Results:
    """Slices begin at 0."""
    begin = np.zeros_like(subject.call.array(1))
    sizes = np.asarray(subject.expected[0].shape, subject.call.array(2).dtype)
    return run(subject.changed(arrays={1: begin, 2: sizes}))


def _reversed_batches(subject: OperatorRun) -> Results:
    """Return the blocks' pixels column by column, where they go row by row."""
    call = subject.call
    block = call.vector(1)
    if len(block) != 2 or min(block) < 2:
        raise SameError
    count = block[0] * block[1]
    order = np.arange(count).reshape(block).T.reshape(-1)
    if subject.operator.name == "SPACE_TO_BATCH_ND":
        codes = subject.expected[0]
        batches = codes.reshape(count, -1, *codes.shape[1:])[order]
        return [batches.reshape(codes.shape)]
    x = call.codes(0)
    batches = x.reshape(count, -1, *x.shape[1:])[np.argsort(order)]
    return run(subject.changed(arrays={0: np.asarray(batches.reshape(x.shape), order="C")}))


@mistake
def batch_outermost(subject: OperatorRun) -> Results:
    """The blocks of each batch stand together; the kernels put all batches of a pixel together."""
    # Batches in the order n, then the block's pixels, where the pixels come first.
    call = subject.call
    count = int(np.prod(call.vector(1)))
    if subject.operator.name == "SPACE_TO_BATCH_ND":
        codes = subject.expected[0]
        batches = codes.reshape(count, -1, *codes.shape[1:]).swapaxes(0, 1)
        return [batches.reshape(codes.shape)]
    x = call.codes(0)
    batches = x.reshape(-1, count, *x.shape[1:]).swapaxes(0, 1)
    return run(subject.changed(arrays={0: np.asarray(batches.reshape(x.shape), order="C")}))


@mistake
def padding_0(subject: OperatorRun) -> Results:
    """Padding is the code 0 and not the zero point: TFLite Micro's form."""
    return run(subject.changed(reference="tflm" if subject.reference == "litert" else "litert"))


@mistake
def margins_swapped(subject: OperatorRun) -> Results:
    """What is before and behind each axis is swapped."""
    margins = np.asarray(subject.call.array(2)[:, ::-1], order="C")
    return run(subject.changed(arrays={2: margins}))


def _resized(taps: Callable[..., Any], rounding: str) -> Compute:
    """Return an interpolation in real numbers; ``taps`` gives each output's place in the input."""

    def compute(subject: OperatorRun) -> Results:
        call = subject.call
        x = call.codes(0).astype(np.float64)
        rows, columns = call.vector(1)
        options = (call.options["align_corners"], call.options["half_pixel_centers"])
        for axis, count in ((1, rows), (2, columns)):
            lower, upper, part = taps(x.shape[axis], count, *options)
            weight = part.reshape([-1 if d == axis else 1 for d in range(4)])
            below, above = np.take(x, lower, axis), np.take(x, upper, axis)
            x = below * (1 - weight) + above * weight
        return [clamp(round_float(x, rounding).astype(np.int64))]

    return compute


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


@mistake
def nearest(subject: OperatorRun) -> Results:
    """The nearest pixel is taken."""
    call = subject.call
    rows, columns = call.vector(1)
    x = call.codes(0)
    options = (call.options["align_corners"], call.options["half_pixel_centers"])
    y = nearest_taps(x.shape[1], rows, *options)
    return [x[:, y][:, :, nearest_taps(x.shape[2], columns, *options)]]


def _shape_reversed(subject: OperatorRun) -> Results:
    return [subject.expected[0][::-1]]


_MARGINS = [
    OperatorMistake(
        "block_by_columns", "The pixels of a block go column by column.", _reversed_batches
    ),
    batch_outermost,
    margins_swapped,
]

MOVEMENT: dict[str, list[OperatorMistake]] = {
    "BATCH_TO_SPACE_ND": _MARGINS,
    "CONCATENATION": [order_reversed, last_axis, bytes_appended],
    "GATHER": [
        OperatorMistake("axis_ignored", "The axis counts as 0.", _gathered(axis=0, batch=0)),
        OperatorMistake("batch_ignored", "batch_dims counts as 0.", _gathered(batch=0)),
        first_only,
        rescaled,
    ],
    "PAD": [
        OperatorMistake(
            "padding_0",
            "Padding is the code 0 and not the output's zero point.",
            _pad(lambda subject: 0),
        ),
        OperatorMistake(
            "padding_input_zero_point",
            "Padding is the input's zero point and not the output's.",
            _pad(_input_zero_point),
        ),
        OperatorMistake("padding_edge", "Padding repeats the edge.", _reflected),
        OperatorMistake(
            "margins_swapped",
            "What is before and behind each axis is swapped.",
            _operand(1, lambda pads: np.asarray(pads[:, ::-1], order="C")),
        ),
        rescaled,
    ],
    "PADV2": [
        OperatorMistake(
            "value_ignored",
            "Padding is the output's zero point: the value is not used.",
            _pad(_zero_point),
        ),
        OperatorMistake("padding_0", "Padding is the code 0.", _pad(lambda subject: 0)),
        OperatorMistake("padding_edge", "Padding repeats the edge.", _reflected),
        OperatorMistake(
            "margins_swapped",
            "What is before and behind each axis is swapped.",
            _operand(1, lambda pads: np.asarray(pads[:, ::-1], order="C")),
        ),
        rescaled,
    ],
    "RESHAPE": [column_major],
    "RESIZE_BILINEAR": [
        OperatorMistake(
            "half_pixel_ignored",
            "half_pixel_centers is not read.",
            _options({"half_pixel_centers": False}),
        ),
        OperatorMistake(
            "align_corners_ignored",
            "align_corners is not read.",
            _options({"align_corners": False}),
        ),
        OperatorMistake(
            "half_pixel_always",
            "Pixels have half-pixel centers whatever the options.",
            _options({"half_pixel_centers": True, "align_corners": False}),
        ),
        OperatorMistake(
            "align_corners_always",
            "Corners are aligned whatever the options.",
            _options({"half_pixel_centers": False, "align_corners": True}),
        ),
        nearest,
        *(
            OperatorMistake(
                f"coordinates_{kind}_{mode}",
                f"Coordinates are {what}, and the sum is {text}.",
                _resized(taps, mode),
            )
            for kind, what, taps in (
                ("1024", "those of the kernel, in steps of 1/1024", _kernel_taps),
                ("real", "real numbers, not steps of 1/1024", _real_taps),
            )
            for mode, text in (
                ("half_away", "rounded, ties away from zero"),
                ("half_even", "rounded, ties to even"),
                ("half_up", "rounded, ties up"),
                ("toward_zero", "truncated toward zero"),
                ("down", "floored"),
            )
            if (kind, mode) != ("1024", "half_away")
        ),
        rescaled,
    ],
    "SHAPE": [OperatorMistake("reversed", "The sizes come in reverse order.", _shape_reversed)],
    "SLICE": [begin_ignored, rescaled],
    "SPACE_TO_BATCH_ND": [*_MARGINS, padding_0],
    "SPACE_TO_DEPTH": [
        channels_slowest,
        OperatorMistake(
            "block_by_columns", "The pixels of a block go column by column.", _columns_first
        ),
        rescaled,
    ],
    "SQUEEZE": [rescaled],
    "TRANSPOSE": [
        OperatorMistake("inverse", "The inverse permutation is applied.", _transposed(_inverse)),
        OperatorMistake(
            "reversed", "The axes are always reversed.", _transposed(lambda axes: axes[::-1])
        ),
        not_moved,
        rescaled,
    ],
}
"""By operator."""
