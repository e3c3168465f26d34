"""Runners of the operators that copy codes; most also work on the integers of shapes."""

from collections.abc import Callable

import numpy as np

from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners.runner import Runner
from eightfold.golden import blocks, indexing, joining, movement, resize
from eightfold.golden.errors import UndefinedError

_INDEX = (np.int32, np.int64)
_COPIED = (np.int8, np.int32, np.int64)


def _copy(
    run: Callable[[OperatorCall], np.ndarray | list[np.ndarray]], several: bool = False
) -> Runner:
    return Runner(run, outputs=_COPIED, several=several)


def _inputs(call: OperatorCall) -> list[np.ndarray]:
    arrays = [call.copied(position) for position in range(len(call.operator.inputs))]
    if not arrays:
        raise InputError("has no inputs")
    return arrays


def _concatenation(call: OperatorCall) -> np.ndarray:
    return joining.concatenation(
        _inputs(call),
        call.options["axis"],
        quantizations=call.every_quantization(),
        activation=call.activation(),
    )


def _pack(call: OperatorCall) -> np.ndarray:
    arrays, count = _inputs(call), call.options["values_count"]
    if len(arrays) != count:
        raise InputError(f"has {len(arrays)} inputs, but values_count {count}")
    return joining.pack(arrays, call.options["axis"], quantizations=call.every_quantization())


def _split(call: OperatorCall) -> list[np.ndarray]:
    x, count = call.copied(1), call.options["num_splits"]
    _check_count(call, count, "num_splits")
    return joining.split(x, call.integer(0, np.int32), count)


def _unpack(call: OperatorCall) -> list[np.ndarray]:
    x, count = call.copied(0), call.options["num"]
    _check_count(call, count, "num")
    return joining.unpack(x, call.options["axis"], count, quantizations=call.every_quantization())


def _check_count(call: OperatorCall, count: int, option: str) -> None:
    if len(call.outputs) != count:
        raise InputError(f"has {len(call.outputs)} outputs, but {option} {count}")


def _reshape(call: OperatorCall) -> np.ndarray:
    # A second input counts instead of the option, but only as an int32 vector.
    given = call.optional(1)
    if given is not None and given.ndim == 1 and given.dtype == np.int32:
        return movement.reshape(call.copied(0), given.tolist())
    shape = list(call.options["new_shape"])
    # Old converters wrote the shape of a scalar as [0].
    return movement.reshape(call.copied(0), [] if shape == [0] else shape)


def _prepare_reshape(call: OperatorCall) -> Callable[..., np.ndarray] | None:
    if call.is_constant(0) or (call.tensor(1) is not None and not call.is_constant(1)):
        return None
    shape = _reshape(call).shape
    return lambda x: x.reshape(shape)


def _expand_dims(call: OperatorCall) -> np.ndarray:
    return movement.expand_dims(
        call.copied(0),
        call.integer(1, *_INDEX),
        input_quantization=call.quantization_if_any(0),
        output_quantization=call.every_quantization()[-1],
    )


def _pad(call: OperatorCall) -> np.ndarray:
    return movement.pad(
        call.int8(0),
        call.integers(1, *_INDEX),
        output_quantization=call.output_quantization(),
    )


def _padv2(call: OperatorCall) -> np.ndarray:
    return movement.padv2(
        call.int8(0),
        call.integers(1, *_INDEX),
        call.int8(2),
        value_quantization=call.quantization(2),
        output_quantization=call.output_quantization(),
    )


def _strided_slice(call: OperatorCall) -> np.ndarray:
    options = call.options
    if options["offset"] and call.is_constant(3) and not call.is_constant(2):
        raise UndefinedError(
            "LiteRT ends if end counts from begin and is computed, strides are not"
        )
    masks = {name: options[f"{name}_mask"] for name in ("begin", "end", "ellipsis", "new_axis")}
    return indexing.strided_slice(
        call.copied(0),
        *(call.vector(position, np.int32) for position in (1, 2, 3)),
        masks=indexing.Masks(
            **masks, shrink_axis=options["shrink_axis_mask"], offset=options["offset"]
        ),
    )


def _slice(call: OperatorCall) -> np.ndarray:
    return indexing.slice(call.copied(0), call.vector(1, *_INDEX), call.vector(2, *_INDEX))


def _gather(call: OperatorCall) -> np.ndarray:
    indices = call.integers(1, np.int16, *_INDEX)
    return indexing.gather(
        call.copied(0), indices, call.options["axis"], call.options["batch_dims"]
    )


def _block(function: Callable[..., np.ndarray]) -> Runner:
    return Runner(lambda call: function(call.int8(0), call.options["block_size"]))


def _batches(function: Callable[..., np.ndarray]) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.vector(1, np.int32),
            call.integers(2, np.int32),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
        )

    return Runner(run)


def _resize(function: Callable[..., np.ndarray]) -> Runner:
    def run(call: OperatorCall) -> np.ndarray:
        return function(
            call.int8(0),
            call.vector(1, np.int32),
            align_corners=call.options["align_corners"],
            half_pixel_centers=call.options["half_pixel_centers"],
        )

    return Runner(run)


MOVEMENT: dict[str, Runner] = {
    "BATCH_TO_SPACE_ND": _batches(blocks.batch_to_space_nd),
    "CONCATENATION": _copy(_concatenation),
    "DEPTH_TO_SPACE": _block(blocks.depth_to_space),
    "EXPAND_DIMS": _copy(_expand_dims),
    "GATHER": _copy(_gather),
    "PACK": _copy(_pack),
    "PAD": Runner(_pad),
    "PADV2": Runner(_padv2),
    "RESHAPE": Runner(_reshape, outputs=_COPIED, prepare=_prepare_reshape),
    "RESIZE_BILINEAR": _resize(resize.resize_bilinear),
    "RESIZE_NEAREST_NEIGHBOR": _resize(resize.resize_nearest_neighbor),
    "SHAPE": Runner(
        lambda call: movement.shape(call.array(0), dtype=call.option_dtype("out_type")),
        outputs=_INDEX,
    ),
    "SLICE": _copy(_slice),
    "SPACE_TO_BATCH_ND": _batches(blocks.space_to_batch_nd),
    "SPACE_TO_DEPTH": _block(blocks.space_to_depth),
    "SPLIT": _copy(_split, several=True),
    "SQUEEZE": _copy(lambda call: movement.squeeze(call.copied(0), call.options["squeeze_dims"])),
    "STRIDED_SLICE": _copy(_strided_slice),
    "TRANSPOSE": _copy(lambda call: movement.transpose(call.copied(0), call.vector(1, np.int32))),
    "UNPACK": _copy(_unpack, several=True),
}
"""Operators that move codes, and the two that interpolate between pixels."""
