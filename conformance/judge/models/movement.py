"""Mistakes of operators that copy codes, and of the one that interpolates between pixels."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eightfold.conformance.judge.models.subject import (
    OperatorMistake,
    OperatorRun,
    Results,
    SameError,
    run,
)
from eightfold.golden import indexing, joining
from eightfold.golden.quantization import clamp
from eightfold.golden.resize import bilinear_taps, nearest_taps
from eightfold.golden.tpu_mlir.numbers import round_float

Compute = Callable[[OperatorRun], Results]


def _rescaled(subject: OperatorRun) -> Results:
    """Return the codes rescaled where the output has another scale or zero point."""
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


RESCALED = OperatorMistake(
    "rescaled",
    "Codes are rescaled where input and output have another scale or zero point; the kernels copy "
    "them.",
    _rescaled,
)


def _options(options: Mapping[str, Any]) -> Compute:
    return lambda subject: run(subject.changed(options=options))


def _operand(position: int, change: Callable[[np.ndarray], np.ndarray]) -> Compute:
    return lambda subject: run(
        subject.changed(arrays={position: change(subject.call.array(position))})
    )


def _column_major(subject: OperatorRun) -> Results:
    x = subject.call.codes(0)
    return [x.reshape(-1, order="F").reshape(each.shape, order="F") for each in subject.expected]


def _reversed_inputs(subject: OperatorRun) -> Results:
    call = subject.call
    arrays = [call.codes(p) for p in range(len(call.inputs))][::-1]
    return [joining.concatenation(arrays, call.options["axis"])]


def _last_axis_joined(subject: OperatorRun) -> Results:
    call = subject.call
    return [np.concatenate([call.codes(p) for p in range(len(call.inputs))], -1)]


def _interleaved(subject: OperatorRun) -> Results:
    """Return the inputs' bytes one after the other, as if joined along the first axis."""
    call = subject.call
    arrays = [call.codes(p).reshape(-1) for p in range(len(call.inputs))]
    return [np.concatenate(arrays).reshape(subject.expected[0].shape)]


def _channels_first(subject: OperatorRun) -> Results:
    """Return SPACE_TO_DEPTH with the block's pixels fastest, as PyTorch's pixel_unshuffle."""
    x, block = subject.call.codes(0), subject.call.options["block_size"]
    n, h, w, c = x.shape
    parts = x.reshape(n, h // block, block, w // block, block, c)
    return [parts.transpose(0, 1, 3, 5, 2, 4).reshape(subject.expected[0].shape)]


def _columns_first(subject: OperatorRun) -> Results:
    x, block = subject.call.codes(0), subject.call.options["block_size"]
    n, h, w, c = x.shape
    parts = x.reshape(n, h // block, block, w // block, block, c)
    return [parts.transpose(0, 1, 3, 4, 2, 5).reshape(subject.expected[0].shape)]


def _pad(fill: Callable[[OperatorRun], int]) -> Compute:
    def compute(subject: OperatorRun) -> Results:
        x, paddings = subject.call.codes(0), subject.call.array(1).astype(np.int64)
        return [np.pad(x, paddings, constant_values=fill(subject))]

    return compute


def _zero_point(subject: OperatorRun) -> int:
    return subject.call.output_quantization().per_tensor()[1]


def _input_zero_point(subject: OperatorRun) -> int:
    return subject.call.quantization(0).per_tensor()[1]


def _reflected(subject: OperatorRun) -> Results:
    x, paddings = subject.call.codes(0), subject.call.array(1).astype(np.int64)
    return [np.pad(x, paddings, mode="edge")]


def _transposed(order: Callable[[list[int]], list[int]]) -> Compute:
    def compute(subject: OperatorRun) -> Results:
        x = subject.call.codes(0)
        axes = [axis % x.ndim for axis in subject.call.vector(1)]
        return [x.transpose(order(axes))]

    return compute


def _not_moved(subject: OperatorRun) -> Results:
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


def _clamped_indices(subject: OperatorRun) -> Results:
    call = subject.call
    low = np.zeros_like(call.array(1))
    return [indexing.gather(call.codes(0), low, call.options["axis"], call.options["batch_dims"])]


def _from_start(subject: OperatorRun) -> Results:
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


def _batch_outermost(subject: OperatorRun) -> Results:
    """Return batches in the order n, then the block's pixels, where the pixels come first."""
    call = subject.call
    count = int(np.prod(call.vector(1)))
    if subject.operator.name == "SPACE_TO_BATCH_ND":
        codes = subject.expected[0]
        batches = codes.reshape(count, -1, *codes.shape[1:]).swapaxes(0, 1)
        return [batches.reshape(codes.shape)]
    x = call.codes(0)
    batches = x.reshape(-1, count, *x.shape[1:]).swapaxes(0, 1)
    return run(subject.changed(arrays={0: np.asarray(batches.reshape(x.shape), order="C")}))


def _padded_batches(subject: OperatorRun) -> Results:
    return run(subject.changed(reference="tflm" if subject.reference == "litert" else "litert"))


def _swapped_margins(subject: OperatorRun) -> Results:
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


def _nearest(subject: OperatorRun) -> Results:
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
    OperatorMistake(
        "batch_outermost",
        "The blocks of each batch stand together; the kernels put all batches of a pixel together.",
        _batch_outermost,
    ),
    OperatorMistake(
        "margins_swapped", "What is before and behind each axis is swapped.", _swapped_margins
    ),
]

MOVEMENT: dict[str, list[OperatorMistake]] = {
    "BATCH_TO_SPACE_ND": _MARGINS,
    "CONCATENATION": [
        OperatorMistake("order_reversed", "The inputs come in reverse order.", _reversed_inputs),
        OperatorMistake("last_axis", "The axis is always the last one.", _last_axis_joined),
        OperatorMistake(
            "bytes_appended",
            "The inputs' bytes stand one after the other, as along the first axis.",
            _interleaved,
        ),
    ],
    "GATHER": [
        OperatorMistake("axis_ignored", "The axis counts as 0.", _gathered(axis=0, batch=0)),
        OperatorMistake("batch_ignored", "batch_dims counts as 0.", _gathered(batch=0)),
        OperatorMistake("first_only", "All indices count as 0.", _clamped_indices),
        RESCALED,
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
        RESCALED,
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
        RESCALED,
    ],
    "RESHAPE": [
        OperatorMistake("column_major", "The elements are read column by column.", _column_major),
    ],
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
        OperatorMistake("nearest", "The nearest pixel is taken.", _nearest),
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
        RESCALED,
    ],
    "SHAPE": [OperatorMistake("reversed", "The sizes come in reverse order.", _shape_reversed)],
    "SLICE": [
        OperatorMistake("begin_ignored", "Slices begin at 0.", _from_start),
        RESCALED,
    ],
    "SPACE_TO_BATCH_ND": [
        *_MARGINS,
        OperatorMistake(
            "padding_0",
            "Padding is the code 0 and not the zero point: TFLite Micro's form.",
            _padded_batches,
        ),
    ],
    "SPACE_TO_DEPTH": [
        OperatorMistake(
            "channels_slowest",
            "A block's pixels vary fastest, then channels, as in PyTorch's pixel_unshuffle.",
            _channels_first,
        ),
        OperatorMistake(
            "block_by_columns", "The pixels of a block go column by column.", _columns_first
        ),
        RESCALED,
    ],
    "SQUEEZE": [RESCALED],
    "TRANSPOSE": [
        OperatorMistake("inverse", "The inverse permutation is applied.", _transposed(_inverse)),
        OperatorMistake(
            "reversed", "The axes are always reversed.", _transposed(lambda axes: axes[::-1])
        ),
        OperatorMistake("not_moved", "The bytes stay where they are.", _not_moved),
        RESCALED,
    ],
}
"""By operator."""
